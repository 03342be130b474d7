"""Files whose columns are not all numbers, encoded as numbers piece by piece."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import DataError
from cardqp.gram.readers import Blocks, Piece
from cardqp.gram.sums import block_rows
from cardqp.tables.cells import read_cells
from cardqp.tables.encoder import TableEncoder
from cardqp.tables.kinds import NUMBER
from cardqp.tables.place import Place


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

    @property
    def wanted(self) -> tuple[str, ...]:
        """Columns of numbers: features, target, and the weight if there is one."""
        return (*self.encoder.names, self.encoder.target, *self._weights)

    @property
    def _weights(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)

    def blocks(self, piece: Piece, path: Path, row: int) -> Blocks:
        """The rows of a piece as numbers; ``row`` rows of the file are before it."""
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
