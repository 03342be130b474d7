"""Parquet files, row group by row group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cardqp.gram.readers.base import (
    Blocks,
    Frames,
    NotNumbersError,
    blocks_of,
    pyarrow,
    reading,
)
from cardqp.gram.sums import block_rows

_BUFFER = 2**16
"""Bytes that are read at a time: without, whole row groups would be held."""

_INDEX = "__index_level_"
"""How pandas calls the labels of rows, which are no columns of its tables."""


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file; its pieces are row groups.

    Attributes
    ----------
    path : path
        Where it is.
    columns : tuple of str
        Names of its columns.
    piece_rows : tuple of int
        Number of rows of each piece.
    """

    path: Path
    columns: tuple[str, ...]
    piece_rows: tuple[int, ...]

    @classmethod
    def open(cls, path: Path) -> "ParquetFile":
        """Read the names of columns and the sizes of row groups."""
        with pyarrow("parquet").ParquetFile(path, pre_buffer=False) as file:
            about = file.metadata
            sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
            names = [n for n in file.schema_arrow.names if not n.startswith(_INDEX)]
            return cls(path, tuple(names), tuple(sizes))

    @property
    def n_rows(self) -> int:
        return sum(self.piece_rows)

    def pieces(self, start: int) -> Iterator[tuple[int, "RowGroup"]]:
        for group in range(start, len(self.piece_rows)):
            yield group + 1, RowGroup(self.path, group)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group of a Parquet file.

    As in all pieces, ``blocks`` has the rows as numbers, unless columns hold something
    else than numbers, or booleans of a type of their own; and ``frames`` has them as
    they are, so many rows at a time.  There, cells of some columns must come as text
    where the file has text; by default, of those that hold true and false in these
    rows, and may not in others.
    """

    path: Path
    number: int

    def blocks(self, wanted: Sequence[str]) -> Blocks:
        batches = self._batches(wanted, block_rows(len(wanted)), numbers_only=True)
        return blocks_of(batches, wanted)

    def frames(
        self,
        wanted: Sequence[str],
        text: frozenset[str] | None,  # noqa: ARG002 - columns have their types
        rows: int,
    ) -> Frames:
        for batch in self._batches(wanted, rows, numbers_only=False):
            # What pandas has noted could turn a column into labels of rows.
            table = pyarrow().Table.from_batches([batch])
            frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
            yield frame[list(wanted)]

    def _batches(
        self, wanted: Sequence[str], rows: int, *, numbers_only: bool
    ) -> Iterator[Any]:
        # Buffers ahead would keep all that was read in memory.
        with (
            reading(self.path),
            pyarrow("parquet").ParquetFile(
                self.path, pre_buffer=False, buffer_size=_BUFFER
            ) as file,
        ):
            if numbers_only:
                self._refuse_text(wanted, file.schema_arrow)
            yield from file.iter_batches(rows, [self.number], columns=list(wanted))

    def _refuse_text(self, wanted: Sequence[str], schema: Any) -> None:
        """Refuse columns that are neither numbers nor booleans."""
        types = pyarrow().types
        fine = [types.is_integer, types.is_floating, types.is_boolean]
        fine += [types.is_decimal, types.is_null]
        for name in wanted:
            kind = schema.field(name).type
            if not any(test(kind) for test in fine):
                raise NotNumbersError(
                    None,
                    f"`{self.path}` must hold numbers or booleans",
                    given=f"column {name!r} holds {kind}",
                )
