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
from cardqp.cli.words import one_line
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
    """A file to be written, if any, must be in a folder where that is possible."""
    if path is None:
        return
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise ParameterError(f"`{option}` must be in an existing folder: {path}.")
    if Path(path).is_dir():
        raise ParameterError(f"`{option}` must be a file: {path} is a folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(
            f"`{option}` must be in a folder that can be written to: {path} is not."
        )


def check_distinct(inputs: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """No file may be written over another one of the same command.

    Parameters
    ----------
    inputs : sequence of str
        Files that are read; ``"-"`` is none.
    outputs : dict
        From options to the files that are written, if there are any.
    """
    taken = {Path(path).resolve() for path in inputs if path != "-"}
    for option, path in outputs.items():
        if path is None:
            continue
        if Path(path).resolve() in taken:
            raise ParameterError(
                f"`{option}` must be a file of its own: {path} is read, or written by "
                "another option."
            )
        taken.add(Path(path).resolve())


def check_csv(option: str, path: str | None) -> None:
    """A table to be written, if any."""
    if path is not None and path.lower().endswith(".parquet"):
        raise ParameterError(f"`{option}` must be for CSV: it is {path}.")
    check_folder(option, path)


def print_notes(notes: Iterable[str]) -> None:
    """What people should know, beside the answer."""
    for note in notes:
        print(f"cardqp: note: {one_line(note)}", file=sys.stderr)


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
