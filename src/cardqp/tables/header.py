"""The first lines of a text: what separates cells, and what columns are called."""

import csv
import io
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from cardqp.exceptions import DataError, ParameterError, Phrase, Setting
from cardqp.problem.validation import demand, repeated

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are tried; of those that fit equally well, the first is taken."""

UNUSUAL = (":", " ", "~", "^")
"""Those that are only suggested."""

_NO_MARKS, _LETTERS = '"\r\n\0', string.ascii_letters + string.digits

_STATED = re.compile(r"\s*\"?sep=(.)\"?[ \t]*[\r\n]", re.IGNORECASE)

SEEN = 20
"""How many records decide about the delimiter."""

Record = tuple[int, list[str]]


class Names(NamedTuple):
    """Names of columns, and sentences on those that had to be changed."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def column_names(cells: Sequence[str]) -> Names:
    """Names without spaces around them; those that are empty or come twice are changed.

    Examples
    --------
    >>> column_names(["a", "", " a"]).names
    ('a', 'column 2', 'a (2)')
    """
    names, notes, seen = list[str](), list[str](), Counter[str]()
    taken = {cell.strip() for cell in cells}
    for place, cell in enumerate(cells, start=1):
        name = cell.strip() or f"column {place}"
        seen[name] += 1
        while seen[name] > 1 or (name in taken and name != cell.strip()):
            old, name = name, f"{name} ({max(seen[name], 2)})"
            notes.append(f"column {place} is called `{name}`, for `{old}` is another")
            seen[name] += 1
        names.append(name)
    return Names(tuple(names), tuple(notes))


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


def stated_delimiter(text: str) -> str | None:
    """The delimiter in a first line such as ``sep=;``, which Excel understands."""
    found = _STATED.match(text)
    return found and found[1]


def guess(text: str, decimal: str) -> str:
    """The delimiter that cuts most of the first records into equally many cells.

    Of several, the one that cuts them into most.
    """

    def fit(mark: str) -> tuple[int, int, int]:
        widths = _first_widths(text, mark)
        usual, number = _usual(widths)
        return number, usual, max(widths[:1], default=0)

    return max((mark for mark in DELIMITERS if mark != decimal), key=fit)


def _usual(widths: Sequence[int]) -> tuple[int, int]:
    """The number of cells that most records with several have, and how many have it."""
    several = Counter(width for width in widths if width > 1)
    return max(several.items(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))


def _first_widths(text: str, mark: str) -> list[int]:
    """Numbers of cells in the first records."""
    try:
        found = records(io.StringIO(text, newline=""), mark)
        return [len(row) for _, row in islice(found, SEEN)]
    except csv.Error:
        return []


def records(lines: io.StringIO, mark: str) -> Iterator[Record]:
    """Numbers of last lines, and cells, of all records that are not blank."""
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=True)
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield reader.line_num, row


def header(text: str, mark: str, label: str, least: int) -> Record:
    """Number of lines of the header, and its cells."""
    found = records(io.StringIO(text, newline=""), mark)
    try:
        lines, first = next(found, (0, []))
        if _STATED.match(text) and lines == 1:
            lines, first = next(found, (0, []))
        if not first:
            raise DataError(None, f"{label} must be a table", given="it is empty")
        _refuse_titles(label, [(lines, first), *islice(found, SEEN)])
    except csv.Error as err:
        raise broken(label, err) from err
    if len(first) < least:
        raise DataError(
            None,
            f"{label} must have two columns or more",
            given=f"its first line, {_short(first[0])}, has one",
            **_suggestion(first[0], mark),
        )
    names = [cell.strip() for cell in first]
    if all(map(_is_number, names)) and not all(map(str.isdigit, names)):
        raise DataError(
            None,
            f"{label} must start with a line that names the columns",
            given=f"its first line has the numbers {_short(mark.join(names))}",
            remedy="add a line of names",
        )
    return lines, names


def _refuse_titles(label: str, first: Sequence[Record]) -> None:
    """Refuse lines with one cell above a table, such as a title.

    Spreadsheets fill them up with empty cells.  A header may have one name only if the
    other column has row names.
    """
    widths = [len(cells) for _, cells in first]
    n_filled = [sum(bool(cell.strip()) for cell in cells) for _, cells in first]
    usual, number = _usual(widths)
    is_title = n_filled[0] == 1 and (widths[0] == 1 or usual > 2)
    if not is_title or 2 * number <= len(widths):
        return
    full = zip(widths, n_filled, strict=True)
    names = [k for k, (width, n) in enumerate(full) if width == usual and n > 1]
    if not names:
        return
    lines = first[names[0] - 1][0]
    title = next(filter(None, map(str.strip, first[0][1])))
    skip = Setting("skip_lines", list(range(1, lines + 1)))
    raise DataError(
        None,
        f"{label} must start with a line that names the columns",
        given=f"its first line, {_short(title)}, has one cell, others {usual}",
        remedy=Phrase("remove what is above, or use {}", skip),
        fix=[skip],
    )


def _suggestion(line: str, mark: str) -> dict[str, Any]:
    """What may help where a line has one cell only."""
    for other in (*DELIMITERS, *UNUSUAL):
        if other != mark and other in line:
            wanted = Setting("delimiter", "tab" if other == "\t" else other)
            remedy = Phrase("the delimiter may be another, try {}", wanted)
            return {"remedy": remedy, "fix": [wanted]}
    return {"remedy": "a table needs a target and a feature"}


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
