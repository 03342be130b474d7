"""Files that people have: one clear line each, or a note, never a traceback."""

import io
import json
import shlex
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

from cardqp.cli.main import main

ROWS = [(1, 5, 2), (2, 3, 4), (3, 9, 5), (4, 1, 9), (5, 2, 11)]
LINES = "".join(f"{a},{b},{y}\n" for a, b, y in ROWS)
PLAIN = "a,b,y\n" + LINES
PARQUET = pandas.DataFrame(ROWS, columns=["a", "b", "y"]).to_parquet()


def fit(path, *arguments):
    return main(["fit", str(path), "--target", "y", "-s", "1", *map(str, arguments)])


@pytest.fixture
def written(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


BAD = {
    "empty": ("", "must be a table: it is empty"),
    "a mark and nothing else": ("\ufeff", "must be a table: it is empty"),
    "an empty cell": ('""\n', "must be a table: it is empty"),
    "a quotation mark": ('"', "must be a table: it is empty"),
    "one column": ("y\n1\n2\n", "must have two columns or more"),
    "header only": ("a,b,y\n", "must have rows below the header"),
    "text in numbers": (PLAIN + "6,x,7\n", "b  must hold numbers: row 6 has 'x'"),
    "text in the target": (PLAIN + "6,1,x\n", "y  must hold numbers: row 6 has 'x'"),
    "no target": (
        "a,b,c\n" + LINES,
        "`--target` must name columns: 'y' is none of `a`",
    ),
    "ragged": (PLAIN + "6,7\n", "line 7 has 2"),
    "binary": (bytes(range(1, 256)) * 20, "must be text: line 1 has the byte 0x01"),
    "zeros": (b"\0" * 100, "must be text: line 1 has a zero byte"),
    "truncated Parquet": (PARQUET[:-30], "is not a readable parquet file"),
    "spreadsheet": (b"PK\x03\x04" + b"\0" * 50, "a spreadsheet or an archive"),
    "missing cells": (PLAIN + "6,,7\n", "`b` must not miss values: 1 of 6"),
    "missing target": (PLAIN + "6,7,\n", "`y` must not miss values: 1 of 6"),
    "infinite": (
        PLAIN + "6,inf,7\n",
        "`b` must hold numbers below 1e+100: row 6 has inf",
    ),
    "overflow": (PLAIN + "6,1e999,7\n", "`b` must hold numbers"),
    "enormous": (PLAIN + "6,1e200,7\n", "row 6 has 1e+200"),
    "hundreds of digits": (
        PLAIN + "9" * 400 + ",6,7\n",
        "`a` must hold numbers below 1e+100: row 6 has inf",
    ),
    "hundreds of digits in text": (
        PLAIN + "9" * 400 + ",6,7\nx,6,7\n",
        "a  must hold numbers: row 7 has 'x'",
    ),
    "a target that overflows when squared": (
        PLAIN + "6,7,1e60\n",
        "the target `y` must hold numbers below 1e+50",
    ),
    "constant target": ("a,y\n1,3\n2,3\n", "target `y` must vary"),
    "constant features": ("a,y\n1,3\n1,4\n", "must have features that vary"),
    "identifiers": (
        "id,y\n" + "".join(f"id{i},{i}\n" for i in range(60)),
        "must have features that vary: it has none",
    ),
    "nearly identifiers": (
        "id,y\n" + "".join(f"id{i // 2},{i}\n" for i in range(120)),
        "`id` must have at most 50 different labels: it has 60, such as 'id0'; use "
        "`--drop id`, or raise `--max-levels`",
    ),
    "one row": ("a,y\n1,2\n", "target `y` must vary"),
    "unclosed quotation": ('a,b,y\n1,2,3\n4,"5,6\n', "t.csv must"),
    "numbers on top": ("1.5,2\n3,4\n", "must start with a line that names the columns"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_clear_lines(written, capsys, content, message):
    assert fit(written(content)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    said, _, command = captured.err.partition("This works:\n")
    assert said.startswith("cardqp: ")
    assert message in said
    if command:
        assert main(shlex.split(command)[1:]) == 0
    else:
        assert said.count("\n") == 1


GOOD = {
    "plain": PLAIN,
    "windows": PLAIN.replace("\n", "\r\n"),
    "bom": "\ufeff" + PLAIN,
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "quoted": PLAIN.replace("a,", '"a",').replace("1,5", '"1",5'),
    "huge integers": PLAIN.replace("\n1,5,", "\n1,99999999999999999999999,"),
    "Parquet": PARQUET,
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
def test_dresses_of_a_table(written, capsys, content):
    assert fit(written(content), "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["columns"] == ["a"]
    assert captured.err == ""


NAMES = ["größe cm", "<script>alert(1)</script>", "a,b", "two\nlines", "日本", "x;y"]


@pytest.mark.parametrize("name", NAMES)
def test_strange_names(written, tmp_path, capsys, name):
    quoted = f'"{name}"'
    path, model = written(PLAIN.replace("a,", f"{quoted},", 1)), tmp_path / "m.json"
    assert fit(path, "--json", "--model", model) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == [name]
    assert main(["predict", str(model), str(path)]) == 0


def test_columns_that_say_nothing_are_noted(written, capsys):
    frame = pandas.read_csv(io.StringIO(PLAIN)).assign(one=1, none=np.nan)
    assert fit(written(frame.to_csv(index=False)), "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["columns"] == ["a"]
    assert captured.err.splitlines() == [
        "cardqp: note: left out 1 column without any value: `none`",
        "cardqp: note: left out 1 column without variation: `one`",
    ]


def test_the_wrong_delimiter(written, capsys):
    assert fit(written(PLAIN.replace(",", ";")), "--delimiter", ",") == 2
    assert "try `--delimiter ';'`" in capsys.readouterr().err


def test_decimal_commas(written, capsys):
    text = "a;b;y\n" + "".join(f"{a},5;{b},25;{y},0\n" for a, b, y in ROWS)
    for arguments in ((), ("--decimal", ",")):
        assert fit(written(text), *arguments) == 0
    assert (
        "commas separate decimals in `a`, `b`, `y`; `--decimal .` reads"
        in capsys.readouterr().err
    )
    assert fit(written(text), "--decimal", ".") == 2
    assert "must have decimal points: row 1 has '1,5' -> --decimal ," in (
        capsys.readouterr().err
    )


def test_other_missing_values(written, capsys):
    path = written(PLAIN + "6,-,13\n")
    assert fit(path) == 2
    assert "-> --missing-values -" in capsys.readouterr().err
    assert fit(path, "--missing-values=-", "--missing", "mean", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 6
    assert fit(path, "--missing-values=-", "--missing", "drop", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 5


def test_folders_and_missing_files(tmp_path, capsys):
    for path, message in ((tmp_path, "it is a folder"), (tmp_path / "x", "not exist")):
        assert fit(path) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert message in captured.err


@pytest.mark.parametrize("data", [PLAIN.encode(), PARQUET], ids=["text", "Parquet"])
def test_standard_input(monkeypatch, capsys, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert fit("-", "--json") == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["a"]


def test_empty_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert fit("-") == 2
    message = "cardqp: standard input must be a table: it is empty.\n"
    assert capsys.readouterr().err == message


def test_closed_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert fit("-") == 2
    assert "standard input must be a table: it is empty" in capsys.readouterr().err


def test_the_year_zero(written, capsys):
    lines = "".join(f"000{a}-01-01,{y}\n" for a, _, y in ROWS)
    assert fit(written("d,y\n0000-01-01,0\n" + lines), "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["columns"] == ["d"]
    assert "days since the first one: `d` (0000-01-01)" in captured.err


def test_names_do_not_command_the_terminal(written, capsys):
    text = PLAIN.replace("a,b", '"a\x1b[31m\nz","b\n\x1b[0m"').replace(
        "\n1,5,", "\n1,5,"
    )
    text = "\n".join([*text.split("\n")[:3], "1,7,2", "2,7,4", "3,7,9", ""])
    assert fit(written(text)) == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert captured.err.count("\n") == 1
    assert "a\N{REPLACEMENT CHARACTER}[31m z" in captured.out


def test_letters_that_standard_output_cannot_hold(written, capsys, monkeypatch):
    path = written(PLAIN.replace("a,", "größe,", 1))
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert fit(path) == 2
    assert capsys.readouterr().err == (
        r"cardqp: standard output must be able to hold '\xf6': its encoding is ascii; "
        "set PYTHONIOENCODING=utf-8.\n"
    )
    assert stream.buffer.getvalue() == b""


def test_the_target_is_no_category(written, capsys):
    assert fit(written(PLAIN), "--categorical", "y") == 2
    assert "`--categorical` must not name the target" in capsys.readouterr().err


@pytest.mark.parametrize(
    "sizes", [("--path", "1:100000000000"), ("-s", 10**11, "--cv")]
)
def test_sizes_beyond_all_columns_cost_nothing(written, capsys, sizes):
    path = written(PLAIN + "6,3,14\n7,8,15\n8,0,17\n9,1,18\n10,1,22\n")
    assert main(["fit", str(path), "--target", "y", *map(str, sizes), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["sizes"]
    assert [size["n_nonzero"] for size in found] == [1, 2]


def test_columns_that_are_included_twice(written, capsys):
    assert fit(written(PLAIN), "--always-include", "b,b", "--json") == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["b"]


def test_many_columns(written, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 10_000)).round(3)
    header = ",".join([*(f"c{j}" for j in range(10_000)), "y"])
    y = X[:, 77] * 3
    rows = "\n".join(",".join(map(str, [*row, b])) for row, b in zip(X, y, strict=True))
    begin = time.perf_counter()
    assert fit(written(f"{header}\n{rows}\n"), "--json") == 0
    assert time.perf_counter() - begin < 20
    assert json.loads(capsys.readouterr().out)["columns"] == ["c77"]


def test_not_enough_memory_is_one_line(written, capsys, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("Unable to allocate 8 TiB")

    monkeypatch.setattr("cardqp.cli.text_table.read_table", fail)
    assert fit(written(PLAIN)) == 2
    assert capsys.readouterr().err.startswith("cardqp: not enough memory: Unable")


@pytest.mark.parametrize("command", ["fit", "predict", "select", "portfolio", "bench"])
def test_help_is_quick_and_light(command):
    code = (
        "import sys; from cardqp.cli.main import main\n"
        f"try: main([{command!r}, '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('numpy', 'pandas', 'sklearn', 'numba', 'scipy')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "[]\n"
    assert "--json" in done.stdout
