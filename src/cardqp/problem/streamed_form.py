"""The quadratic form of data that are kept as they are, for very many columns.

``Q = X'X / N`` is never formed.  All columns are read in sweeps, block by block, with
one right-hand side or many at a time; products are accumulated in double precision
whatever the data are.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from functools import reduce as fold
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import formed_unit, same_data_unit, streamed_slope_unit
from cardqp.exceptions import ProblemError
from cardqp.problem.quadratic import Factor, Gram, Minorant, plane

Result = TypeVar("Result")

BLOCK = 4_000_000
"""Entries of a block of columns."""

NARROW = 1024
"""Columns of a block, at least, where rows are stored one after the other: fewer would
read a page of memory for a few numbers.  The block is then read in pieces of rows."""

SPARSE = 64
"""Entries that a sparse column counts as, at least: products with it are not sparse."""

MOST_THREADS = 8

SUMMED = 256
"""Rows whose products are summed at a time: sums of sums lose fewer digits."""

AT_ONCE = 64
"""Blocks that a cluster is asked for at a time."""


@dataclass(frozen=True, eq=False)
class Columns:
    """``x'Qx = |Xx|^2 / N`` with the data ``X`` at hand, in memory or mapped from disk.

    Parameters
    ----------
    X : (N, n) array, SciPy sparse matrix or Dask array
        Numbers of any type, in any layout.
    target : (N,) array
        The target ``y`` of the regression.
    squares : (n,) array
        Squared lengths of the columns.
    products : (n,) array
        ``X'y``.
    """

    X: Any
    target: FloatArray
    squares: FloatArray
    products: FloatArray

    @classmethod
    def read(cls, X: Any, target: FloatArray) -> "Columns":
        """The form, after one sweep that refuses what is not a finite number."""
        data = X.tocsc() if scipy.sparse.issparse(X) else X
        n = data.shape[1]
        form = cls(data, target, np.zeros(n), np.zeros(n))

        def measure(start: int, products: FloatArray) -> None:
            stop = start + len(products)
            form.products[start:stop], form.squares[start:stop] = products.T

        for _ in form._visit(target[:, None], measure, _products_and_squares):
            pass
        wrong = np.flatnonzero(~np.isfinite(form.squares))
        if len(wrong):
            raise ProblemError(
                "`X` must hold finite numbers, of moderate size: column "
                f"{wrong[0]} does not; remove or fill in what is missing."
            )
        form.squares.setflags(write=False)
        form.products.setflags(write=False)
        return form

    @property
    def n(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def psd_violation(self) -> FloatArray:
        return np.zeros(self.n)

    @property
    def formed(self) -> int:
        return self.n_samples + 6

    @property
    def array(self) -> FloatArray:
        return np.asarray(self.take(np.arange(self.n)) / np.sqrt(self.n_samples))

    @cached_property
    def diagonal(self) -> FloatArray:
        return np.asarray(self.squares / self.n_samples)

    def is_regression(self, c: FloatArray, constant: float) -> bool:
        """Whether ``x'Qx + c'x + constant`` is the error of predicting the target.

        Residuals bound that alone.
        """
        N = self.n_samples
        power = float(self.target @ self.target) / N
        # Sums may come in another order.
        unit = same_data_unit(N)
        slack = unit * np.sqrt(power) * np.sqrt(self.diagonal)
        is_same = (np.abs(c + 2.0 * self.products / N) <= slack).all()
        return bool(is_same) and abs(constant - power) <= unit * power

    def take(self, support: IntArray) -> FloatArray:
        """Some columns as a dense array in double precision, one after the other."""
        part = self.X[:, support]
        if is_lazy(part):
            part = part.compute()
        dense = part.toarray() if scipy.sparse.issparse(part) else part
        return np.asarray(np.asfortranarray(dense, dtype=np.float64))

    def sweep(
        self, R: FloatArray, reduce: Callable[[int, FloatArray], Result]
    ) -> list[Result]:
        """Read all columns once.

        Parameters
        ----------
        R : (N, m) array
            Right-hand sides.
        reduce : callable
            Called with the number of the first column of a block and the block's part
            of ``X'R``, by several threads at a time.

        Returns
        -------
        list
            What it returned, in the order of the blocks.
        """
        return list(self._visit(R, reduce, _products))

    def correlate(self, R: FloatArray) -> FloatArray:
        """``X'R``, in one sweep."""
        result = np.empty((self.n, R.shape[1]))

        def keep(start: int, products: FloatArray) -> None:
            result[start : start + len(products)] = products

        self.sweep(R, keep)
        return result

    @cached_property
    def outer(self) -> FloatArray:
        """``XX'``, in one sweep: for data with few rows."""
        return self._total(np.zeros((self.n_samples, 0)), _outer)

    def apply_outer(self, R: FloatArray) -> FloatArray:
        """``XX'R``, in one sweep."""
        return self._total(R, _outer_products)

    def _total(
        self, R: FloatArray, measure: Callable[[Any, FloatArray], FloatArray]
    ) -> FloatArray:
        """The sum of what blocks measure; their order does not depend on threads."""
        total = np.zeros(1)
        blocks = self._visit(R, lambda _, part: part, measure, whole_columns=True)
        for part in blocks:
            total = total + part
        return total

    def _visit(
        self,
        R: FloatArray,
        reduce: Callable[[int, FloatArray], Result],
        measure: Callable[[Any, FloatArray], FloatArray],
        *,
        whole_columns: bool = False,
    ) -> Iterator[Result]:
        """Measure blocks against right-hand sides, and reduce what was measured.

        What is measured are sums over rows, which may be read in pieces, unless columns
        must stay whole.
        """
        if is_lazy(self.X):
            yield from self._visit_cluster(R, reduce, measure)
            return
        N = self.n_samples
        width, height = self._block_shape()
        if whole_columns and height < N:
            width, height = max(BLOCK // N, 1), N

        def one(start: int) -> Result:
            block = self.X[:, start : start + width]
            rows = range(0, N, height)
            parts = (measure(block[a : a + height], R[a : a + height]) for a in rows)
            return reduce(start, fold(np.add, parts))

        # Threads of BLAS get in each other's way on narrow blocks.
        n_threads = min(os.cpu_count() or 1, MOST_THREADS)
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
            yield from pool.map(one, range(0, self.n, width))

    def _block_shape(self) -> tuple[int, int]:
        """Columns and rows that are read at a time."""
        N = self.n_samples
        width = max(BLOCK // N, 1)
        if scipy.sparse.issparse(self.X):
            filled = max(self.X.nnz // self.n, SPARSE)
            share = -(-self.n // MOST_THREADS)
            return max(width, min(BLOCK // filled, share)), N
        along_rows = abs(self.X.strides[1]) < abs(self.X.strides[0])
        if width >= min(NARROW, self.n) or not along_rows:
            return width, N
        width = min(NARROW, self.n)
        return width, max(BLOCK // width, 1)

    def _visit_cluster(
        self,
        R: FloatArray,
        reduce: Callable[[int, FloatArray], Result],
        measure: Callable[[Any, FloatArray], FloatArray],
    ) -> Iterator[Result]:
        """The same where blocks are chunks of a Dask array: only products travel."""
        from dask.base import compute
        from dask.delayed import delayed

        edges = np.cumsum([0, *self.X.chunks[1]]).tolist()
        shared, task = delayed(R), delayed(measure)
        blocks = [task(self.X[:, a:b], shared) for a, b in pairwise(edges)]
        for first in range(0, len(blocks), AT_ONCE):
            measured = compute(*blocks[first : first + AT_ONCE])
            starts = edges[first : first + AT_ONCE]
            yield from map(reduce, starts, measured)

    def fitted(self, x: FloatArray) -> FloatArray:
        """``Xx`` for a point with few nonzeros."""
        support = np.flatnonzero(x)
        return self.combine(support, x[support])

    def combine(self, support: IntArray, weights: FloatArray) -> FloatArray:
        """Sums of some columns, for one vector of weights or one in each column."""
        if is_lazy(self.X):
            return np.asarray(self.take(support) @ weights)
        if scipy.sparse.issparse(self.X):
            return np.asarray(_dense64(self.X[:, support]) @ weights)
        found = np.zeros((self.n_samples, *weights.shape[1:]), order="F")
        for rows in self._pieces(len(support)):
            found[rows] = _dense64(self.X[rows][:, support]) @ weights
        return found

    def cross(self, left: IntArray, right: IntArray) -> FloatArray:
        """``Q`` at some rows and columns, without a copy of all these columns."""
        if is_lazy(self.X):
            return np.asarray(self.take(left).T @ self.take(right) / self.n_samples)
        if scipy.sparse.issparse(self.X):
            parts = (_dense64(self.X[:, some]) for some in (left, right))
            product = next(parts).T @ next(parts)
            return np.asarray(product.toarray() / self.n_samples)
        total = np.zeros((len(left), len(right)))
        for rows in self._pieces(len(left)):
            part = self.X[rows]
            total += _dense64(part[:, left]).T @ _dense64(part[:, right])
        return total / self.n_samples

    def _pieces(self, width: int) -> Iterator[slice]:
        """Rows, so many at a time that a block has this width."""
        height = _height(width)
        for start in range(0, self.n_samples, height):
            yield slice(start, start + height)

    def value(self, x: FloatArray) -> float:
        fitted = self.fitted(x)
        return float(fitted @ fitted) / self.n_samples

    def terms(self, x: FloatArray) -> FloatArray:
        return np.array([self.value(x)])

    def apply(self, x: FloatArray) -> FloatArray:
        if x.ndim == 1:
            return self.correlate(self.fitted(x)[:, None])[:, 0] / self.n_samples
        fitted = np.column_stack([self.fitted(column) for column in x.T])
        return self.correlate(fitted) / self.n_samples

    def block(self, support: IntArray) -> FloatArray:
        return self.cross(support, support)

    def columns(self, support: IntArray) -> FloatArray:
        return self.correlate(self.take(support)) / self.n_samples

    def dense(self) -> FloatArray:
        gram = np.zeros((self.n, self.n))
        data = self.X.tocsr() if scipy.sparse.issparse(self.X) else self.X
        for rows in self._pieces(self.n):
            gram += _gram(_dense64(data[rows]))
        return gram / self.n_samples

    @cached_property
    def in_memory(self) -> Gram | Factor:
        """The matrix, or a factor of it if that is smaller, as arrays.

        The matrix is not quite that of the data: an entry is off by
        ``formed u sqrt(Q_ii Q_jj)`` at most, and so it lies above and below the true
        one up to ``n formed u`` times the diagonal.  Nothing else need be known to
        bound how far it is from positive semidefinite.
        """
        if self.n > self.n_samples:
            return self.restrict(np.arange(self.n))
        N, height = self.n_samples, _height(self.n)
        formed = min(SUMMED, N) + -(-min(height, N) // SUMMED) + -(-N // height) + 2
        psd_violation = formed_unit(self.n, formed) * self.diagonal
        # Sums of both halves may come in another order.
        matrix = self.dense()
        matrix = 0.5 * (matrix + matrix.T)
        matrix.setflags(write=False)
        return Gram(matrix, psd_violation, formed)

    def restrict(self, indices: IntArray) -> Factor:
        return Factor(self.take(indices) / np.sqrt(self.n_samples))

    def squared_norm(self) -> float:
        if self.n <= self.n_samples:
            return float(np.sum(self.dense() ** 2))
        return float(np.vdot(self.outer, self.outer)) / self.n_samples**2

    def tangent(self, x: FloatArray) -> Minorant:
        # Any alpha will do; its product with the columns is taken as it comes.
        fitted = np.stack([self.fitted(point) for point in np.atleast_2d(x)])
        alpha = 2.0 * fitted.reshape(*x.shape[:-1], -1) / np.sqrt(self.n_samples)
        slope = self.correlate(2.0 * fitted.T).T.reshape(x.shape) / self.n_samples
        unit = plane(np.zeros((self.n_samples, 0)), alpha, np.zeros(0))
        size = np.linalg.norm(alpha, axis=-1)
        reach = streamed_slope_unit(self.n_samples) * size
        error = np.multiply.outer(reach, np.sqrt(self.diagonal))
        return Minorant(slope, error, unit.offset, np.zeros(self.n))


def is_lazy(X: Any) -> bool:
    """Whether a matrix is a Dask array, which is somewhere else or not made yet."""
    return hasattr(X, "dask")


def _height(width: int) -> int:
    """Rows of a block of this width."""
    return max(BLOCK // max(width, 1), 1)


def _gram(rows: Any) -> FloatArray:
    """Products of columns with each other, few rows at a time."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, rows.shape[0], SUMMED):
        piece = rows[start : start + SUMMED]
        square = piece.T @ piece
        total += square.toarray() if scipy.sparse.issparse(square) else square
    return total


def _products(block: Any, R: FloatArray) -> FloatArray:
    """Products of columns with right-hand sides, in double precision."""
    return np.asarray(_dense64(block).T @ R)


def _outer(block: Any, _: FloatArray) -> FloatArray:
    """Products of rows with each other."""
    block = _dense64(block)
    square = block @ block.T
    return np.asarray(square.toarray() if scipy.sparse.issparse(square) else square)


def _outer_products(block: Any, R: FloatArray) -> FloatArray:
    """Products of columns with their own products with right-hand sides."""
    block = _dense64(block)
    return np.asarray(block @ (block.T @ R))


def _products_and_squares(block: Any, R: FloatArray) -> FloatArray:
    """The same with the squared lengths of the columns in a last column."""
    block = _dense64(block)
    if scipy.sparse.issparse(block):
        squares = np.asarray(block.power(2).sum(axis=0)).ravel()
    else:
        squares = np.einsum("ij,ij->j", block, block)
    return np.column_stack([block.T @ R, squares])


def _dense64(block: Any) -> Any:
    """A block in double precision; sparse ones stay sparse."""
    if scipy.sparse.issparse(block):
        return block.astype(np.float64)
    return np.asarray(block, dtype=np.float64)
