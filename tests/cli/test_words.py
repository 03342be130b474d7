"""Messages of the library with options instead of settings."""

import csv
import shlex

import pytest

from cardqp.cli.main import main
from cardqp.cli.words import with_options

OPTIONS = ("drop", "missing", "missing_values", "categorical", "max_levels", "eta")


@pytest.mark.parametrize(
    ("message", "spoken"),
    [
        ("use `drop=['x`y']`.", "use `--drop 'x`y'`."),
        ("use `drop=['-x']`.", "use `--drop=-x`."),
        (r"use `drop=['a\'b\n']`.", "use `--drop 'a'\"'\"'b\n'`."),
        ("use `standardize=True`.", "use `standardize=True`."),
        ('column `missing="mean"` must vary.', 'column `missing="mean"` must vary.'),
        ("column ``drop=['y']`` must vary.", "column ``drop=['y']`` must vary."),
        ("column `or `eta`` must vary.", "column `or `eta`` must vary."),
        ("use `drop=['or `eta`']`.", "use `--drop 'or `eta`'`."),
        ("row 1 has \"`drop=['q']`\".", "row 1 has \"`drop=['q']`\"."),
    ],
)
def test_settings_become_options(message, spoken):
    assert with_options(message, OPTIONS) == spoken


NAMES = ["drop", "eta", "target", "a=b", "x`y", 'missing="mean"', "--drop", "it's"]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_message_suggests_works(tmp_path, capsys, name):
    """The option at the end, typed into a shell, removes the complaint."""
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow([name, "y", "z"])
        rows.writerows([["12 m" if i == 5 else i, i * i % 7, i % 5] for i in range(30)])
    words = ["fit", str(path), "--target", "y", "-s", "1"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"cardqp: column `{name}` must hold numbers: row 6 has '12")
    assert said.count("\n") == 1
    option = said.rpartition(" or `")[2].removesuffix("`.\n")
    assert main([*words, *shlex.split(option)]) == 0
