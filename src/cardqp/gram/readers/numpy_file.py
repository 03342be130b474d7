"""Matrices in NumPy's files, mapped block by block."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cardqp.exceptions import DataError
from cardqp.gram.readers.base import Blocks, Frames, reading
from cardqp.gram.sums import row_blocks
from cardqp.tables.frames import require_pandas


@dataclass(frozen=True, slots=True)
class NumPyFile:
    """A matrix in a ``.npy`` file; its pieces are blocks of rows.

    Its columns are called by their indices as text.
    """

    path: Path
    columns: tuple[str, ...]
    n_rows: int
    piece_rows: None = None

    @classmethod
    def open(cls, path: Path) -> "NumPyFile":
        """Read the shape."""
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise DataError(
                None,
                f"`{path}` must hold a matrix of numbers",
                given=f"its shape is {array.shape}, its type {array.dtype}",
            )
        return cls(path, tuple(str(j) for j in range(array.shape[1])), len(array))

    def pieces(self, start: int) -> Iterator[tuple[int, "MatrixRows"]]:
        for rows in row_blocks(self.n_rows - start, len(self.columns)):
            first, after = rows.start + start, rows.stop + start
            yield after, MatrixRows(self.path, first, after)


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """Some rows of a matrix."""

    path: Path
    first: int
    after: int

    def blocks(self, wanted: Sequence[str]) -> Blocks:
        # A fresh map each time: pages of the last one are given back.
        with reading(self.path):
            matrix = np.load(self.path, mmap_mode="r", allow_pickle=False)
        places = [int(name) for name in wanted]
        yield matrix[self.first : self.after, places].astype(np.float64)

    def frames(
        self,
        wanted: Sequence[str],
        text: frozenset[str] | None,  # noqa: ARG002 - there is none
        rows: int,
    ) -> Frames:
        [block] = self.blocks(wanted)
        for i in range(0, len(block), rows):
            yield require_pandas().DataFrame(block[i : i + rows], columns=list(wanted))
