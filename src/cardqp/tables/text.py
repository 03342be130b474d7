"""Text with delimiters: decoded, checked line by line, and parsed by pandas."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cardqp.datasets.frames import exact_decimals, require_pandas
from cardqp.exceptions import DataError, ParameterError

DELIMITERS = (",", ";", "\t", "|")
"""Those that are looked for, in this order if they fit equally well."""

UNUSUAL = (":", " ", "~", "^")
"""Those that are only suggested."""

SEEN = 20
"""How many records decide about the delimiter."""

Record = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How text is cut into cells; see :func:`cardqp.tables.read_table`."""

    delimiter: str | None
    decimal: str
    missing: tuple[str, ...]
    least_columns: int


def parse_text(data: bytes, label: str, layout: Layout) -> Any:
    """The table in a text.

    Parameters
    ----------
    data : bytes
        Contents of the file.
    label : str
        How messages call it.
    layout : Layout
        How it is cut into cells.
    """
    text, decimal = _decoded(data, label), layout.decimal
    if decimal not in (".", ","):
        raise ParameterError(f"`decimal` must be . or ,: it is {decimal!r}.")
    mark = _checked_delimiter(layout.delimiter, decimal) or _guess(text, decimal)
    names = _header(text, mark, label, layout.least_columns)
    _check_widths(text, mark, len(names), label)
    frame = _parsed(text, mark, decimal, layout.missing, label)
    if len(frame) == 0:
        raise DataError(f"{label} must have rows below the header: it has none.")
    frame = frame.copy()  # one block of numbers instead of one per column
    frame.columns = names
    return frame if decimal == "." else _with_points(frame)


def check_names(names: Sequence[str], label: str) -> list[str]:
    """Names of columns without spaces around them: none empty, none twice."""
    known = [name.strip() for name in names]
    if "" in known:
        raise DataError(
            f"{label} must name every column: column {known.index('') + 1} of "
            f"{len(known)} has no name; give it one, or remove it."
        )
    seen: set[str] = set()
    for place, name in enumerate(known):
        if name in seen:
            raise DataError(
                f"{label} must have distinct names of columns: {name!r} is the name of "
                f"columns {known.index(name) + 1} and {place + 1}; rename one."
            )
        seen.add(name)
    return known


def _decoded(data: bytes, label: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{label} must be UTF-8 text: it is UTF-16; save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        raise DataError(
            f"{label} must be UTF-8 text: byte {err.start} (line {line}) is "
            f"0x{data[err.start]:02x}; save it as UTF-8, or convert it, for example by "
            "`iconv -f LATIN1 -t UTF-8`."
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            f"{label} must be text: line {line} has a zero byte; it is a binary file, "
            "or damaged."
        )
    return text


def _checked_delimiter(delimiter: str | None, decimal: str) -> str | None:
    if delimiter is None:
        return None
    mark = "\t" if delimiter in ("tab", "\\t") else delimiter
    if len(mark) != 1 or mark in '"\r\n' or mark.isalnum():
        raise ParameterError(
            f"`delimiter` must be one character, or tab: it is {delimiter!r}."
        )
    if mark == decimal:
        raise ParameterError(
            f"`delimiter` must differ from `decimal`: both are {mark!r}."
        )
    return mark


def _guess(text: str, decimal: str) -> str:
    """The delimiter that cuts the first records into most cells, equally many in each.

    If none does, the one that cuts the first record into most.
    """
    marks = [mark for mark in DELIMITERS if mark != decimal]
    widths = {mark: _first_widths(text, mark) for mark in marks}
    return max(marks, key=lambda m: (len(set(widths[m])) == 1, widths[m][:1]))


def _first_widths(text: str, mark: str) -> list[int]:
    """How many cells the first records have; none if there is but one cell."""
    try:
        widths = [len(row) for _, row in islice(_records(text, mark), SEEN)]
    except csv.Error:
        return []
    return widths if widths and widths[0] > 1 else []


def _records(text: str, mark: str) -> Iterator[Record]:
    """Numbers of last lines, and cells, of all records that are not blank."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True
    )
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield reader.line_num, row


def _header(text: str, mark: str, label: str, least: int) -> list[str]:
    try:
        first = next(_records(text, mark), (0, []))[1]
    except csv.Error as err:
        raise _broken(label, err) from err
    if not first:
        raise DataError(f"{label} must be a table: it is empty.")
    if len(first) < least:
        raise DataError(
            f"{label} must have two columns or more: its first line, "
            f"{_short(first[0])}, has one; {_suggestion(first[0], mark)}."
        )
    names = check_names(first, label)
    if all(_is_number(name) for name in names) and not all(map(str.isdigit, names)):
        raise DataError(
            f"{label} must start with a line that names the columns: its first line "
            f"has the numbers {_short(mark.join(names))}; add a line of names."
        )
    return names


def _suggestion(line: str, mark: str) -> str:
    for other in (*DELIMITERS, *UNUSUAL):
        if other != mark and other in line:
            shown = "tab" if other == "\t" else other
            return f"the delimiter may be another, try `delimiter={shown!r}`"
    return "a table needs a target and a feature"


def _check_widths(text: str, mark: str, width: int, label: str) -> None:
    """Refuse a line that has more or fewer cells than the first.

    pandas would fill in, or leave out, what is missing or too much.
    """
    try:
        for line, found in _widths(text, mark):
            if found != width:
                raise DataError(
                    f"{label} must have {width} cells in each line, as in the first: "
                    f"line {line} has {found}; correct or remove it."
                )
    except csv.Error as err:
        raise _broken(label, err) from err


def _widths(text: str, mark: str) -> Iterator[tuple[int, int]]:
    if '"' in text:
        yield from ((line, len(row)) for line, row in _records(text, mark))
        return
    blank = " \r\n" if mark == "\t" else None
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if line.strip(blank):
            yield number, line.count(mark) + 1


def _broken(label: str, err: csv.Error) -> DataError:
    return DataError(
        f"{label} must be a table: {err}; look for a quotation mark that is not closed."
    )


def _parsed(
    text: str, mark: str, decimal: str, missing: Sequence[str], label: str
) -> Any:
    pandas = require_pandas()
    try:
        return pandas.read_csv(
            io.StringIO(text, newline=""),
            sep=mark,
            decimal=decimal,
            header=0,
            keep_default_na=False,
            na_values=["", *missing],
            skipinitialspace=True,
            low_memory=False,
            **exact_decimals(pandas.__version__),
        )
    except ValueError as err:
        reason = " ".join(str(err).split()).rstrip(".")
        raise DataError(f"{label} must be a table: {reason}.") from err


def _with_points(frame: Any) -> Any:
    """Decimal points in columns that are text because some cells are."""
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            name = frame.columns[place]
            frame[name] = frame[name].replace(
                r"^([+-]?\d*),(\d+)$", r"\1.\2", regex=True
            )
    return frame


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
