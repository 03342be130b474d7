"""The first lines of a text: what separates cells, and what columns are called."""

import csv
import io
import string
from collections.abc import Iterator, Sequence
from itertools import islice

from cardqp.exceptions import DataError, ParameterError, Phrase, Setting
from cardqp.problem.validation import demand, repeated

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are tried; of those that fit equally well, the first is taken."""

UNUSUAL = (":", " ", "~", "^")
"""Those that are only suggested."""

_NO_MARKS, _LETTERS = '"\r\n\0', string.ascii_letters + string.digits

SEEN = 20
"""How many records decide about the delimiter."""

Record = tuple[int, list[str]]


def check_names(names: Sequence[str], label: str) -> list[str]:
    """Names of columns without spaces around them: none empty, none twice."""
    known = [name.strip() for name in names]
    if "" in known:
        raise DataError(
            None,
            f"{label} must name every column",
            given=f"column {known.index('') + 1} of {len(known)} has no name",
            remedy="give it one, or remove it",
        )
    check_distinct(known, None, f"{label} must have distinct names of columns")
    return known


def check_distinct(names: Sequence[str], argument: str | None, rule: str) -> None:
    """Refuse a table with two columns of one name, by a rule about an argument."""
    twice = repeated(names)
    if twice is not None:
        first, second = [j for j, name in enumerate(names, 1) if name == twice][:2]
        raise DataError(
            argument,
            rule,
            given=f"{twice!r} is the name of columns {first} and {second}",
            remedy="rename one",
        )


def checked_delimiter(delimiter: str | None, decimal: str) -> str | None:
    """The delimiter that the user wants, if there is one."""
    if delimiter is None:
        return None
    mark = "\t" if delimiter in ("tab", "\\t") else delimiter
    is_mark = isinstance(mark, str) and _is_mark(mark)
    demand(is_mark, "delimiter", "must be one character, or tab", delimiter)
    if mark == decimal:
        raise ParameterError(
            "delimiter",
            Phrase("must differ from {}", Setting("decimal")),
            given=f"both are {mark!r}",
        )
    return mark


def _is_mark(text: str) -> bool:
    """Whether parsers can cut lines at a text; they compare single bytes."""
    return len(text) == 1 and text.isascii() and text not in _NO_MARKS + _LETTERS


def guess(text: str, decimal: str) -> str:
    """The delimiter that cuts the first records into most cells, equally many in each.

    If none does, the one that cuts the first record into most.
    """
    marks = [mark for mark in DELIMITERS if mark != decimal]
    widths = {mark: _first_widths(text, mark) for mark in marks}
    return max(marks, key=lambda m: (len(set(widths[m])) == 1, widths[m][:1]))


def _first_widths(text: str, mark: str) -> list[int]:
    """Numbers of cells in the first records; empty if the first has only one cell."""
    try:
        found = records(io.StringIO(text, newline=""), mark)
        widths = [len(row) for _, row in islice(found, SEEN)]
    except csv.Error:
        return []
    return widths if widths and widths[0] > 1 else []


def records(lines: io.StringIO, mark: str) -> Iterator[Record]:
    """Numbers of last lines, and cells, of all records that are not blank."""
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=True)
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield reader.line_num, row


def header(text: str, mark: str, label: str, least: int) -> Record:
    """Number of lines of the header, and the names of the columns in it."""
    found = records(io.StringIO(text, newline=""), mark)
    try:
        lines, first = next(found, (0, []))
    except csv.Error as err:
        raise broken(label, err) from err
    if not first:
        raise DataError(None, f"{label} must be a table", given="it is empty")
    if len(first) < least:
        raise DataError(
            None,
            f"{label} must have two columns or more",
            given=f"its first line, {_short(first[0])}, has one",
            remedy=_suggestion(first[0], mark),
        )
    names = check_names(first, label)
    if all(_is_number(name) for name in names) and not all(map(str.isdigit, names)):
        raise DataError(
            None,
            f"{label} must start with a line that names the columns",
            given=f"its first line has the numbers {_short(mark.join(names))}",
            remedy="add a line of names",
        )
    return lines, names


def _suggestion(line: str, mark: str) -> str:
    for other in (*DELIMITERS, *UNUSUAL):
        if other != mark and other in line:
            shown = "tab" if other == "\t" else other
            return Phrase(
                "the delimiter may be another, try {}", Setting("delimiter", shown)
            )
    return "a table needs a target and a feature"


def broken(label: str, err: csv.Error) -> DataError:
    """The error about a text that cannot be cut into cells."""
    return DataError(
        None,
        f"{label} must be a table",
        given=str(err),
        remedy="look for a quotation mark that is not closed",
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
