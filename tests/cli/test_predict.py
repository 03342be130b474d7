import json

import numpy as np
import pandas
import pytest

from cardqp.cli.main import main


def run(*arguments):
    return main([str(a) for a in arguments])


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    frame = frame.assign(city=rng.choice(["Paris", "Rome", "Oslo"], 60))
    return frame.assign(
        y=3 * frame["b"] - 2 * (frame["city"] == "Rome") + frame["d"] / 9
    )


@pytest.fixture
def file(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(file, tmp_path, capsys):
    path = tmp_path / "model.json"
    assert run("fit", file, "--target", "y", "-s", 2, "--model", path) == 0
    assert f"Model written to {path}" in capsys.readouterr().out
    return path


def by_hand(model, frame):
    entry = json.loads(model.read_text())
    values = np.full(len(frame), entry["intercept"])
    for name, coef in entry["coefficients"].items():
        column, _, level = name.partition("=")
        values += coef * (frame[column] == level if level else frame[column])
    return values


def test_predictions_are_written(model, file, frame, tmp_path, capsys):
    assert run("predict", model, file) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == "y"
    expected = by_hand(model, frame)
    error = frame["y"] - expected
    r2 = 1.0 - np.mean(error**2) / np.var(frame["y"])
    assert captured.err == (
        f"cardqp: beside `y` in 60 rows: R2 {r2:.4f}, RMSE "
        f"{np.sqrt(np.mean(error**2)):.4g}; in sample, if these are the rows that it "
        "was fitted to\n"
    )
    np.testing.assert_allclose(
        [float(line) for line in lines[1:]], expected, rtol=1e-12
    )
    out = tmp_path / "out.csv"
    assert run("predict", model, file, "-o", out) == 0
    assert out.read_text() == captured.out
    assert capsys.readouterr().out == ""
    assert run("predict", model, file, "--json", "-o", out) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["target"] == "y"
    assert answer["score"]["n_rows"] == 60
    assert answer["score"]["r2"] == pytest.approx(r2, rel=1e-9)
    np.testing.assert_allclose(answer["predictions"], expected, rtol=1e-12)


def test_only_used_columns_are_needed(model, frame, tmp_path, capsys):
    path = tmp_path / "new.parquet"
    new = frame[["city", "b"]][:3]
    new.to_parquet(path)
    assert run("predict", model, path, "--json") == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    np.testing.assert_allclose(answer["predictions"], by_hand(model, new), rtol=1e-12)
    assert answer["score"] is None
    assert captured.err == ""


def test_new_rows_are_scored_where_they_have_both(model, frame, tmp_path, capsys):
    path = tmp_path / "new.csv"
    new = frame[:10].assign(y=frame["y"][:10] + 1.0)
    new.loc[3, "y"], new.loc[5, "b"] = np.nan, np.nan
    new.to_csv(path, index=False)
    expected = by_hand(model, new)
    left = new.index.difference([3, 5])
    error = (new["y"] - expected)[left]
    assert run("predict", model, path, "--missing", "drop", "--json") == 0
    score = json.loads(capsys.readouterr().out)["score"]
    assert score["n_rows"] == 8
    assert score["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert score["r2"] == pytest.approx(
        1.0 - np.mean(error**2) / np.var(new["y"][left])
    )
    assert run("predict", model, path, "--missing", "drop") == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"cardqp: beside `y` in 8 rows: R2 {score['r2']:.4f}, RMSE {score['rmse']:.4g}"
    )


def test_targets_that_cannot_be_scored(model, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text("b,city,y\n1,Rome,2\n2,Oslo,2\n")
    assert run("predict", model, path) == 0
    assert "in 2 rows: no R2, for it does not vary, RMSE" in capsys.readouterr().err
    assert run("predict", model, path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["score"]["r2"] is None
    path.write_text("b,city,y\n1,Rome,\n2,Oslo,\n")
    assert run("predict", model, path) == 0
    assert capsys.readouterr().err == ""
    path.write_text("b,city,y\n1,Rome,much\n2,Oslo,little\n")
    assert run("predict", model, path) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    assert "note: the predictions are not scored: column `y` must hold" in captured.err


def test_a_model_of_one_column(file, tmp_path, capsys):
    model, new = tmp_path / "m.json", tmp_path / "new.csv"
    assert run("fit", file, "--target", "y", "-s", 1, "--model", model) == 0
    new.write_text("b\n0\n1\n")
    capsys.readouterr()
    assert run("predict", model, new) == 0
    entry = json.loads(model.read_text())
    zero, one = map(float, capsys.readouterr().out.splitlines()[1:])
    assert zero == entry["intercept"]
    assert one - zero == pytest.approx(entry["coefficients"]["b"])


def test_missing_cells(model, tmp_path, capsys):
    path = tmp_path / "new.csv"
    path.write_text("b,city\n1,Rome\n,Rome\n2,Atlantis\n")
    assert run("predict", model, path) == 2
    assert "column `b` must not miss values" in capsys.readouterr().err
    assert run("predict", model, path, "--missing", "drop") == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[2] == '""'
    assert captured.err.splitlines() == [
        "cardqp: note: 1 cell of `city` had a label that was not seen before; taken "
        "for the most frequent one",
        "cardqp: note: no prediction for 1 row with missing cells",
    ]
    assert run("predict", model, path, "--missing", "drop", "--json") == 0
    assert json.loads(capsys.readouterr().out)["predictions"][1] is None
    assert run("predict", model, path, "--missing", "mean", "--json") == 0
    assert None not in json.loads(capsys.readouterr().out)["predictions"]


def test_bad_input_is_one_line(model, file, tmp_path, capsys):
    other = tmp_path / "other.csv"
    other.write_text("b,c\n1,2\n")
    for arguments, message in [
        ([tmp_path / "none.json", file], "there is no such file"),
        ([file, file], "must be a model in JSON"),
        ([model, tmp_path / "none.csv"], "it does not exist"),
        ([model, other], "it lacks `city`"),
        ([model, file, "-o", tmp_path / "no" / "out.csv"], "in an existing folder"),
        ([model, file, "-o", tmp_path / "out.parquet"], "`--output` must be for CSV"),
    ]:
        assert run("predict", *arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert message in captured.err


def test_select_keeps_original_columns(file, frame, tmp_path, capsys):
    settings = ("select", file, "--target", "y", "-s", 2)
    assert run(*settings) == 0
    captured = capsys.readouterr()
    assert captured.out == frame[["b", "city", "y"]].to_csv(index=False)
    said = captured.err.splitlines()
    assert "1 column of labels became 2 features" in said[0]
    assert said[1] == "cardqp: 2 of 5 columns chosen for `y`: b, city"
    assert said[2].startswith(
        "cardqp: OPTIMAL: no choice of up to 2 columns lowers the objective by more "
    )
    out = tmp_path / "out.csv"
    assert run(*settings, "-o", out) == 0
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err == captured.err
    assert out.read_text() == captured.out
    assert run(*settings, "--json") == 0
    in_json = capsys.readouterr()
    assert "chosen" not in in_json.err
    answer = json.loads(in_json.out)
    assert answer["columns"] == ["b", "city"]
    assert (
        answer["features"]
        == ["b", "city=Paris", "city=Rome"][: len(answer["features"])]
    )
    assert answer["status"] == "OPTIMAL"


def test_select_keeps_all_rows(frame, tmp_path, capsys):
    path = tmp_path / "gaps.csv"
    frame.loc[3, "b"] = np.nan
    frame.to_csv(path, index=False)
    assert run("select", path, "--target", "y", "-s", 2, "--missing", "drop") == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 61
    assert "left out 1 row with missing cells" in captured.err


def test_select_complains_before_it_works(file, tmp_path, capsys):
    arguments = ("select", file, "--target", "y", "-s", 2, "-o", tmp_path)
    assert run(*arguments) == 2
    assert "`--output` must be a file" in capsys.readouterr().err
    assert run(*arguments[:4], "-o", tmp_path / "x.csv") == 2
    assert "one of `-s` and `--path` must be given" in capsys.readouterr().err
