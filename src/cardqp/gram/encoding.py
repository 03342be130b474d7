"""Files whose columns are not all numbers: types are inferred first, then encoded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import DataError
from cardqp.gram.readers import Blocks, Piece
from cardqp.gram.sums import block_rows
from cardqp.tables.cells import read_cells
from cardqp.tables.encoder import TableEncoder
from cardqp.tables.kinds import NUMBER
from cardqp.tables.place import Place
from cardqp.tables.schema import Request, Sum, Table, infer_schema

if TYPE_CHECKING:
    from cardqp.gram.source import Source


@dataclass(frozen=True, slots=True)
class FileEncoder:
    """Encodes the rows of files as numbers.

    Attributes
    ----------
    encoder : TableEncoder
        How columns are encoded.
    text : set of str
        Columns whose cells must be read as text, for some of them are.
    weight : str or None
        The column with weights.
    """

    encoder: TableEncoder
    text: frozenset[str]
    weight: str | None

    @classmethod
    def from_table(
        cls, table: Table, request: Request, weight: str | None
    ) -> "FileEncoder":
        """Infer types from a table and choose an encoding for each column.

        Parameters
        ----------
        table : Table
            The rows.
        request : Request
            What is wanted of them.
        weight : str or None
            The column with weights.
        """
        schema = infer_schema(table, request)
        encoder = TableEncoder.from_schema(request, schema)
        return cls(encoder, schema.text, weight)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns of numbers: features, target, and the weight if there is one."""
        return (*self.encoder.names, self.encoder.target, *self._weights)

    @property
    def _weights(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)

    def blocks(self, piece: Piece, path: Path, row: int) -> Blocks:
        """The rows of a piece as numbers.

        Parameters
        ----------
        piece : Piece
            Some rows of a file.
        path : path
            The file.
        row : int
            How many of its rows are before the piece.
        """
        columns = [column.name for column in self.encoder.columns]
        needed = [*columns, self.encoder.target, *self._weights]
        rows = block_rows(len(self.wanted))
        for frame in piece.frames(needed, self.text, rows):
            yield self._numbers(frame, Place(str(path), row))
            row += len(frame)

    def _numbers(self, frame: Any, place: Place) -> FloatArray:
        values = self.encoder.apply_rows(frame, place)
        if self.weight is None:
            return values
        weights = read_cells(frame, {self.weight: NUMBER}, place).numbers
        return np.hstack([values, weights])

    def to_dict(self) -> dict[str, Any]:
        """The encoder as a dictionary that JSON can hold."""
        return {
            "recipe": self.encoder.to_dict(),
            "text": sorted(self.text),
            "weight": self.weight,
        }

    @classmethod
    def from_dict(cls, entry: Any) -> "FileEncoder":
        """The encoder that :meth:`to_dict` wrote."""
        if not isinstance(entry, dict) or set(entry) != {"recipe", "text", "weight"}:
            raise DataError(
                "checkpoint",
                "must hold an encoder",
                given="it does not",
                remedy="remove it",
            )
        encoder = TableEncoder.from_dict(entry["recipe"])
        return cls(encoder, frozenset(entry["text"]), entry["weight"])


@dataclass(frozen=True, slots=True)
class FileTable:
    """The rows of files as a table to infer types from.

    Attributes
    ----------
    source : Source
        The files.
    watch : callable
        Called with the number of rows of a piece once they have been read.
    """

    source: "Source"
    watch: Callable[[int], object]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns that were selected, the weight left out."""
        return self.source.columns

    def reduce(
        self, measure: Callable[[Any, Place], Sum], text: frozenset[str] | None
    ) -> Sum:
        """The sum of ``measure`` over all rows, in their order."""
        total: Sum | None = None
        for i, reader in enumerate(self.source.readers):
            row = 0
            for _, piece in reader.pieces(0):
                part, rows = measure_piece(self.source, i, piece, row, measure, text)
                total = add(total, part)
                row += rows
                self.watch(rows)
        return not_empty(self.source, total)


def measure_piece(
    source: "Source",
    number: int,
    piece: Piece,
    row: int,
    measure: Callable[[Any, Place], Sum],
    text: frozenset[str] | None,
) -> tuple[Sum | None, int]:
    """The sum of ``measure`` over one piece of a file, and its number of rows.

    Parameters
    ----------
    source : Source
        The files.
    number : int
        Which file.
    piece : Piece
        A piece of it.
    row : int
        How many of its rows are before the piece.
    measure, text
        As for :meth:`cardqp.tables.schema.Table.reduce`.
    """
    total: Sum | None = None
    start, path = row, str(source.readers[number].path)
    for frame in piece.frames(source.columns, text, block_rows(len(source.columns))):
        total = add(total, measure(frame, Place(path, row)))
        row += len(frame)
    return total, row - start


def add(total: Sum | None, part: Sum | None) -> Sum | None:
    """The sum of two parts, where None is nothing."""
    if total is None or part is None:
        return part if total is None else total
    return total + part


def not_empty(source: "Source", total: Sum | None) -> Sum:
    """A sum over the rows of files; an error if there are no rows."""
    if total is None:
        raise DataError(
            None,
            "Files must have rows",
            given=(
                f"`{source.readers[0].path}` and {len(source.readers) - 1} others have "
                "none"
            ),
        )
    return total
