"""Files that commands write: checked before the work, written at its end."""

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cardqp import storage
from cardqp.cli.messages import as_option, one_line
from cardqp.exceptions import ParameterError, Phrase, Setting

PICTURES = (".png", ".pdf", ".svg")
FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
"""First letters of texts that spreadsheets run; some skip blanks or wide letters."""


def check_picture(option: str, path: str) -> None:
    """Complain before the work rather than after it."""
    if Path(path).suffix.lower() not in PICTURES:
        raise ParameterError(
            option, f"must end in one of {', '.join(PICTURES)}", given=f"it is {path}"
        )
    check_folder(option, path)


def check_folder(option: str, path: str | None) -> None:
    """A file to be written, if any, must be in a folder where that is possible."""
    if path is None:
        return
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise ParameterError(option, "must be in an existing folder", given=str(path))
    if Path(path).is_dir():
        raise ParameterError(option, "must be a file", given=f"{path} is a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(
            option, "must be in a folder that can be written to", given=f"{path} is not"
        )


def check_outputs(inputs: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """Files that options name can be written, none over another one of the command."""
    taken = {Path(path).resolve() for path in inputs if path != "-"}
    for option, path in outputs.items():
        if path is None:
            continue
        check_folder(option, path)
        if Path(path).resolve() in taken:
            raise ParameterError(
                option,
                "must be a file of its own",
                given=f"{path} is read, or written by another option",
            )
        taken.add(Path(path).resolve())


def check_csv(inputs: Sequence[str], path: str | None) -> None:
    """A table to be written, if any, by a command that reads some files."""
    if path is not None and path.lower().endswith(".parquet"):
        raise ParameterError("--output", "must be for CSV", given=f"it is {path}")
    check_outputs(inputs, {"--output": path})


def print_notes(notes: Iterable[str]) -> None:
    """Print notes for people, apart from the answer."""
    print_aside(f"note: {note}" for note in with_options(notes))


def with_options(notes: Iterable[str]) -> list[str]:
    """Notes that speak of settings as options of a command."""
    return [n.spelled(_as_option) if isinstance(n, Phrase) else n for n in notes]


def _as_option(setting: Setting) -> str:
    return as_option(setting, [setting.name])


def print_aside(lines: Iterable[str]) -> None:
    """Print what is said beside a table that goes to standard output."""
    for line in lines:
        print(f"cardqp: {one_line(line)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """JSON that any program can read."""
    print(json.dumps(value, indent=2, allow_nan=False))


def write_rows(
    path: str | None,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    escape: bool,
) -> None:
    """Comma-separated values to a file, or to standard output.

    Numbers have all digits; texts are as they are, unless :func:`escaped`.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (header, *rows):
        writer.writerow(map(escaped, row) if escape else row)
    write_out(path, text.getvalue())


def write_out(path: str | None, text: str) -> None:
    """A text to a file, or to standard output."""
    if path is None:
        print(text, end="")
    else:
        storage.write_text(path, text)


def escaped(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: an apostrophe comes before it."""
    is_formula = isinstance(cell, str) and cell.startswith(FORMULAS)
    return f"'{cell}" if is_formula else cell
