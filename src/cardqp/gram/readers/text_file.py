"""Files of text, some megabytes of lines at a time."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cardqp.exceptions import DataError
from cardqp.gram.readers.base import (
    Blocks,
    Frames,
    NotNumbersError,
    blocks_of,
    pyarrow,
    reading,
)
from cardqp.gram.readers.lines import opened, quoted_cell, whole_lines
from cardqp.gram.sums import block_rows
from cardqp.tables.encodings import decode_lines
from cardqp.tables.frames import require_pandas
from cardqp.tables.header import DELIMITERS, check_names
from cardqp.tables.text import Layout, TextFormat

PIECE_BYTES = 2**22
"""Text that is parsed at a time: more is no faster and takes more memory."""

_HEAD_BYTES = 2**16
"""Text that shows how lines are cut."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """Text with a header line; its pieces are some megabytes of lines.

    Attributes
    ----------
    path : path
        The file, packed by gzip if its first bytes say so.
    layout : TextFormat
        How its lines are cut.
    header_bytes : int
        Where its rows begin.
    n_rows, piece_rows : None
        Unknown until the file is read.
    """

    path: Path
    layout: TextFormat
    header_bytes: int
    n_rows: None = None
    piece_rows: None = None

    @classmethod
    def open(cls, path: Path, layout: Layout) -> "TextFile":
        """Read the header."""
        with opened(path) as stream:
            head, _ = whole_lines(stream, _HEAD_BYTES, quoted_cell(*DELIMITERS))
        found = TextFormat.of(decode_lines(head, f"`{path}`"), f"`{path}`", layout)
        check_names(found.cells, f"`{path}`")
        lines = head.splitlines(keepends=True)[: found.header_lines]
        return cls(path, found, sum(map(len, lines)))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.layout.names

    def pieces(self, start: int) -> Iterator[tuple[int, "Lines"]]:
        line, quoted = self.layout.header_lines, quoted_cell(self.layout.mark)
        with reading(self.path), opened(self.path) as stream:
            stream.seek(start or self.header_bytes)
            while (found := whole_lines(stream, PIECE_BYTES, quoted)) != (b"", -1):
                text, open_at = found
                if open_at >= 0:  # Arrow would take the rest of the file for a cell
                    line += text.count(b"\n", 0, open_at + 1) + 1
                    raise DataError(
                        None,
                        f"`{self.path}` must be a table",
                        given=f"the quotation mark in line {line} is not closed",
                        remedy="close or remove it",
                    )
                yield stream.tell(), Lines(self.path, self.layout, text, line)
                line += text.count(b"\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a file."""

    path: Path
    layout: TextFormat
    text: bytes
    line: int

    def blocks(self, wanted: Sequence[str]) -> Blocks:
        table, rows = self._numbers(wanted), block_rows(len(wanted))
        starts = range(0, table.num_rows, rows)
        return blocks_of((table.slice(i, rows) for i in starts), wanted)

    def frames(
        self, wanted: Sequence[str], text: frozenset[str] | None, rows: int
    ) -> Frames:
        frame = self._parsed(text or frozenset())
        truths = frozenset() if text is not None else _truths(frame)
        if truths:
            frame = self._parsed(truths)
        frame = frame[list(wanted)]
        for i in range(0, len(frame), rows):
            yield frame.iloc[i : i + rows]

    def _parsed(self, text: frozenset[str]) -> Any:
        content = decode_lines(self.text, f"`{self.path}`", self.line)
        lines = io.StringIO(content, newline="")
        return self.layout.parse(lines, self.line, text)

    def _numbers(self, wanted: Sequence[str]) -> Any:
        """An Arrow table of numbers."""
        arrow = pyarrow()
        kinds = dict.fromkeys(wanted, arrow.float64())
        try:
            return self._cut(kinds)
        except arrow.ArrowInvalid as err:
            if "conversion error" in str(err):
                # What it is depends on cells elsewhere: 1 may be a number or a label.
                raise NotNumbersError(
                    None, f"`{self.path}` must hold numbers", given=str(err)
                ) from err
        # pandas skips lines of spaces, and says which line has too many cells.
        frame = self._parsed(frozenset())[list(wanted)]
        if len(frame) and any(dtype.kind not in "iuf" for dtype in frame.dtypes):
            raise NotNumbersError(None, f"`{self.path}` must hold numbers")
        return arrow.Table.from_pandas(frame, preserve_index=False)

    def _cut(self, kinds: dict[str, Any]) -> Any:
        csv, layout = pyarrow("csv"), self.layout
        return csv.read_csv(
            pyarrow().BufferReader(self.text),
            csv.ReadOptions(column_names=layout.names, use_threads=False),
            csv.ParseOptions(delimiter=layout.mark, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                null_values=["", *layout.missing],
                decimal_point=layout.decimal,
            ),
        )


def _truths(frame: Any) -> frozenset[str]:
    """Columns of true and false, some of which may be missing."""
    infer = require_pandas().api.types.infer_dtype
    return frozenset(
        name
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if dtype.kind == "b"
        or (dtype.kind == "O" and infer(frame[name], skipna=True) == "boolean")
    )
