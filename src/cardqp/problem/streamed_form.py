"""The quadratic form of data that are streamed, for very many columns.

``Q = X'X / N`` is never formed.  All columns are read in passes, block by block, with
one right-hand side or many at a time: see ``docs/theory.md#many-columns``.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from functools import reduce as reduce_all
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import formed_unit, same_data_unit, streamed_slope_unit
from cardqp.exceptions import ProblemError
from cardqp.problem import column_blocks
from cardqp.problem.column_blocks import (
    DEFAULT_SIZES,
    ROWS_PER_SUM,
    BlockSizes,
    in_double,
)
from cardqp.problem.quadratic import (
    Factor,
    Gram,
    Minorant,
    plane,
    projection_error,
)

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class StreamedForm:
    """``x'Qx = |Xx|^2 / N`` for data that are in memory, on disk or on a cluster.

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
    block_sizes : BlockSizes
        Sizes of the blocks in which the data are read.
    """

    X: Any
    target: FloatArray
    squares: FloatArray
    products: FloatArray
    block_sizes: BlockSizes = DEFAULT_SIZES

    @classmethod
    def read(
        cls, X: Any, target: FloatArray, block_sizes: BlockSizes = DEFAULT_SIZES
    ) -> "StreamedForm":
        """Make the form of some data, in one pass over them.

        Columns whose squared length is not a finite number are refused.
        """
        data = X.tocsc() if scipy.sparse.issparse(X) else X
        n = data.shape[1]
        form = cls(data, target, np.zeros(n), np.zeros(n), block_sizes)
        measure = column_blocks.products_and_squares
        parts = form._map_blocks(target[:, None], lambda _, part: part, measure)
        both = np.concatenate(list(parts))
        form.products[:], form.squares[:] = both.T
        wrong = np.flatnonzero(~np.isfinite(form.squares))
        if len(wrong):
            raise ProblemError(
                "X",
                "must hold finite numbers, of moderate size",
                given=f"column {wrong[0]} does not",
                remedy="remove or fill in what is missing",
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
        """Whether ``x'Qx + c'x + constant`` is the mean squared error of the target.

        Bounds from residuals hold for this objective only.
        """
        N = self.n_samples
        power = float(self.target @ self.target) / N
        # The products may have been summed in another order.
        unit = same_data_unit(N)
        slack = unit * np.sqrt(power) * np.sqrt(self.diagonal)
        is_same = (np.abs(c + 2.0 * self.products / N) <= slack).all()
        return bool(is_same) and abs(constant - power) <= unit * power

    def take(self, support: IntArray) -> FloatArray:
        """Some columns as a dense array in double precision, in column order."""
        part = self.X[:, support]
        if is_lazy(part):
            part = part.compute()
        dense = part.toarray() if scipy.sparse.issparse(part) else part
        return np.asarray(np.asfortranarray(dense, dtype=np.float64))

    def map_products(
        self, R: FloatArray, reduce: Callable[[int, FloatArray], Result]
    ) -> list[Result]:
        """Reduce ``X'R`` block by block, in one pass over all columns.

        ``reduce`` is called with the number of the first column of a block and the
        block's part of ``X'R``, by several threads at a time.  Its results are in the
        order of the blocks.
        """
        return list(self._map_blocks(R, reduce, column_blocks.products))

    def correlate(self, R: FloatArray) -> FloatArray:
        """``X'R``, in one pass."""
        result = np.empty((self.n, R.shape[1]))

        def keep(start: int, products: FloatArray) -> None:
            result[start : start + len(products)] = products

        self.map_products(R, keep)
        return result

    @cached_property
    def outer(self) -> FloatArray:
        """``XX'``, in one pass: for data with few rows."""
        return self._total(np.zeros((self.n_samples, 0)), column_blocks.outer)

    def apply_outer(self, R: FloatArray) -> FloatArray:
        """``XX'R``, in one pass."""
        return self._total(R, column_blocks.outer_products)

    def _total(
        self, R: FloatArray, measure: Callable[[Any, FloatArray], FloatArray]
    ) -> FloatArray:
        """The sum of a measure over blocks, in an order that threads do not change."""
        total = np.zeros(1)
        blocks = self._map_blocks(R, lambda _, part: part, measure, whole_columns=True)
        for part in blocks:
            total = total + part
        return total

    def _map_blocks(
        self,
        R: FloatArray,
        reduce: Callable[[int, FloatArray], Result],
        measure: Callable[[Any, FloatArray], FloatArray],
        *,
        whole_columns: bool = False,
    ) -> Iterator[Result]:
        """Iterate over blocks of columns: ``reduce(start, measure(block, R))``.

        Measures that are sums over rows are taken over pieces of rows where the layout
        of the data asks for it, unless ``whole_columns`` forbids that.
        """
        if is_lazy(self.X):
            yield from self._map_chunks(R, reduce, measure)
            return
        N = self.n_samples
        width, height = self._block_shape()
        if whole_columns and height < N:
            width, height = self.block_sizes.width(N), N

        def one(start: int) -> Result:
            block = self.X[:, start : start + width]
            rows = range(0, N, height)
            parts = (measure(block[a : a + height], R[a : a + height]) for a in rows)
            return reduce(start, reduce_all(np.add, parts))

        # Several threads of BLAS on one narrow block are slower than one thread on each
        # of several blocks.
        n_threads = min(os.cpu_count() or 1, self.block_sizes.max_threads)
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
            yield from pool.map(one, range(0, self.n, width))

    def _block_shape(self) -> tuple[int, int]:
        """Columns and rows that are read at a time."""
        N, sizes = self.n_samples, self.block_sizes
        width = sizes.width(N)
        if scipy.sparse.issparse(self.X):
            filled = max(self.X.nnz // self.n, sizes.min_sparse_entries)
            # Few large blocks, but one for each thread.
            share = -(-self.n // sizes.max_threads)
            return max(width, min(sizes.entries // filled, share)), N
        along_rows = abs(self.X.strides[1]) < abs(self.X.strides[0])
        if width >= min(sizes.min_width, self.n) or not along_rows:
            return width, N
        width = min(sizes.min_width, self.n)
        return width, sizes.height(width)

    def _map_chunks(
        self,
        R: FloatArray,
        reduce: Callable[[int, FloatArray], Result],
        measure: Callable[[Any, FloatArray], FloatArray],
    ) -> Iterator[Result]:
        """Iterate over chunks of a Dask array, which are measured where they are.

        Only right-hand sides and products travel between machines.
        """
        from dask.base import compute
        from dask.delayed import delayed

        at_once = self.block_sizes.max_chunks
        edges = np.cumsum([0, *self.X.chunks[1]]).tolist()
        shared, task = delayed(R), delayed(measure)
        blocks = [task(self.X[:, a:b], shared) for a, b in pairwise(edges)]
        for first in range(0, len(blocks), at_once):
            measured = compute(*blocks[first : first + at_once])
            starts = edges[first : first + at_once]
            yield from map(reduce, starts, measured)

    def fitted(self, x: FloatArray) -> FloatArray:
        """``Xx`` for a point with few nonzeros."""
        support = np.flatnonzero(x)
        return self.combine(support, x[support])

    def combine(self, support: IntArray, weights: FloatArray) -> FloatArray:
        """``X[:, support] @ weights``, for one vector of weights or several columns."""
        if is_lazy(self.X):
            return np.asarray(self.take(support) @ weights)
        if scipy.sparse.issparse(self.X):
            return np.asarray(in_double(self.X[:, support]) @ weights)
        found = np.zeros((self.n_samples, *weights.shape[1:]), order="F")
        for rows in self._pieces(len(support)):
            found[rows] = in_double(self.X[rows][:, support]) @ weights
        return found

    def cross(self, left: IntArray, right: IntArray) -> FloatArray:
        """The entries of ``Q`` at some rows and columns.

        Dense data are read a few rows at a time, so that the columns are never copied
        as a whole.
        """
        if is_lazy(self.X):
            return np.asarray(self.take(left).T @ self.take(right) / self.n_samples)
        if scipy.sparse.issparse(self.X):
            parts = (in_double(self.X[:, some]) for some in (left, right))
            product = next(parts).T @ next(parts)
            return np.asarray(product.toarray() / self.n_samples)
        total = np.zeros((len(left), len(right)))
        for rows in self._pieces(len(left)):
            part = self.X[rows]
            total += in_double(part[:, left]).T @ in_double(part[:, right])
        return total / self.n_samples

    def _pieces(self, width: int) -> Iterator[slice]:
        """Slices of rows, so many at a time that blocks of this width are full."""
        height = self.block_sizes.height(width)
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
            gram += column_blocks.gram(in_double(data[rows]))
        return gram / self.n_samples

    @cached_property
    def in_memory(self) -> Gram | Factor:
        """The matrix ``Q`` in memory, or a factor of it if that is smaller.

        An entry of the computed matrix is off by ``formed u sqrt(Q_ii Q_jj)`` at most,
        so that the matrix differs from that of the data by ``n formed u`` times the
        diagonal at most.  This also bounds how far it is from positive semidefinite.
        """
        if self.n > self.n_samples:
            return self.restrict(np.arange(self.n))
        N, height = self.n_samples, self.block_sizes.height(self.n)
        # Additions in a row: within a sum, of sums within a piece, of pieces.
        n_sums = -(-min(height, N) // ROWS_PER_SUM)
        formed = min(ROWS_PER_SUM, N) + n_sums + -(-N // height) + 2
        psd_violation = formed_unit(self.n, formed) * self.diagonal
        # BLAS may sum the two halves in different orders.
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
        fitted = np.stack([self.fitted(point) for point in np.atleast_2d(x)])
        alpha = 2.0 * fitted.reshape(*x.shape[:-1], -1) / np.sqrt(self.n_samples)
        slope = self.correlate(2.0 * fitted.T).T.reshape(x.shape) / self.n_samples
        lengths = np.sqrt(self.diagonal)
        alpha_error = 2.0 * projection_error(x, lengths)
        none = np.zeros((self.n_samples, 0))
        unit = plane(none, alpha, np.zeros(0), alpha_error=alpha_error)
        size = np.linalg.norm(alpha, axis=-1)
        unit_error = streamed_slope_unit(self.n_samples) * size + alpha_error
        error = np.multiply.outer(unit_error, lengths)
        return Minorant(slope, error, unit.offset, np.zeros(self.n))


def is_lazy(X: Any) -> bool:
    """Whether a matrix is a Dask array, whose chunks are computed when asked for."""
    return hasattr(X, "dask")
