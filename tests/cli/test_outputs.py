"""Files that commands write."""

import json
import os
import threading

import pytest

from cardqp.cli.main import main
from cardqp.cli.outputs import check_folder
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
