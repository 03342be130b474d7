"""Columns of data, in memory, sparse or in a file, and their digest (section 1)."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cardqp_check.archives import BROKEN, Archive
from cardqp_check.refusal import Refused, require
from cardqp_check.rounding import Ints

BLOCK = 2**20
"""About how many entries are turned into balls at a time."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sparse:
    """A matrix in CSC format: entries of column j end at ``indptr[j + 1]``."""

    data: Array
    indices: Ints
    indptr: Ints
    shape: tuple[int, int]

    @property
    def dtype(self) -> Any:
        """The type of the entries."""
        return self.data.dtype

    def dense(self, columns: Any) -> Array:
        """Some of the columns, none of whose entries are stored twice."""
        out = np.zeros((self.shape[0], len(columns)), self.data.dtype)
        for place, j in enumerate(columns):
            part = slice(self.indptr[j], self.indptr[j + 1])
            out[self.indices[part], place] = self.data[part]
        return out

    def block_bytes(self, start: int, stop: int) -> Iterator[bytes]:
        """What the digest of some columns is made of."""
        part = slice(self.indptr[start], self.indptr[stop])
        yield (self.indptr[start : stop + 1] - self.indptr[start]).tobytes()
        yield self.indices[part].tobytes()
        yield self.data[part].tobytes()


@dataclass(frozen=True)
class Columns:
    """Columns of a matrix, read a few at a time.

    Attributes
    ----------
    X : array or Sparse
        The whole matrix.
    index : int array
        The columns that are meant.
    """

    X: Any
    index: Ints

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def restrict(self, kept: Ints) -> "Columns":
        """Some of these columns."""
        return replace(self, index=self.index[kept])

    def take(self, which: Any) -> Array:
        """Some of these columns, as a dense matrix."""
        columns = self.index[which]
        if isinstance(self.X, Sparse):
            return self.X.dense(columns)
        return np.asarray(self.X[:, columns])

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """All columns, some at a time, with their place."""
        width = max(BLOCK // max(self.n_rows, 1), 1)
        for start in range(0, len(self.index), width):
            part = slice(start, min(start + width, len(self.index)))
            yield part, self.take(part)


def all_columns(X: Any) -> Columns:
    """All columns of a matrix, whose entries must be finite numbers."""
    require(
        X.dtype.kind in "iub" or (X.dtype.kind == "f" and X.dtype.itemsize <= 8),
        f"the data have entries of type {X.dtype}",
    )
    columns = Columns(X, np.arange(X.shape[1]))
    parts = [X.data] if isinstance(X, Sparse) else (b for _, b in columns.blocks())
    is_finite = all(np.isfinite(part).all() for part in parts)
    require(is_finite, "the data have entries that are not finite")
    return columns


def read_matrix(archive: Archive, data: Any = None) -> Any:
    """The matrix ``X`` of a problem's file, which may be stored elsewhere.

    ``data`` is the ``.npy`` file that it is in, if the archive does not tell.
    """
    if "X" in archive:
        return archive.arrays["X"]
    if "X.data" in archive:
        return _read_sparse(archive)
    if data is None:
        require("X.file" in archive, "the data are not in a file: say where they are")
        data = archive.path.parent / archive.text("X.file")
    try:
        return np.lib.format.open_memmap(data, mode="r")
    except BROKEN as error:
        raise Refused(f"{data} is not a .npy file: {error}") from error


def _read_sparse(archive: Archive) -> Sparse:
    """A matrix that is stored in parts, with sorted indices."""
    N, n = (int(length) for length in archive.array("X.shape", "i", 2))
    require(N >= 0 and n >= 0, "X.shape has negative lengths")
    end, indices = (
        archive.array("X.indptr", "i", n + 1),
        archive.indices("X.indices", N),
    )
    require(
        end[0] == 0 and (np.diff(end) >= 0).all() and end[-1] == len(indices),
        "X.indptr does not increase from 0 to the number of entries",
    )
    data = archive.arrays.get("X.data", np.zeros(0))
    require(data.shape == indices.shape, "X.data and X.indices differ in length")
    column = np.repeat(np.arange(n), np.diff(end))
    order = np.lexsort((indices, column))
    data, indices = data[order], indices[order]
    twice = (np.diff(column) == 0) & (np.diff(indices) == 0)
    require(not twice.any(), "X has entries that are stored twice")
    return Sparse(data, indices, end, (N, n))


def kind_of(X: Any) -> str:
    """Shape and type of a matrix, as files name it."""
    prefix = "sparse " if isinstance(X, Sparse) else ""
    return f"{prefix}matrix {X.shape[0]} x {X.shape[1]} of type {X.dtype.str}"


def digest_of(X: Any) -> str:
    """The digest of a matrix: that of the digests of blocks of columns."""
    N, n = X.shape
    width, blocks = max(4_000_000 // max(N, 1), 1024), hashlib.sha256()
    for start in range(0, n, width):
        stop, found = min(start + width, n), hashlib.sha256()
        if isinstance(X, Sparse):
            for part in X.block_bytes(start, stop):
                found.update(part)
        else:
            found.update(np.ascontiguousarray(X[:, start:stop]).tobytes())
        blocks.update(found.digest())
    return blocks.hexdigest()
