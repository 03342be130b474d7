"""Files that commands write."""

import json
import os
import threading

import pytest

from cardqp.cli.main import main
from cardqp.cli.outputs import check_folder, escaped
from cardqp.exceptions import ParameterError

TABLE = "a,b,y\n1,5,2\n2,3,4\n3,9,5\n4,1,9\n5,2,11\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    return path


def fit(path, *arguments):
    return main(["fit", str(path), "--target", "y", "-s", "1", *map(str, arguments)])


def test_a_table_is_not_written_over(table, tmp_path, capsys):
    model = tmp_path / "m.json"
    assert fit(table, "--model", model) == 0
    (tmp_path / "link.csv").symlink_to(table)
    for arguments in (
        ["fit", table, "--target", "y", "-s", "1", "--model", table],
        ["fit", table, "--target", "y", "-s", "1", "--report", tmp_path / "link.csv"],
        ["select", table, "--target", "y", "-s", "1", "-o", table],
        ["predict", model, table, "-o", table],
        ["predict", model, table, "-o", model],
    ):
        capsys.readouterr()
        assert main([str(word) for word in arguments]) == 2
        assert "must be a file of its own" in capsys.readouterr().err
    assert table.read_text() == TABLE
    assert json.loads(model.read_text())["target"] == "y"


def test_two_files_have_two_names(table, tmp_path, capsys):
    same = tmp_path / "out"
    assert fit(table, "--model", same, "--report", same) == 2
    assert "`--report` must be a file of its own" in capsys.readouterr().err
    assert not same.exists()


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ParameterError, match="a folder that can be written to"):
        check_folder("--model", str(tmp_path / "m.json"))


def test_a_dash_is_standard_output(table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["select", str(table), "--target", "y", "-s", "1", "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("a,y\n1,2\n")
    assert not (tmp_path / "-").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_pipes_are_written_to_and_stay(table, tmp_path):
    pipe, seen = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()), daemon=True)
    reader.start()
    assert fit(table, "--model", pipe) == 0
    reader.join(10)
    assert len(seen) == 1
    assert json.loads(seen[0])["target"] == "y"
    assert pipe.is_fifo()


FORMULAS = (
    "=cmd|' /C calc'!A0,note,-y\n"
    + "".join(f"{-k},{'@sum' if k % 2 else 'plain'},{-3.5 * k}\n" for k in range(1, 9))
    + "-9,+1,-0.5\n-10,+1,1.5\n"
)
"""A table whose names and texts a spreadsheet would run."""


@pytest.fixture
def formulas(tmp_path):
    path = tmp_path / "formulas.csv"
    path.write_text(FORMULAS)
    return path


def select(path, *arguments):
    words = ["select", path, "--target=-y", "-s", 2, *arguments]
    assert main([str(word) for word in words]) == 0


def test_files_round_trip_by_default(formulas, tmp_path):
    select(formulas, "-o", tmp_path / "small.csv")
    assert (tmp_path / "small.csv").read_text() == FORMULAS


def test_formulas_are_escaped_on_demand(formulas, tmp_path, capsys):
    select(formulas, "-o", tmp_path / "small.csv", "--escape-formulas")
    lines = (tmp_path / "small.csv").read_text().splitlines()
    assert lines[0] == "'=cmd|' /C calc'!A0,note,'-y"
    assert lines[1:3] == ["-1,'@sum,-3.5", "-2,plain,-7.0"]
    assert lines[9:] == ["-9,'+1,-0.5", "-10,'+1,1.5"]
    capsys.readouterr()
    select(formulas, "--escape-formulas")
    assert capsys.readouterr().out.splitlines() == lines


def test_predictions_are_numbers_and_their_name_is_escaped(formulas, tmp_path, capsys):
    model = str(tmp_path / "m.json")
    words = ["fit", str(formulas), "--target=-y", "-s", "1", "--model", model]
    assert main(words) == 0
    capsys.readouterr()
    assert main(["predict", model, str(formulas)]) == 0
    plain = capsys.readouterr().out.splitlines()
    assert main(["predict", model, str(formulas), "--escape-formulas"]) == 0
    assert capsys.readouterr().out.splitlines() == ["'-y", *plain[1:]]
    assert plain[0] == "-y"
    assert float(plain[1]) < 0


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "＝1"])
def test_what_spreadsheets_run(text):
    assert escaped(text) == "'" + text


@pytest.mark.parametrize("cell", ["a=1", "", "1-2", -1.5, None])
def test_what_they_do_not_run(cell):
    assert escaped(cell) == cell
