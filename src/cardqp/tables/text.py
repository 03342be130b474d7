"""Text with delimiters: decoded, checked line by line, and parsed by pandas."""

import io
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from cardqp.exceptions import DataError
from cardqp.problem.validation import demand
from cardqp.tables import encodings, separators
from cardqp.tables.encodings import decode
from cardqp.tables.frames import exact_decimals, require_pandas
from cardqp.tables.header import (
    checked_delimiter,
    column_names,
    guess,
    header,
    stated_delimiter,
)
from cardqp.tables.lines import Lines, without_empty_end, without_lines
from cardqp.tables.row_names import without_row_names
from cardqp.tables.separators import resolved, with_points

MISSING = (
    *("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "<NA>"),
    *("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),
)
"""Cells that count as missing, besides empty ones."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Options for cutting text into cells; see :func:`cardqp.tables.read_table`."""

    delimiter: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] = MISSING
    least_columns: int = 2
    encoding: str = encodings.AUTO
    skip_lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Format of one text, as found from its header and the options.

    Attributes
    ----------
    label : str
        How messages call the text.
    cells : tuple of str
        The cells of the header; columns without a name have an empty one.
    mark, decimal : str
        What separates cells, and decimals.
    missing : tuple of str
        Cells that count as missing, besides empty ones.
    header_lines : int
        How many lines the header takes.
    """

    label: str
    cells: tuple[str, ...]
    mark: str
    decimal: str
    missing: tuple[str, ...]
    header_lines: int

    @classmethod
    def of(cls, text: str, label: str, layout: Layout) -> "TextFormat":
        """Read the format from the first lines; the layout is what the user knows."""
        decimal = layout.decimal
        demand(decimal in (".", ","), "decimal", "must be . or ,", decimal)
        mark = checked_delimiter(layout.delimiter, decimal)
        mark = mark or stated_delimiter(text) or guess(text, decimal)
        lines, cells = header(text, mark, label, layout.least_columns)
        return cls(label, tuple(cells), mark, decimal, layout.missing, lines)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, all different."""
        return column_names(self.cells).names

    def fitted(self, rows: io.StringIO) -> "TextFormat":
        """The format with a header of as many cells as all rows have.

        Where these have one more than the header, there are row names, as R writes
        them, or delimiters at the ends of rows; where they have one less, there is a
        delimiter at the end of the header.
        """
        lines = Lines(rows, self.mark)
        width = len(self.cells)
        if lines.are_all(width + 1):
            at_end = lines.end_empty()
            cells = (*self.cells, "") if at_end else ("", *self.cells)
            return replace(self, cells=cells)
        if self.cells[-1] == "" and lines.are_all(width - 1):
            return replace(self, cells=self.cells[:-1])
        return self

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
        if not Lines(rows, self.mark).check(len(self.cells), self.label, line):
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
        return frame if self.decimal == "." else with_points(frame)

    def _remove_missing(self, frame: Any, text_columns: Collection[str]) -> None:
        """Take out cells that pandas leaves.

        They are followed by spaces, or beside integers of 64 bits and no sign.
        """
        for name, dtype in zip(self.names, frame.dtypes, strict=True):
            if dtype.kind == "O" and name not in text_columns:
                cells = frame[name].astype(str).str.strip()
                gone = cells.isin(["", *self.missing]) & frame[name].notna()
                if gone.any():
                    frame[name] = frame[name].mask(gone)


def parse_text(data: bytes, label: str, layout: Layout) -> Any:
    """The table in a text, which messages call by its label.

    What was guessed and is not usual is said in ``attrs["notes"]`` of the table.
    """
    text, note = decode(data, label, layout.encoding)
    text = without_lines(text, layout.skip_lines)
    is_open = layout.decimal == separators.AUTO
    usual = replace(layout, decimal=".") if is_open else layout
    found = TextFormat.of(text, label, usual)
    rows = io.StringIO(without_empty_end(text, found.mark), newline="")
    for _ in range(found.header_lines):
        rows.readline()
    start = rows.tell()
    found = found.fitted(rows)

    def parsed(text_columns: Collection[str] = ()) -> Any:
        rows.seek(start)
        return found.parse(rows, found.header_lines, text_columns)

    frame = parsed()
    notes = [*filter(None, [note]), *column_names(found.cells).notes]
    if len(frame) == 0:
        raise DataError(
            None, f"{label} must have rows below the header", given="it has none"
        )
    if is_open:
        frame, more = resolved(frame, parsed, found.mark)
        notes += more
    if found.cells[0] == "":
        frame, more = without_row_names(frame)
        notes += more
    frame.attrs["notes"] = tuple(notes)
    return frame
