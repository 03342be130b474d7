"""Blocks of columns: how large they are, and what is computed from one of them.

Data may have any real type.  Blocks are converted to double precision one at a time,
so that products are accumulated in it whatever the data are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import FloatArray

ROWS_PER_SUM = 256
"""Rows whose products are summed at a time in a Gram matrix.  Sums of sums lose fewer
digits than one long sum, and bounds pay for every digit that may be lost."""


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Sizes of the blocks in which data are read.

    Attributes
    ----------
    entries : int
        Entries of a block.  The default is 32 MB in double precision: large enough
        that calls cost nothing, small enough for one block per thread in any memory.
    min_width : int
        The least number of columns of a block where rows are stored one after the
        other: a narrower one would read a page of memory for a few numbers.  Such
        blocks are read in pieces of rows.
    min_sparse_entries : int
        Least number of entries that a sparse column counts as: its products with dense
        right-hand sides are not sparse.
    max_threads : int
        Threads that work on blocks at the same time.
    max_chunks : int
        Chunks of a Dask array that a cluster is asked for at a time.
    """

    entries: int = 4_000_000
    min_width: int = 1024
    min_sparse_entries: int = 64
    max_threads: int = 8
    max_chunks: int = 64

    def height(self, width: int) -> int:
        """The number of rows of a block with so many columns, at least one."""
        return max(self.entries // max(width, 1), 1)

    def width(self, height: int) -> int:
        """The number of columns of a block with so many rows, at least one."""
        return max(self.entries // height, 1)


DEFAULT_SIZES = BlockSizes()


def in_double(block: Any) -> Any:
    """A block in double precision; a sparse one stays sparse."""
    if scipy.sparse.issparse(block):
        return block.astype(np.float64)
    return np.asarray(block, dtype=np.float64)


def products(block: Any, R: FloatArray) -> FloatArray:
    """``X'R`` for the columns of a block."""
    return np.asarray(in_double(block).T @ R)


def products_and_squares(block: Any, R: FloatArray) -> FloatArray:
    """``X'R`` with the squared lengths of the columns as a last column."""
    block = in_double(block)
    if scipy.sparse.issparse(block):
        squares = np.asarray(block.power(2).sum(axis=0)).ravel()
    else:
        # Not (block**2).sum(axis=0), which would make a copy of the block.
        squares = np.einsum("ij,ij->j", block, block)
    return np.column_stack([block.T @ R, squares])


def outer(block: Any, _: FloatArray) -> FloatArray:
    """``XX'`` for the columns of a block."""
    block = in_double(block)
    square = block @ block.T
    return np.asarray(square.toarray() if scipy.sparse.issparse(square) else square)


def outer_products(block: Any, R: FloatArray) -> FloatArray:
    """``XX'R`` for the columns of a block."""
    block = in_double(block)
    return np.asarray(block @ (block.T @ R))


def gram(rows: Any) -> FloatArray:
    """``X'X`` for a block of rows, :data:`ROWS_PER_SUM` at a time."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, rows.shape[0], ROWS_PER_SUM):
        piece = rows[start : start + ROWS_PER_SUM]
        square = piece.T @ piece
        total += square.toarray() if scipy.sparse.issparse(square) else square
    return total
