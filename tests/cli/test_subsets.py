"""``cardqp subsets``: the table, its files and its page."""

import csv
import io
import json
import re
import signal

import numpy as np
import pandas
import pytest

import cardqp
from cardqp.cli.folds import random_folds
from cardqp.cli.main import main
from cardqp.cli.progress import ProgressLine
from cardqp.cli.subsets_parser import CRITERIA
from cardqp.subsets.measures import CHOICES
from cardqp.tables import TableEncoder

ATTACK, FORMULA = "<script>alert(1)</script>", "=cmd|' /C calc'!A0"


def run(file, *arguments):
    words = ["subsets", file, "--target", "y", *arguments]
    return main([str(word) for word in words])


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 60
    names = ("a", "b", ATTACK, FORMULA, "c")
    frame = pandas.DataFrame({name: rng.standard_normal(n) for name in names})
    city = rng.choice(["Paris", "Rome", "Oslo"], n, p=[0.5, 0.3, 0.2])
    signal = frame["a"] - 2 * frame[ATTACK] + 3 * frame[FORMULA] + 2 * (city == "Oslo")
    return frame.assign(city=city, y=signal + 5 + rng.standard_normal(n))


@pytest.fixture
def file(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.fixture
def answer(capsys):
    """The JSON that the command prints."""

    def ask(*arguments, code=0):
        assert run(*arguments, "--json") == code
        return json.loads(capsys.readouterr().out)

    return ask


def library(frame, **options):
    return cardqp.all_subsets(frame.drop(columns="y"), frame["y"], **options)


def test_subsets_are_those_of_the_library(frame, file, answer):
    found = answer(file, "--max-size", 4, "--n-best", 2, "--criterion", "aic")
    expected = library(frame, max_size=4, n_best=2, criterion="aic")
    assert [tuple(s["features"]) for s in found["subsets"]] == [
        each.features for each in expected
    ]
    best = expected.best()
    assert tuple(found["best"]["features"]) == best.features
    assert found["best"]["aic"] == pytest.approx(best.measures["aic"])
    assert found["best"]["intercept"] == pytest.approx(best.intercept)
    values = list(found["best"]["coefficients"].values())
    assert values == pytest.approx(best.coef[best.support])
    assert (found["n_rows"], found["n_features"], found["stop"]) == (60, 7, "COMPLETED")
    assert {each["status"] for each in found["subsets"]} == {"OPTIMAL"}


def test_text_marks_the_best(frame, file, capsys):
    assert run(file, "--max-size", 4, "--n-best", 2) == 0
    captured = capsys.readouterr()
    table, told = captured.out.split("\n\n")
    (marked,) = (line for line in table.splitlines() if line.endswith("  <"))
    best = library(frame, max_size=4, n_best=2).best()
    assert marked.endswith(f"  {', '.join(best.units)}  <")
    assert best.units == ("a", ATTACK, FORMULA, "city")
    headline, proof = told.splitlines()
    assert headline.startswith("BIC chooses 5 of 7 features to predict y: a, ")
    assert "What is chosen together counts once: the size is 4." in headline
    assert f"explain {100 * best.measures['r2']:.3g} % of its variation" in headline
    assert proof.startswith("Every listed subset is proved to have the right rank")
    assert captured.err == (
        "cardqp: note: 1 column of labels became 2 features, one for each label but "
        "the most frequent: `city`\n"
    )


def test_folds_choose_the_size(frame, file, answer, capsys):
    settings = ("--max-size", 4, "--criterion", "cv", "--cv", 6, "--seed", 3)
    found = answer(file, *settings, "--n-best", 2)
    frame = pandas.read_csv(file)
    encoded = TableEncoder.from_table(frame, "y").apply(frame)
    model = cardqp.BestSubset(
        4,
        criterion="cv",
        cv=random_folds(60, 6, 3),
        blocks=encoded.blocks.tolist(),
    ).fit(encoded.X, encoded.y)
    first = [each for each in found["subsets"] if each["rank"] == 1]
    errors = model.cv_errors_.mean(axis=1)
    assert [each["cv"] for each in first] == pytest.approx(errors)
    assert {each["cv"] for each in found["subsets"] if each["rank"] == 2} == {None}
    assert found["criterion"] == "cv"
    assert found["best"]["size"] == errors.argmin() == model.n_nonzero_coefs_
    assert model.subsets_.best().size == model.n_nonzero_coefs_
    assert "cv" not in answer(file, "--max-size", 1)["best"]
    assert run(file, *settings) == 0
    assert "\nCross-validation chooses 5 of 7 features" in capsys.readouterr().out


def test_the_page_of_folds(file, tmp_path):
    page = tmp_path / "page.html"
    assert run(file, "--criterion", "cv", "--max-size", 3, "--report", page) == 0
    text = page.read_text(encoding="utf-8")
    assert "Cross-validation chooses" in text
    assert "CV error" in text
    assert "nan" not in re.sub(r"base64,[^']*", "", text)


@pytest.mark.parametrize(("policy", "n_rows"), [("drop", 57), ("mean", 60)])
def test_missing_cells(frame, file, answer, policy, n_rows):
    frame.loc[[3, 8], "a"] = np.nan
    frame.loc[5, "city"] = None
    frame.to_csv(file, index=False)
    assert run(file) == 2
    found = answer(file, "--max-size", 2, "--missing", policy)
    assert found["n_rows"] == n_rows
    encoded = TableEncoder.from_table(frame, "y", missing=policy).apply(frame)
    expected = cardqp.all_subsets(
        encoded.X, encoded.y, blocks=encoded.blocks.tolist(), max_size=2
    )
    rss = [each["rss"] for each in found["subsets"]]
    assert rss == pytest.approx([each.rss for each in expected])


def test_options_of_tables_and_choice(file, answer, tmp_path):
    together = tmp_path / "blocks.json"
    together.write_text(json.dumps({"pair": ["b", "c"]}))
    settings = (file, "--max-size", 2, "--n-best", 20)
    found = answer(*settings, "--drop", FORMULA, "--always-include", "b")
    assert all("b" in each["features"] for each in found["subsets"])
    assert not any(FORMULA in each["features"] for each in found["subsets"])
    found = answer(*settings, "--blocks", together)
    for each in found["subsets"]:
        assert ("b" in each["features"]) == ("c" in each["features"])
    found = answer(*settings, "--blocks", "none")
    assert ["city=Rome"] in [each["features"] for each in found["subsets"]]
    found = answer(file, "--only", "a,b", "--max-size", 9)
    assert max(each["size"] for each in found["subsets"]) == 2


def test_without_an_intercept(frame, file, answer, capsys):
    found = answer(file, "--no-intercept", "--max-size", 1)
    expected = library(frame, max_size=1, fit_intercept=False)
    assert found["best"]["rss"] == pytest.approx(expected.best().rss)
    assert found["best"]["intercept"] == 0
    assert run(file, "--no-intercept", "--max-size", 1) == 0
    assert "% of its sum of squares in these rows" in capsys.readouterr().out


def test_the_table_as_csv(file, tmp_path, capsys):
    path = tmp_path / "table.csv"
    settings = (file, "--max-size", 1, "--n-best", 9)
    assert run(*settings, "-o", path) == 0
    assert f"Table written to {path}" in capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert {row["features"] for row in rows} >= {"city=Oslo;city=Rome", FORMULA}
    assert [int(row["rank"]) for row in rows] == [1, *range(1, 7)]
    assert (rows[0]["size"], rows[0]["features"]) == ("0", "")
    assert run(*settings, "-o", "-") == 0
    assert capsys.readouterr().out == path.read_text(encoding="utf-8")
    assert run(*settings, "-o", path, "--escape-formulas") == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert f"'{FORMULA}" in {row["features"] for row in rows}


def test_the_page(file, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(file, "--max-size", 4, "--report", page) == 0
    headline = capsys.readouterr().out.split("\n\n")[1].splitlines()[0]
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert re.findall(r"src='(.{14})", text) == ["data:image/svg"] * 2
    assert headline.split(" to predict")[0] in text
    for words in (
        "class='proof'",
        "The chosen subset",
        "std. error",
        "they ignore that the same rows chose them",
        "1 column of labels became 2 features",
        "--max-size 4 --report",
    ):
        assert words in text
    assert text.count(" ★</bdi>") == 1


def test_the_page_with_too_few_rows_for_standard_errors(frame, file, tmp_path, answer):
    page = tmp_path / "page.html"
    frame.head(4).drop(columns="city").to_csv(file, index=False)
    settings = ("--max-size", 3, "--report", page, "--criterion", "adjusted_r2")
    found = answer(file, *settings, "--always-include", "a,b,c")
    text = page.read_text(encoding="utf-8")
    assert found["best"]["adjusted_r2"] is None
    assert "too few rows for standard errors" in text
    assert "std. error" not in text


BAD = [
    (["--max-size", 0], "`--max-size` must be an integer, at least 1"),
    (["--n-best", -2], "`--n-best` must be an integer, at least 1"),
    (["--cv", 3], "`--cv` must be given with `--criterion cv`"),
    (["--criterion", "cv", "--cv", 1], "`--cv` must be an integer, at least 2"),
    (["--criterion", "cv", "--cv", 31], "`--cv` must leave two rows or more in each"),
    (["--criterion", "cv", "--seed", -1], "`--seed` must be a number, at least 0"),
    (["--gap", -1], "`--gap` must be a number, at least 0"),
    (["--time-limit", -1], "`--time-limit` must be a number, at least 0"),
    (["--always-include", "nobody"], "'nobody' is not in the table"),
    (["--drop", "nobody"], "nobody"),
    (["--target", "city"], "city"),
    (["--target", "nobody"], "nobody"),
    (["--blocks", "nowhere.json"], "`--blocks` must be auto, none or a JSON file"),
    (["-o", "x.parquet"], "`--output` must be for CSV"),
    (["-o", "-", "--json"], "`--output` must be a file with `--json`"),
    (["--report", "no/where.html"], "`--report` must be in an existing folder"),
    (["-o", "same", "--report", "same"], "`--report` must be a file of its own"),
    (["--only", "a,b", "--max-levels", 0], "`--max-levels`"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_line(file, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(file.parent)
    assert run(file, *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_mallows_cp_needs_more_rows_than_features(frame, file, capsys):
    frame.head(7).to_csv(file, index=False)
    assert run(file, "--criterion", "cp") == 2
    assert "`--criterion` must be another than cp" in capsys.readouterr().err


def test_all_criteria_can_be_named():
    assert CRITERIA == CHOICES


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_ctrl_c_keeps_what_is_done(file, tmp_path, capsys, monkeypatch):
    def press_ctrl_c(_, progress):
        if progress.stage == "subsets of 3":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressLine, "__call__", press_ctrl_c)
    monkeypatch.setattr("sys.stderr", Terminal())
    page = tmp_path / "page.html"
    assert run(file, "--n-best", 1, "--report", page) == 3
    out = capsys.readouterr().out
    assert [line[:9] for line in out.splitlines()[1:3]] == ["   0    1", "   1    1"]
    assert "The search ended early: interrupted from the keyboard." in out
    text = page.read_text(encoding="utf-8")
    assert "class='proof missing'" in text
    assert "Sizes above 2 are missing: interrupted from the keyboard." in text


def test_nothing_in_time(file, capsys):
    assert run(file, "--time-limit", 0) == 5
    assert capsys.readouterr().err == (
        "cardqp: No subset was found: the time limit was reached.\n"
    )


def test_progress_shows_no_unknown_numbers(file, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("cardqp.cli.progress.EVERY", -1.0)
    assert run(file, "--max-size", 2) == 0
    shown = [line.strip("\r\x1b[K") for line in terminal.getvalue().split("\r")]
    assert "subsets of 2: 0 s" in shown
    assert "inf" not in terminal.getvalue()
