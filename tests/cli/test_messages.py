"""Errors of the library with options instead of settings."""

import csv
import shlex

import pytest

from cardqp.cli.main import main
from cardqp.cli.messages import as_option, error_text
from cardqp.exceptions import DataError, ParameterError, Phrase, Setting

OPTIONS = ("drop", "missing", "max_levels", "decimal", "file", "returns", "min_weight")


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        (Setting("max_levels"), "--max-levels"),
        (Setting("missing", "drop"), "--missing drop"),
        (Setting("decimal", ","), "--decimal ,"),
        (Setting("drop", ["my age"]), "--drop 'my age'"),
        (Setting("drop", ["x`y"]), "--drop 'x`y'"),
        (Setting("drop", ["it's"]), "--drop 'it'\"'\"'s'"),
        (Setting("drop", ["-x"]), "--drop=-x"),
        (Setting("drop", ["-"]), "--drop -"),
        (Setting("drop", ["a,b", "c"]), "--drop '\"a,b\",c'"),
        (Setting("are_returns", True), "--returns"),
        (Setting("minimum_position"), "--min-weight"),
    ],
)
def test_settings_become_options(setting, option):
    assert as_option(setting, OPTIONS) == option


@pytest.mark.parametrize(
    ("setting", "python"),
    [
        (Setting("standardize", True), "standardize=True"),
        (Setting("proof_memory"), "proof_memory"),
        (Setting("file"), "file"),
        (Setting("--model"), "--model"),
    ],
)
def test_what_is_no_option_stays(setting, python):
    assert as_option(setting, OPTIONS) == python


def test_errors_are_rendered_for_a_command():
    error = ParameterError(
        "max_levels",
        Phrase("must differ from {}", Setting("decimal")),
        given="both are 3",
        remedy=Phrase("use {}", Setting("drop", ["max_levels"])),
    )
    assert error_text(error, OPTIONS) == (
        "`--max-levels` must differ from `--decimal`: both are 3; "
        "use `--drop max_levels`."
    )
    assert error_text(OSError("`drop` is full"), OPTIONS) == "`drop` is full"


@pytest.mark.parametrize("name", ["drop", "--drop", "drop=['y']", "or `missing`", "{}"])
def test_names_from_a_table_stay_as_they_are(name):
    error = DataError(
        None,
        f"column `{name}` must vary",
        given=f"row 1 has {name!r}",
        remedy=f"correct `{name}`",
    )
    assert error_text(error, OPTIONS) == str(error)


NAMES = [
    "drop",
    "eta",
    "target",
    "a=b",
    "x`y",
    'missing="mean"',
    "--drop",
    "it's",
    "a,b",
]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_message_suggests_works(tmp_path, capsys, name):
    """Typed into a shell, the option and the command remove the complaint."""
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow([name, "y", "z"])
        rows.writerows([["12 m" if i == 5 else i, i * i % 7, i % 5] for i in range(30)])
    words = ["fit", str(path), "--target", "y", "-s", "1"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"cardqp: column `{name}` must hold numbers: row 6 has '12")
    said, _, command = said.partition("\nThis works:\n")
    option = said.rpartition(" or `")[2].removesuffix("`.")
    assert main([*words, *shlex.split(option)]) == 0
    assert main(shlex.split(command)[1:]) == 0
