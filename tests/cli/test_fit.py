import io
import itertools
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from cardqp import Progress, SparseRidge
from cardqp.cli.fit import gap_in_words
from cardqp.cli.main import main
from cardqp.cli.progress import ProgressLine
from cardqp.tables import ModelFile, TableEncoder


def run(*arguments):
    return main([str(a) for a in arguments])


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 120
    city = rng.choice(["Paris", "Rome", "Oslo"], n, p=[0.5, 0.3, 0.2])
    columns = {name: rng.standard_normal(n) for name in ("a b", "<script>", "größe")}
    days = pandas.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d")
    flag = rng.random(n) < 0.5
    frame = pandas.DataFrame(columns).assign(city=city, when=days, flag=flag, one=1)
    signal = 2 * frame["a b"] + 3.0 * (city == "Oslo") - 1.5 * flag
    return frame.assign(none=np.nan, y=signal + 0.5 * rng.standard_normal(n) + 7)


@pytest.fixture
def file(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def answer(capsys):
    """The JSON that a command prints."""

    def ask(*arguments, code=0):
        assert run(*arguments, "--json") == code
        return json.loads(capsys.readouterr().out)

    return ask


def subsets(frame, size, eta, standardize):
    """Objectives of all choices of columns, levels of a category together."""
    encoded = TableEncoder.from_table(frame, "y").apply(frame)
    X, y = encoded.X - encoded.X.mean(axis=0), encoded.y - encoded.y.mean()
    X = X / X.std(axis=0) if standardize else X
    for chosen in itertools.combinations(set(encoded.blocks), size):
        inside = np.isin(encoded.blocks, chosen)
        G = X[:, inside].T @ X[:, inside] / len(y) + np.eye(inside.sum()) / eta
        h = X[:, inside].T @ y / len(y)
        value = y @ y / len(y) - h @ np.linalg.solve(G, h)
        names = [name for name, used in zip(encoded.names, inside, strict=True) if used]
        yield value, tuple(names)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_best_columns(frame, file, answer, size, standardize):
    flag = "--standardize" if standardize else "--no-standardize"
    found = answer("fit", file, "--target", "y", "-s", size, "--eta", 2, flag)
    objective, names = min(subsets(frame, size, 2.0, standardize))
    assert found["objective"] == pytest.approx(objective, rel=1e-6)
    assert tuple(found["coefficients"]) == names
    assert found["status"] == "OPTIMAL"
    assert found["lower_bound"] <= objective * (1 + 1e-9)
    assert (found["eta"], found["n_nonzero"], found["n_rows"]) == (2.0, size, 120)


def test_no_ridge(frame, file, answer, tmp_path):
    model = tmp_path / "model.json"
    settings = ("fit", file, "--target", "y", "-s", 2, "--eta")
    found = answer(*settings, "none", "--model", model)
    objective, names = min(subsets(frame, 2, 1e12, standardize=True))
    assert found["objective"] == pytest.approx(objective, rel=1e-6)
    assert tuple(found["coefficients"]) == names
    assert (found["status"], found["eta"]) == ("OPTIMAL", None)
    assert ModelFile.load(model).proof.eta is None


def test_no_ridge_in_plain_words(file, answer, capsys):
    settings = ("fit", file, "--target", "y", "-s", 2)
    plain = answer(*settings, "--no-ridge")
    assert plain["eta"] is None
    assert plain["objective"] == answer(*settings, "--eta", "none")["objective"]
    assert answer(*settings, "--no-ridge", "--eta", "none")["eta"] is None
    for eta in ("3", "auto", "0"):
        assert run(*settings, "--no-ridge", "--eta", eta) == 2
        complaint = "cardqp: `--eta` must be left out with `--no-ridge`: it is "
        assert capsys.readouterr().err.startswith(complaint)
    assert run(*settings, "--eta", "0") == 2
    assert "`--eta` must be a positive number" in capsys.readouterr().err


def test_r2_is_that_of_the_printed_model(frame, file, answer):
    found = answer("fit", file, "--target", "y", "-s", 3)
    coef = found["coefficients"]
    predicted = found["intercept"] + sum(
        value * (frame["city"] == name[5:] if "=" in name else frame[name])
        for name, value in coef.items()
    )
    residual = frame["y"] - predicted
    assert found["r2"] == pytest.approx(1 - residual.var() / frame["y"].var())
    assert found["columns"] == ["a b", "city", "flag"]
    assert (found["r2_test"], found["sizes"]) == (None, [])
    assert 0.9 < found["r2_cv"] < found["r2"]


def test_text_for_people(file, capsys):
    assert run("fit", file, "--target", "y", "-s", 3) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].startswith("status    OPTIMAL")
    assert lines[1].startswith("proof     no choice of up to 3 columns lowers the ")
    assert lines[1].endswith(" %")
    assert re.fullmatch(
        r"error     mean squared error \+ \S+ times the squared coefficients of "
        r"standardised features \(eta \d+\)",
        lines[2],
    )
    assert lines[3] == "data      120 rows, 7 features from 6 columns"
    assert " by cross-validation, " in lines[4]
    assert lines[4].endswith(" in sample")
    names = [line[:11].strip() for line in lines[7:]]
    assert names == ["a b", "city=Oslo", "city=Rome", "flag", "(intercept)"]
    notes = captured.err.splitlines()
    assert notes == [
        "cardqp: note: left out 1 column without any value: `none`",
        "cardqp: note: left out 1 column without variation: `one`",
        "cardqp: note: dates became days since the first one: `when` (2020-01-01)",
        "cardqp: note: 1 column of labels became 2 features, one for each label but "
        "the most frequent: `city`",
    ]


def test_rows_that_are_left_out(frame, file, answer, tmp_path):
    path = tmp_path / "model.json"
    settings = ("fit", file, "--target", "y", "-s", 3, "--model", path)
    found = answer(*settings, "--test", 0.25, "--seed", 3)
    assert (found["n_rows"], found["n_test_rows"]) == (90, 30)
    order = np.random.default_rng(3).permutation(120)
    left_out = frame.iloc[np.sort(order[:30])]
    error = left_out["y"] - ModelFile.load(path).predict(left_out)
    expected = 1 - (error**2).mean() / left_out["y"].var(ddof=0)
    assert found["r2_test"] == pytest.approx(expected)
    again = answer(*settings, "--test", 0.25, "--seed", 4)
    assert again["r2_test"] != found["r2_test"]


def test_encoders_are_made_from_the_rows_of_the_fit(frame, file, answer):
    # A label that only rows of the test have is unknown to the model.
    order = np.random.default_rng(0).permutation(120)
    frame.loc[order[0], "city"] = "Atlantis"
    frame.to_csv(file, index=False)
    found = answer("fit", file, "--target", "y", "-s", 6, "--test", 0.25)
    assert "city=Atlantis" not in found["coefficients"]
    assert any("not seen before" in n and "(test)" in n for n in found["notes"])


def test_cross_validation(file, answer, capsys):
    found = answer("fit", file, "--target", "y", "-s", 5, "--cv")
    assert [size["n_nonzero"] for size in found["sizes"]] == [1, 2, 3, 4, 5]
    errors = [size["mean_error"] for size in found["sizes"]]
    assert found["n_nonzero"] == 1 + int(np.argmin(errors)) >= 3
    assert 0.8 < found["r2_cv"] < found["r2"]
    assert run("fit", file, "--target", "y", "--path", "2:4", "--cv", 3) == 0
    out = capsys.readouterr().out
    assert "chosen from 2 to 4 by cross-validation" in out
    assert " by cross-validation, " in out.split("R2")[1]


def test_sizes_by_a_criterion(file, answer, capsys):
    found = answer("fit", file, "--target", "y", "--path", "1:5")
    values = [size["ebic"] for size in found["sizes"]]
    assert found["n_nonzero"] == 1 + int(np.argmin(values)) == 3
    assert run("fit", file, "--target", "y", "--path", "1:5") == 0
    assert "size      3, chosen from 1 to 5 by EBIC" in capsys.readouterr().out


def test_columns_that_are_chosen_in_any_case(file, answer):
    settings = ("--always-include", "größe,city", "-s", 3)
    found = answer("fit", file, "--target", "y", *settings)
    assert found["columns"] == ["a b", "größe", "city"]
    found = answer("fit", file, "--target", "y", *settings, "--cv")
    assert [size["n_nonzero"] for size in found["sizes"]] == [2, 3]


def test_choice_of_columns(file, answer):
    found = answer("fit", file, "--target", "y", "-s", 3, "--drop", "city, a b")
    assert not {"city", "a b"} & set(found["columns"])
    found = answer("fit", file, "--target", "y", "-s", 3, "--only", '"a b",flag')
    assert found["columns"] == ["a b", "flag"]


def test_numbers_that_are_labels(file, frame, answer):
    frame.assign(flag=frame["flag"].astype(int)).to_csv(file, index=False)
    found = answer("fit", file, "--target", "y", "-s", 3, "--categorical", "flag")
    level = "0" if frame["flag"].mean() > 0.5 else "1"
    assert f"flag={level}" in found["coefficients"]


def test_other_choices(frame, file, answer, capsys):
    settings = ("fit", file, "--target", "y", "-s", 2, "--eta", 2, "--standardize")
    assert answer(*settings)["alternatives"] is None
    found = answer(*settings, "--alternatives", 60)["alternatives"]
    values = sorted(v for s in (1, 2) for v in subsets(frame, s, 2.0, standardize=True))
    best = values[0][0]
    # In this order none includes an earlier one, which would leave it out.
    expected = [(v / best - 1, list(names)) for v, names in values if v <= 1.6 * best]
    assert len(expected) > 2
    assert found["is_complete"]
    assert [choice["features"] for choice in found["choices"]] == [
        n for _, n in expected
    ]
    for choice, (excess, _) in zip(found["choices"], expected, strict=True):
        assert choice["excess"] == pytest.approx(excess, abs=1e-6)
    assert run(*settings, "--alternatives", 60) == 0
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("choices within 60 % of the best (no others):")
    assert lines[place + 1] == "  +0.000 %  a b, city=Oslo, city=Rome"
    assert len(lines) == place + 1 + len(expected)


def test_no_negative_coefficients_and_no_ridge(file, answer):
    found = answer("fit", file, "--target", "y", "-s", 3, "--positive")
    assert all(value >= 0 for value in found["coefficients"].values())
    ridge = answer("fit", file, "--target", "y", "-s", 3)
    free = answer("fit", file, "--target", "y", "-s", 3, "--refit")
    assert free["r2"] > ridge["r2"]


@pytest.mark.parametrize("options", [(), ("--eta", 5), ("--no-ridge",), ("--refit",)])
def test_the_command_and_python_give_the_same_model(frame, file, answer, options):
    found = answer("fit", file, "--target", "y", "-s", 3, *options)
    encoder = TableEncoder.from_table(frame, "y")
    settings = {
        (): {},
        ("--eta", 5): {"eta": 5.0},
        ("--no-ridge",): {"eta": None},
        ("--refit",): {"refit": True},
    }[options]
    rows = encoder.apply(frame)
    model = SparseRidge(3, blocks=encoder.blocks, **settings).fit(rows.X, rows.y)
    names = [rows.names[j] for j in model.support_]
    assert list(found["coefficients"]) == names
    coef = list(found["coefficients"].values())
    assert coef == pytest.approx(model.coef_[model.support_], rel=1e-9)
    assert found["objective"] == pytest.approx(model.objective_, rel=1e-9)


def test_what_is_refitted_is_not_called_proved(file, capsys):
    assert run("fit", file, "--target", "y", "-s", 3, "--refit") == 0
    assert "of which nothing is proved: see --no-ridge" in capsys.readouterr().out
    assert run("fit", file, "--target", "y", "-s", 3, "--no-ridge") == 0
    out = capsys.readouterr().out
    assert "error     mean squared error, without a ridge\n" in out


def test_groups(file, answer, tmp_path):
    blocks = tmp_path / "blocks.json"
    blocks.write_text('{"pair": ["größe", "a b"], "other": []}')
    found = answer("fit", file, "--target", "y", "-s", 1, "--blocks", blocks)
    assert found["columns"] == ["a b", "größe"]
    found = answer("fit", file, "--target", "y", "-s", 3, "--blocks", "none")
    assert list(found["coefficients"]) == ["a b", "city=Oslo", "flag"]


BAD_GROUPS = [
    (None, "must be auto, none or a JSON file"),
    ("{", "must be auto, none or a JSON file"),
    ("[]", "must hold labels with lists of columns"),
    ('{"g": "a b"}', "must hold labels with lists of columns"),
    ('{"g": [1]}', "must hold labels with lists of columns"),
    ('{"g": ["z"]}', "must name columns that are used: 'z'"),
    ('{"g": ["one"]}', "must name columns that are used: 'one'"),
    ('{"g": ["flag"], "h": ["flag"]}', "names 'flag' twice"),
]


@pytest.mark.parametrize(("text", "message"), BAD_GROUPS)
def test_bad_groups(file, tmp_path, capsys, text, message):
    path = tmp_path / "blocks.json"
    if text is not None:
        path.write_text(text)
    assert run("fit", file, "--target", "y", "-s", 2, "--blocks", path) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


OPTIONS = [
    ([], "one of `-s` and `--path` must be given"),
    (["-s", 2, "--path", "1:3"], "one of `-s` and `--path` must be given"),
    (["-s", 0], "`--sparsity` must be at least 1: it is 0"),
    (["-s", 2, "--cv", 1], "`--cv` must be at least 2 folds: it is 1"),
    (
        ["-s", 2, "--cv", 61],
        "`--cv` must leave two rows or more in each fold: it is 61",
    ),
    (["-s", 2, "--seed", -1], "`--seed` must be at least 0"),
    (["-s", 2, "--test", 0.001], "`--test` must leave two rows or more"),
    (["-s", 2, "--test", 1], "`--test` must leave two rows or more"),
    (["-s", 2, "--test", "nan"], "`--test` must leave two rows or more"),
    (["-s", 2, "--eta", 0], "`--eta` must be a positive number"),
    (["-s", 2, "--gap", -1], "`--gap`"),
    (["-s", 2, "--time-limit", -1], "`--time-limit`"),
    (["-s", 2, "--alternatives", -1], "`--alternatives` must be at least 0: it is -1"),
    (["-s", 2, "--alternatives", "nan"], "`--alternatives` must be at least 0"),
    (["-s", 2, "--max-levels", 2], "`city` must have at most 2 different labels"),
    (["-s", 2, "--max-levels", 0], "`--max-levels` must be an integer"),
    (["-s", 2, "--always-include", "z"], "must name columns that are used: 'z'"),
    (["-s", 2, "--always-include", "one"], "must name columns that are used: 'one'"),
    (["-s", 1, "--always-include", "flag,city"], "`n_nonzero_coefs` must leave room"),
    (["-s", 2, "--drop", "z"], "`--drop` must name columns: 'z'"),
    (["-s", 2, "--model", "no/such/folder.json"], "`--model` must be in an existing"),
    (["-s", 2, "--delimiter", ";"], "try `--delimiter ,`"),
]


@pytest.mark.parametrize(("arguments", "message"), OPTIONS)
def test_bad_options(file, capsys, arguments, message):
    assert run("fit", file, "--target", "y", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    said, _, _ = captured.err.partition("This works:")
    assert said.startswith("cardqp: ")
    assert said.count("\n") == 1
    assert message in said


@pytest.mark.parametrize(
    "arguments",
    [["--path", "3"], ["--path", "3:1"], ["--path", "0:2"], ["--eta", "big"]],
)
def test_usage_errors_are_one_line(file, capsys, arguments):
    with pytest.raises(SystemExit) as end:
        run("fit", file, "--target", "y", *arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_stopped_early(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60)) + rng.standard_normal((30, 1))
    frame = pandas.DataFrame(X).add_prefix("x").assign(y=X[:, :12].sum(axis=1))
    path = tmp_path / "hard.csv"
    frame.to_csv(path, index=False)
    settings = ("--target", "y", "-s", 12, "--eta", 1e4, "--time-limit", 0.2)
    assert run("fit", path, *settings) == 3
    captured = capsys.readouterr()
    assert "status    FEASIBLE" in captured.out
    assert "; raise --time-limit" in captured.out
    assert captured.err == ""


def test_no_bound_is_said():
    model = SimpleNamespace(gap_=np.inf, status_="FEASIBLE")
    found = SimpleNamespace(model=model, n_allowed=2)
    assert gap_in_words(found).startswith("nothing is proved")


def test_progress_is_shown_on_terminals(file, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    seen = []
    monkeypatch.setattr(ProgressLine, "__call__", lambda _, event: seen.append(event))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert run("fit", file, "--target", "y", "-s", 3) == 0
    assert all(isinstance(event, Progress) for event in seen)
    assert seen


def test_without_scikit_learn(file, capsys, monkeypatch):
    ours = ("cardqp.estimators", "cardqp.cli.fit")
    for name in [name for name in sys.modules if name.startswith(ours)]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("sklearn", "sklearn.base"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run("fit", file, "--target", "y", "-s", 2) == 2
    message = capsys.readouterr().err
    assert message.startswith("cardqp: Estimators need scikit-learn")
    assert message.count("\n") == 1
