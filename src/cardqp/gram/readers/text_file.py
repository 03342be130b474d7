"""Files of text, some megabytes of lines at a time."""

import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from cardqp.gram.readers.base import (
    Blocks,
    Frames,
    Piece,
    fill,
    pyarrow,
    reading,
    refuse_text,
)
from cardqp.gram.sums import block_rows
from cardqp.tables.text import Layout, TextFormat, decoded

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
        The file, packed by gzip if its name says so.
    layout : TextFormat
        How its lines are cut.
    header_bytes : int
        Where its rows begin.
    """

    path: Path
    layout: TextFormat
    header_bytes: int
    n_rows: None = None
    piece_rows: None = None

    @classmethod
    def open(cls, path: Path, layout: Layout) -> "TextFile":
        """Read the header."""
        with _opened(path) as stream:
            head = _whole_lines(stream, _HEAD_BYTES)
        found = TextFormat.of(decoded(head, f"`{path}`"), f"`{path}`", layout)
        lines = head.splitlines(keepends=True)[: found.header_lines]
        return cls(path, found, sum(map(len, lines)))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.layout.names

    def pieces(self, start: int) -> Iterator[tuple[int, Piece]]:
        line = self.layout.header_lines
        with reading(self.path), _opened(self.path) as stream:
            stream.seek(start or self.header_bytes)
            while text := _whole_lines(stream, PIECE_BYTES):
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
        table = self._numbers(wanted)
        rows = block_rows(len(wanted))
        buffer = np.empty((len(wanted), rows))
        for i in range(0, table.num_rows, rows):
            yield fill(buffer, table.slice(i, rows), wanted)

    def frames(self, wanted: Sequence[str], text: frozenset[str], rows: int) -> Frames:
        content = decoded(self.text, f"`{self.path}`", self.line)
        lines = io.StringIO(content, newline="")
        frame = self.layout.parse(lines, self.line, text)[list(wanted)]
        for i in range(0, len(frame), rows):
            yield frame.iloc[i : i + rows]

    def _numbers(self, wanted: Sequence[str]) -> Any:
        """An Arrow table; numbers at once, everything else after a look at it."""
        arrow, arrow_csv = pyarrow(), pyarrow("csv")
        layout = self.layout
        read = arrow_csv.ReadOptions(column_names=layout.names, use_threads=False)
        cut = arrow_csv.ParseOptions(delimiter=layout.mark, newlines_in_values=True)
        with reading(self.path):
            for kinds in (dict.fromkeys(wanted, arrow.float64()), None):
                convert = arrow_csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=list(wanted),
                    null_values=["", *layout.missing],
                    decimal_point=layout.decimal,
                )
                try:
                    table = arrow_csv.read_csv(
                        arrow.BufferReader(self.text), read, cut, convert
                    )
                except arrow.ArrowInvalid as err:
                    if kinds is None or "conversion error" not in str(err):
                        raise
                else:
                    break
        refuse_text(self.path, dict(zip(wanted, table.schema.types, strict=True)))
        return table


def _opened(path: Path) -> BinaryIO:
    if path.suffix.casefold() == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def _whole_lines(stream: BinaryIO, size: int) -> bytes:
    """Some bytes that end with a line, and not within quotes."""
    text = stream.read(size) + stream.readline()
    quotes = text.count(b'"')
    more = [text]
    while quotes % 2 and (line := stream.readline()):
        quotes += line.count(b'"')
        more.append(line)
    return b"".join(more)
