"""Sums over rows about a point: what can be added up without losing digits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import BoolArray, FloatArray
from cardqp.arithmetic.rounding import variance_unit
from cardqp.problem.validation import LARGEST

BLOCK_ROWS = 16384
"""Rows that are multiplied at a time."""

_BLOCK_ENTRIES = 2**23
"""Entries of such a block at most: 64 MB."""


class UnusableEntryError(ValueError):
    """Some entry is not finite or too large; who knows the rows says which."""


@dataclass(frozen=True, slots=True, eq=False)
class ShiftedSums:
    r"""Weighted sums of rows ``z = (features, target)`` about a point ``p``.

    With ``p`` near the mean, ``second / weight`` less the square of ``first / weight``
    has hardly any cancellation, however large the means are beside the spread.

    Attributes
    ----------
    shift : (n + 1,) array
        The point :math:`p`.
    weight : float
        :math:`\sum_i w_i`.
    n_samples, n_dropped : int
        Number of rows, and of rows left out because something is missing in them.
    first : (n + 1,) array
        :math:`\sum_i w_i (z_i - p)`.
    second : (n + 1, n + 1) array
        :math:`\sum_i w_i (z_i - p)(z_i - p)^\top`.
    """

    shift: FloatArray
    weight: float
    n_samples: int
    first: FloatArray
    second: FloatArray
    n_dropped: int = 0

    @classmethod
    def zero(cls, shift: FloatArray) -> "ShiftedSums":
        """The sums of no rows."""
        size = len(shift)
        second = np.zeros((size, size))
        return cls(shift, 0.0, 0, np.zeros(size), second)

    @classmethod
    def of_block(
        cls, block: FloatArray, weights: FloatArray | None, shift: FloatArray
    ) -> "ShiftedSums":
        """The sums of a few rows.

        Parameters
        ----------
        block : (m, n + 1) array
            Features and target **less the shift**; it is overwritten.
        weights : (m,) array or None
            Weights; None for ones.
        shift : (n + 1,) array
            What was subtracted.

        Raises
        ------
        UnusableEntryError
            If an entry is not finite, or so far beyond ``LARGEST`` that it tells.
        """
        each = np.ones(len(block)) if weights is None else weights
        with np.errstate(invalid="ignore", over="ignore"):
            first = each @ block
            # Sums betray a bad entry, and cost nothing beside the product.
            if not np.isfinite(first).all():
                raise UnusableEntryError
            if weights is not None:
                block *= np.sqrt(weights)[:, None]
            second = block.T @ block
        _refuse_large(second, each)
        return cls(shift, float(each.sum()), len(block), first, second)

    @classmethod
    def of_sparse(
        cls, block: Any, weights: FloatArray | None, shift: FloatArray
    ) -> "ShiftedSums":
        """The sums of the rows of a sparse matrix, which stays sparse.

        Full columns are shifted by subtraction.  Others are summed about zero, which is
        then moved: where there are zeros, the mean is hardly larger than the spread.

        Parameters
        ----------
        block : (m, n + 1) sparse array in row order
            Features and target; it is overwritten.
        weights, shift
            As for :meth:`of_block`.
        """
        block.sum_duplicates()
        count = np.bincount(block.indices, minlength=len(shift))
        base = np.where(count == block.shape[0], shift, 0.0)
        each = np.ones(block.shape[0]) if weights is None else weights
        with np.errstate(invalid="ignore", over="ignore"):
            block.data -= base[block.indices]
            first = np.asarray(each @ block).ravel()
            if not np.isfinite(first).all():
                raise UnusableEntryError
            half = scipy.sparse.diags_array(np.sqrt(each)) @ block
            second = (half.T @ half).toarray()
        _refuse_large(second, each)
        sums = cls(base, float(each.sum()), block.shape[0], first, second)
        return sums.about(shift)

    @property
    def target_size(self) -> float:
        """Absolute mean plus spread of the target; its squares may have underflowed."""
        weight = self.weight or 1.0
        mean = abs(self.shift[-1] + self.first[-1] / weight)
        return float(mean + np.sqrt(self.second[-1, -1] / weight))

    def __add__(self, other: "ShiftedSums") -> "ShiftedSums":
        """The sums of both, about the point of the first."""
        other = other.about(self.shift)
        return ShiftedSums(
            self.shift,
            self.weight + other.weight,
            self.n_samples + other.n_samples,
            self.first + other.first,
            self.second + other.second,
            self.n_dropped + other.n_dropped,
        )

    def about(self, shift: FloatArray) -> "ShiftedSums":
        """Sums of these rows about another point.

        Rounding is then relative to the square of the distance between the points.
        """
        if np.array_equal(shift, self.shift):
            return self
        moved = self.shift - shift
        # The mixed terms, and half of the last one, once and once transposed.
        half = np.multiply.outer(self.first + (0.5 * self.weight) * moved, moved)
        return ShiftedSums(
            shift,
            self.weight,
            self.n_samples,
            self.first + self.weight * moved,
            self.second + (half + half.T),
            self.n_dropped,
        )


def _refuse_large(second: FloatArray, weights: FloatArray) -> None:
    """Rows and the shift may have the size ``LARGEST`` each: less never gets here."""
    most = 4.0 * LARGEST**2 * float(weights.sum())
    if not (second.diagonal() <= most).all():
        raise UnusableEntryError


def sums_of(
    X: Any, y: FloatArray, weights: FloatArray | None, shift: FloatArray
) -> ShiftedSums:
    """Sums over rows in memory, of any type of number, by blocks in their order.

    Parameters
    ----------
    X : (N, n) array or SciPy sparse matrix
        Features.
    y : (N,) array
        The target.
    weights : (N,) array or None
        Weights; None for ones.
    shift : (n + 1,) array
        The point, with the target last.
    """
    if scipy.sparse.issparse(X):
        return ShiftedSums.of_sparse(_beside(X, y), weights, shift)
    total = ShiftedSums.zero(shift)
    buffer = np.empty((min(block_rows(len(shift)), len(y)), len(shift)))
    for rows in row_blocks(len(y), len(shift)):
        block = buffer[: rows.stop - rows.start]
        block[:, :-1], block[:, -1] = X[rows], y[rows]
        with np.errstate(invalid="ignore"):
            block -= shift
        total += ShiftedSums.of_block(
            block, None if weights is None else weights[rows], shift
        )
    return total


def shift_of(X: Any, y: FloatArray) -> FloatArray:
    """A point near the mean: that of the first rows, with the target last."""
    with np.errstate(invalid="ignore", over="ignore"):
        if scipy.sparse.issparse(X):
            shift = np.asarray(_beside(X, y).mean(axis=0)).ravel()
        else:
            few = block_rows(X.shape[1] + 1)
            means = X[:few].mean(axis=0, dtype=np.float64)
            shift = np.append(means, y[:few].mean(dtype=np.float64))
    if not np.isfinite(shift).all():
        raise UnusableEntryError
    return np.asarray(shift)


def block_rows(width: int) -> int:
    """Number of rows that are multiplied at a time, given the number of columns."""
    return min(BLOCK_ROWS, max(_BLOCK_ENTRIES // width, 1))


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Rows in their order, a block at a time."""
    step = block_rows(width)
    return (slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step))


def is_flat(sums: ShiftedSums) -> BoolArray:
    """Columns whose variance cannot be told from rounding.

    About the mean of any of the rows, the second moment of a column that varies is at
    most ``n_samples`` times its variance: such a column is not taken for flat.
    """
    weight = sums.weight or 1.0
    second, mean = sums.second.diagonal() / weight, sums.first / weight
    unit = variance_unit(sums.n_samples)
    return np.asarray(second - mean * mean <= unit * second)


def _beside(X: Any, y: FloatArray) -> Any:
    """A sparse copy of features and target in row order."""
    both = scipy.sparse.hstack([X, y[:, None]], format="csr", dtype=np.float64)
    return scipy.sparse.csr_array(both)
