"""The command finds the experiments where there is a clone, and says where not."""

import sys
from pathlib import Path

import pytest

from cardqp.cli import reproduce
from cardqp.cli.main import main
from experiments.reproduce.config import IDS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """As if the package lay in a folder without the experiments."""
    monkeypatch.setattr(reproduce, "HOME", tmp_path)
    monkeypatch.chdir(tmp_path)


def test_source_of_the_package_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reproduce.find_source() == ROOT


@pytest.mark.usefixtures("installed")
def test_current_folder_may_be_the_source(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert reproduce.find_source() == ROOT


@pytest.mark.usefixtures("installed")
def test_without_the_source_one_line_says_what_to_do(capsys):
    assert main(["reproduce", "tab1", "--quick"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("cardqp: The paper's evaluation comes with the source")
    assert "get the source and run `cardqp reproduce` in its folder" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("installed")
def test_the_source_comes_first_on_the_path(tmp_path, monkeypatch):
    folder = tmp_path / "experiments" / "reproduce"
    folder.mkdir(parents=True)
    (folder / "cli.py").touch()
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("experiments.reproduce.cli.run", lambda _: 7)
    assert main(["reproduce"]) == 7
    assert sys.path[0] == str(tmp_path)


def test_help_names_every_table_and_figure(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["reproduce", "--help"])
    assert set(IDS) <= set(capsys.readouterr().out.split())
