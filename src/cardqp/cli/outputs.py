"""Files that commands write: checked before the work, written at its end."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cardqp import storage
from cardqp.exceptions import ParameterError

PICTURES = (".png", ".pdf", ".svg")


def check_picture(option: str, path: str) -> None:
    """Complain before the work rather than after it."""
    if Path(path).suffix.lower() not in PICTURES:
        raise ParameterError(
            f"`{option}` must end in one of {', '.join(PICTURES)}: it is {path}."
        )
    check_folder(option, path)


def check_folder(option: str, path: str | None) -> None:
    """A file to be written, if any, must be in a folder that exists."""
    if path is None:
        return
    if not Path(path).resolve().parent.is_dir():
        raise ParameterError(f"`{option}` must be in an existing folder: {path}.")
    if Path(path).is_dir():
        raise ParameterError(f"`{option}` must be a file: {path} is a folder.")


def check_csv(option: str, path: str | None) -> None:
    """A table to be written, if any."""
    if path is not None and path.lower().endswith(".parquet"):
        raise ParameterError(f"`{option}` must be for CSV: it is {path}.")
    check_folder(option, path)


def print_notes(notes: Iterable[str]) -> None:
    """What people should know, beside the answer."""
    for note in notes:
        print(f"cardqp: note: {note}", file=sys.stderr)


def print_json(value: Any) -> None:
    """JSON that any program can read."""
    print(json.dumps(value, indent=2, allow_nan=False))


def write_rows(
    path: str | None, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Comma-separated values to a file, or to standard output."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    if path is None:
        print(text.getvalue(), end="")
    else:
        storage.write_text(path, text.getvalue())
