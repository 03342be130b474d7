"""Complaints about tables, and commands that answer all of them."""

import io
import json
import shlex
import sys

import pytest

from cardqp.cli.main import main

PLAIN = "a,b,y\n" + "".join(f"{i},{i * i % 7},{3 * i}\n" for i in range(30))


@pytest.fixture
def complain(tmp_path, capsys, monkeypatch):
    """Run a command on a text that it refuses, and give what it says and suggests."""
    monkeypatch.chdir(tmp_path)

    def run(text, *words, name="t.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert main(list(words)) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        said, _, command = captured.err.partition("This works:\n")
        if command:
            assert main(shlex.split(command)[1:]) == 0
            capsys.readouterr()
        return said, command.strip()

    return run


FIT = ("fit", "t.csv", "--target", "y", "-s", "1")


def test_answers_bring_up_more_complaints(complain):
    """Rows are left out only if they are few when all words for gaps are known."""
    rows = "".join(
        f"{i},{'-' if i % 3 == 0 else i * i % 7},{'' if i == 4 else i}\n"
        for i in range(30)
    )
    said, command = complain(f"My table\na,b,y\n{rows}", *FIT)
    assert said == (
        "cardqp: 4 complaints about t.csv\n"
        "  (file)  t.csv must start with a line that names the columns: its first "
        "line, 'My table', has one cell, others 3; remove what is above, or use "
        "`--skip-lines 1`.\n"
        "  b       must hold numbers: row 1 has '-' (and 9 more such cells) -> "
        "--missing-values -\n"
        "  y       must not miss values: 1 of 30 are missing (3.33 %), the first in "
        "row 5 -> --missing drop\n"
        "  b       must not miss values: 10 of 29 are missing (34.5 %), the first in "
        "row 1 -> --missing mean\n"
    )
    assert command == (
        "cardqp fit t.csv --target y -s 1 --missing mean --missing-values - "
        "--skip-lines 1"
    )


def test_options_that_are_replaced_and_extended(complain):
    text = PLAIN.replace("a,b,y", "a,b b,Y")
    text += "".join(f"{i},x{i // 2}z,1\n" for i in range(160))
    words = ("fit", "t.csv", "--target=y", "--missing", "error", "-s1")
    _, command = complain(text, *words)
    assert command == ("cardqp fit t.csv --missing error -s1 --target Y --drop 'b b'")
    words = ("fit", "t.csv", "--target=y", "--missing", "error", "-s1", "--drop", "b")
    _, command = complain(PLAIN.replace("\n3,", "\n,"), *words)
    assert command == "cardqp fit t.csv --target=y -s1 --drop b --missing drop"
    text = PLAIN.replace("\n3,", "\nx,").replace("\n4,", "\n-,")
    _, command = complain(text, *FIT, "--missing-values", "x")
    assert command.endswith("--missing-values x --missing drop --missing-values -")


def test_without_an_answer_nothing_that_was_tried_is_said(complain):
    text = "a,y\n" + "".join(f"x{i // 2},{i}\n" for i in range(120))
    said, command = complain(text, *FIT)
    assert said.startswith("cardqp: column `a` must have at most 50 different labels")
    assert said.count("\n") == 1
    assert command == ""
    said, command = complain(
        PLAIN.replace(",9\n", ",inf\n").replace("\n4,", "\n,"), *FIT
    )
    assert "y  must hold numbers below 1e+100: row 4 has inf\n" in said
    assert command == ""
    text = PLAIN.replace("\n3,", "\nx,").replace(",9\n", ",soon\n")
    text += "".join(f"1,2,word{i}\n" for i in range(4))
    said, command = complain(text, *FIT)
    assert "a  must hold numbers: row 4 has 'x'" in said
    assert "y  must hold numbers: row 4 has 'soon' (and 4 more such cells)\n" in said
    assert command == ""


def test_standard_input_is_not_read_again(capsys, monkeypatch):
    text = PLAIN.replace("\n3,", "\n,").replace("a,b,y", "a,b,Y")
    stream = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert main(["fit", "-", "--target", "y", "-s", "1"]) == 2
    assert capsys.readouterr().err == (
        "cardqp: `--target` must name columns: 'y' is none of `a`, `b`, `Y`; perhaps "
        "'Y' is meant.\nTry:\n  cardqp fit - -s 1 --target Y\n"
    )


def test_commands_that_terminals_must_not_see_are_not_shown(complain):
    text = PLAIN.replace("a,b,y", '"a\x1b[31m",b,y').replace("\n3,", "\n3 or 4,")
    said, command = complain(text, *FIT)
    assert "\x1b" not in said
    assert command == ""


@pytest.mark.parametrize("command", ["select", "subsets"])
def test_other_commands_that_fit(complain, command):
    size = ["-s", "1"] if command == "select" else ["--max-size", "2"]
    text = PLAIN.replace("\n3,", "\n-,")
    words = (command, "t.csv", "--target", "y", *size)
    said, found = complain(text, *words)
    assert "a  must hold numbers: row 4 has '-' -> --missing-values -\n" in said
    assert found == f"cardqp {' '.join(words)} --missing drop --missing-values -"


def test_predictions(complain, tmp_path, capsys):
    (tmp_path / "t.csv").write_text(PLAIN)
    assert main([*FIT, "--model", "model.json"]) == 0
    capsys.readouterr()
    text = "Forecast\na;b\n" + "".join(f"{i},5;1\n" for i in range(9)) + "n.a.;1\n"
    said, command = complain(text, "predict", "model.json", "new.csv", name="new.csv")
    assert "(file)  new.csv must start with a line that names the columns" in said
    assert command == (
        "cardqp predict model.json new.csv --missing drop --missing-values n.a. "
        "--skip-lines 1"
    )


def test_prices(complain):
    rows = "".join(f"{100 + i},{50 - i}\n" for i in range(20))
    words = ("portfolio", "t.csv", "--max-assets", "1")
    _, command = complain(f"Closing prices\nA,B\n{rows}", *words)
    assert command == f"cardqp {' '.join(words)} --skip-lines 1"


def test_json_is_for_what_works(complain, capsys):
    said, command = complain(PLAIN.replace("\n3,", "\n,"), *FIT, "--json")
    assert said.startswith("cardqp: column `a` must not miss values")
    assert main(shlex.split(command)[1:]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 29
