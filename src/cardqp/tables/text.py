"""Text with delimiters: decoded, checked line by line, and parsed by pandas."""

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cardqp.datasets.frames import exact_decimals, require_pandas
from cardqp.exceptions import DataError, ParameterError

DELIMITERS = (",", ";", "\t", "|")
"""Those that are looked for, in this order if they fit equally well."""

MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "#N/A")
"""Cells that count as missing, besides empty ones."""

UNUSUAL = (":", " ", "~", "^")
"""Those that are only suggested."""

SEEN = 20
"""How many records decide about the delimiter."""

Record = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How text is cut into cells; see :func:`cardqp.tables.read_table`."""

    delimiter: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] = MISSING
    least_columns: int = 2


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How the lines of one text are cut, as its header has shown.

    Attributes
    ----------
    label : str
        How messages call the text.
    names : tuple of str
        Names of its columns.
    mark, decimal : str
        What separates cells, and decimals.
    missing : tuple of str
        Cells that count as missing, besides empty ones.
    header_lines : int
        How many lines the header takes.
    """

    label: str
    names: tuple[str, ...]
    mark: str
    decimal: str
    missing: tuple[str, ...]
    header_lines: int

    @classmethod
    def of(cls, text: str, label: str, layout: Layout) -> "TextFormat":
        """Look at the header.

        Parameters
        ----------
        text : str
            The first lines, or all.
        label : str
            How messages call it.
        layout : Layout
            What the user knows about it.
        """
        decimal = layout.decimal
        if decimal not in (".", ","):
            raise ParameterError(f"`decimal` must be . or ,: it is {decimal!r}.")
        mark = _checked_delimiter(layout.delimiter, decimal) or _guess(text, decimal)
        lines, names = _header(text, mark, label, layout.least_columns)
        return cls(label, tuple(names), mark, decimal, layout.missing, lines)

    def parse(
        self, rows: io.StringIO, line: int, text_columns: Collection[str] = ()
    ) -> Any:
        """The rows of a table.

        Parameters
        ----------
        rows : StringIO
            Lines without the header, from where it stands.
        line : int
            How many lines are before them.
        text_columns : collection of str
            Columns whose cells stay text, even if they look like numbers.
        """
        pandas = require_pandas()
        start = rows.tell()
        if not self._check_widths(rows, line):
            return pandas.DataFrame(columns=list(self.names))
        rows.seek(start)
        try:
            frame = pandas.read_csv(
                rows,
                sep=self.mark,
                decimal=self.decimal,
                header=None,
                keep_default_na=False,
                na_values=["", *self.missing],
                skipinitialspace=True,
                low_memory=False,
                dtype={self.names.index(name): str for name in text_columns},
                **exact_decimals(pandas.__version__),
            )
        except ValueError as err:
            reason = " ".join(str(err).split()).rstrip(".")
            raise DataError(f"{self.label} must be a table: {reason}.") from err
        frame = frame.copy()  # one block of numbers instead of one per column
        frame.columns = list(self.names)
        return frame if self.decimal == "." else _with_points(frame)

    def _check_widths(self, rows: io.StringIO, line: int) -> int:
        """Count the rows, and refuse those with more or fewer cells than the header.

        pandas would fill in, or leave out, what is missing or too much.
        """
        width, count = len(self.names), 0
        try:
            for number, found in _widths(rows, self.mark):
                count += 1
                if found != width:
                    raise DataError(
                        f"{self.label} must have {width} cells in each line, as in the "
                        f"first: line {line + number} has {found}; correct or remove "
                        "it."
                    )
        except csv.Error as err:
            raise _broken(self.label, err) from err
        return count


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
    text = decoded(data, label)
    found = TextFormat.of(text, label, layout)
    frame = found.parse(below_header(text, found.header_lines), found.header_lines)
    if len(frame) == 0:
        raise DataError(f"{label} must have rows below the header: it has none.")
    return frame


def below_header(text: str, lines: int) -> io.StringIO:
    """A text to be read from the line after its header on."""
    stream = io.StringIO(text, newline="")
    for _ in range(lines):
        stream.readline()
    return stream


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


def decoded(data: bytes, label: str, line: int = 0) -> str:
    """Bytes as text.

    Parameters
    ----------
    data : bytes
        Some lines.
    label : str
        How messages call the file.
    line : int
        How many of its lines are before these.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{label} must be UTF-8 text: it is UTF-16; save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line += data.count(b"\n", 0, err.start) + 1
        raise DataError(
            f"{label} must be UTF-8 text: line {line} has the byte "
            f"0x{data[err.start]:02x}; save it as UTF-8, or convert it, for example by "
            "`iconv -f LATIN1 -t UTF-8`."
        ) from None
    if "\0" in text:
        line += text.count("\n", 0, text.index("\0")) + 1
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
        records = _records(io.StringIO(text, newline=""), mark)
        widths = [len(row) for _, row in islice(records, SEEN)]
    except csv.Error:
        return []
    return widths if widths and widths[0] > 1 else []


def _records(lines: io.StringIO, mark: str) -> Iterator[Record]:
    """Numbers of last lines, and cells, of all records that are not blank."""
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=True)
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield reader.line_num, row


def _header(text: str, mark: str, label: str, least: int) -> Record:
    """How many lines the header takes, and the names in it."""
    records = _records(io.StringIO(text, newline=""), mark)
    try:
        lines, first = next(records, (0, []))
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
    return lines, names


def _suggestion(line: str, mark: str) -> str:
    for other in (*DELIMITERS, *UNUSUAL):
        if other != mark and other in line:
            shown = "tab" if other == "\t" else other
            return f"the delimiter may be another, try `delimiter={shown!r}`"
    return "a table needs a target and a feature"


def _widths(rows: io.StringIO, mark: str) -> Iterator[tuple[int, int]]:
    """Numbers of lines, and of cells in them."""
    start = rows.tell()
    has_quotes = any('"' in line for line in rows)
    rows.seek(start)
    if has_quotes:
        yield from ((line, len(row)) for line, row in _records(rows, mark))
        return
    blank = " \r\n" if mark == "\t" else None
    for number, line in enumerate(rows, start=1):
        if line.strip(blank):
            yield number, line.count(mark) + 1


def _broken(label: str, err: csv.Error) -> DataError:
    return DataError(
        f"{label} must be a table: {err}; look for a quotation mark that is not closed."
    )


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
