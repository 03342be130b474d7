"""Text with delimiters: decoded, checked line by line, and parsed by pandas."""

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from cardqp.exceptions import DataError
from cardqp.problem.validation import demand
from cardqp.tables.frames import exact_decimals, require_pandas
from cardqp.tables.header import broken, checked_delimiter, guess, header, records

MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "#N/A")
"""Cells that count as missing, besides empty ones."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Options for cutting text into cells; see :func:`cardqp.tables.read_table`."""

    delimiter: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] = MISSING
    least_columns: int = 2


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Format of one text, as found from its header and the options.

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
        """Read the format from the first lines; the layout is what the user knows."""
        decimal = layout.decimal
        demand(decimal in (".", ","), "decimal", "must be . or ,", decimal)
        mark = checked_delimiter(layout.delimiter, decimal) or guess(text, decimal)
        lines, names = header(text, mark, label, layout.least_columns)
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
            Columns whose cells stay text, even if all of them are numbers.
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
                dtype={j: str for j, n in enumerate(self.names) if n in text_columns},
                **exact_decimals(pandas.__version__),
            )
        except ValueError as err:
            reason = " ".join(str(err).split()).rstrip(".")
            raise DataError(
                None, f"{self.label} must be a table", given=reason
            ) from err
        frame = frame.copy()  # one block of numbers instead of one per column
        frame.columns = list(self.names)
        self._remove_missing(frame, text_columns)
        return frame if self.decimal == "." else _with_points(frame)

    def _remove_missing(self, frame: Any, text_columns: Collection[str]) -> None:
        """Take out cells that pandas leaves beside integers of 64 bits and no sign."""
        for name, dtype in zip(self.names, frame.dtypes, strict=True):
            if dtype.kind == "O" and name not in text_columns:
                gone = frame[name].isin(["", *self.missing])
                if gone.any():
                    frame[name] = frame[name].mask(gone)

    def _check_widths(self, rows: io.StringIO, line: int) -> bool:
        """Whether there are rows; those of another width than the header are refused.

        pandas would fill in, or leave out, what is missing or too much.
        """
        width, count, start = len(self.names), 0, rows.tell()
        seen = {-1 if '"' in text else text.count(self.mark) for text in rows}
        if seen == {width - 1} and width > 1:
            return True
        rows.seek(start)
        try:
            for number, found in _widths(rows, self.mark, has_quotes=-1 in seen):
                count += 1
                if found != width:
                    raise DataError(
                        None,
                        f"{self.label} must have {width} cells in each line, as in "
                        "the first",
                        given=f"line {line + number} has {found}",
                        remedy="correct or remove it",
                    )
        except csv.Error as err:
            raise broken(self.label, err) from err
        return count > 0


def parse_text(data: bytes, label: str, layout: Layout) -> Any:
    """The table in a text, which messages call by its label."""
    text = decoded(data, label)
    found = TextFormat.of(text, label, layout)
    rows = io.StringIO(text, newline="")
    for _ in range(found.header_lines):
        rows.readline()
    frame = found.parse(rows, found.header_lines)
    if len(frame) == 0:
        raise DataError(
            None, f"{label} must have rows below the header", given="it has none"
        )
    return frame


def decoded(data: bytes, label: str, line: int = 0) -> str:
    """Some lines of a file as text; ``line`` others are before them."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(
            None,
            f"{label} must be UTF-8 text",
            given="it is UTF-16",
            remedy="save it as UTF-8",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line += data.count(b"\n", 0, err.start) + 1
        raise DataError(
            None,
            f"{label} must be UTF-8 text",
            given=f"line {line} has the byte 0x{data[err.start]:02x}",
            remedy=(
                "save it as UTF-8, or convert it, for example by `iconv -f LATIN1 -t "
                "UTF-8`"
            ),
        ) from None
    if "\0" in text:
        line += text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            None,
            f"{label} must be text",
            given=f"line {line} has a zero byte",
            remedy="it is a binary file, or damaged",
        )
    return text


def _widths(
    rows: io.StringIO, mark: str, *, has_quotes: bool
) -> Iterator[tuple[int, int]]:
    """Numbers of lines, and of cells in them."""
    if has_quotes:
        yield from ((line, len(row)) for line, row in records(rows, mark))
        return
    blank = " \r\n" if mark == "\t" else None
    for number, line in enumerate(rows, start=1):
        if line.strip(blank):
            yield number, line.count(mark) + 1


def _with_points(frame: Any) -> Any:
    """Decimal points in columns that are text because some cells are."""
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            name = frame.columns[place]
            frame[name] = frame[name].replace(
                r"^([+-]?\d*),(\d+)$", r"\1.\2", regex=True
            )
    return frame
