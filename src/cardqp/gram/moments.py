"""Weighted means and second moments of features and a target.

With them, least squares needs no rows any more: neither to fit nor to judge a fit.
Moments of parts of the data can be merged, so that folds of a cross-validation share
one pass over the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import FloatArray, IntArray
from cardqp.gram.sums import (
    ShiftedSums,
    UnusableEntryError,
    is_flat,
    shift_of,
    sums_of,
)
from cardqp.gram.validation import is_moderate, refuse_entries
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Factor, Gram


@dataclass(frozen=True, eq=False)
class GramMoments:
    """Means and second moments of some rows, with the matrix of second moments at hand.

    Means are weighted.  Second moments are about the means, or about zero if the means
    are held to be zero.

    Attributes
    ----------
    sums : ShiftedSums
        The sums that they come from; those of several parts can be added.
    is_centred : bool
        Whether moments are about the means.
    """

    sums: ShiftedSums
    is_centred: bool

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return self.sums.weight

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.sums.n_samples

    @property
    def mean(self) -> FloatArray:
        """Means of the features; zeros for moments about zero."""
        return self._means[:-1]

    @property
    def target_mean(self) -> float:
        """Mean of the target; zero for moments about zero."""
        return float(self._means[-1])

    @property
    def gram(self) -> FloatArray:
        """Second moments of the features."""
        return self._second[:-1, :-1]

    @property
    def variance(self) -> FloatArray:
        """Second moments of the features, one by one."""
        return np.asarray(self.gram.diagonal())

    @property
    def cross(self) -> FloatArray:
        """Mixed moments of each feature and the target."""
        return self._second[:-1, -1]

    @property
    def power(self) -> float:
        """Second moment of the target."""
        return float(self._second[-1, -1])

    def form(self, scale: FloatArray) -> Gram:
        """The quadratic form of the second moments of ``feature / scale``."""
        return check.quadratic_matrix(self.gram / np.multiply.outer(scale, scale))

    def block(self, support: IntArray) -> FloatArray:
        """Second moments of some features."""
        return np.asarray(self.gram[np.ix_(support, support)])

    def mean_square(self, coef: FloatArray) -> float:
        """The second moment of ``target - features @ coef``."""
        support = np.flatnonzero(coef)
        part = coef[support]
        curved = part @ self.block(support) @ part
        return max(self.power - 2.0 * float(self.cross @ coef) + float(curved), 0.0)

    @cached_property
    def _means(self) -> FloatArray:
        """Means of features and target."""
        if not self.is_centred:
            return np.zeros(len(self.sums.shift))
        return np.asarray(self.sums.shift + self.sums.first / (self.weight or 1.0))

    @cached_property
    def _second(self) -> FloatArray:
        """Second moments of features and target."""
        sums, weight = self.sums, self.weight or 1.0
        if not self.is_centred:
            return sums.about(np.zeros(len(sums.shift))).second / weight
        offset = sums.first / weight
        second = sums.second / weight
        second -= np.multiply.outer(offset, offset)
        flat = is_flat(sums)
        second[flat] = second[:, flat] = 0.0
        return second


@dataclass(frozen=True, eq=False)
class RowMoments:
    """The same of rows that are kept: for more features than rows.

    Attributes
    ----------
    X, y, weights : arrays
        All rows.
    rows : int array
        Those that count.
    is_centred : bool
        Whether moments are about the means.
    """

    X: FloatArray
    y: FloatArray
    weights: FloatArray
    rows: IntArray
    is_centred: bool

    @property
    def n_samples(self) -> int:
        return len(self.rows)

    @cached_property
    def weight(self) -> float:
        return float(self.weights[self.rows].sum())

    @cached_property
    def mean(self) -> FloatArray:
        if not self.is_centred:
            return np.zeros(self.X.shape[1])
        return np.asarray(self._share @ self.X[self.rows])

    @cached_property
    def target_mean(self) -> float:
        return float(self._share @ self.y[self.rows]) if self.is_centred else 0.0

    @cached_property
    def variance(self) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->j", self._factor, self._factor))

    @cached_property
    def cross(self) -> FloatArray:
        return np.asarray(self._target @ self._factor)

    @cached_property
    def power(self) -> float:
        return float(self._target @ self._target)

    def form(self, scale: FloatArray) -> Factor:
        return check.factor_matrix(self._factor / scale)

    def columns(self, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Data without weights or means that have the moments of ``feature / scale``.

        They are features and target, with a row for each that counts.
        """
        root = np.sqrt(self.n_samples)
        return self._factor * (root / scale), root * self._target

    def block(self, support: IntArray) -> FloatArray:
        part = self._factor[:, support]
        return np.asarray(part.T @ part)

    def mean_square(self, coef: FloatArray) -> float:
        support = np.flatnonzero(coef)
        residual = self._target - self._factor[:, support] @ coef[support]
        return float(residual @ residual)

    @property
    def _share(self) -> FloatArray:
        return np.asarray(self.weights[self.rows] / self.weight)

    @cached_property
    def _factor(self) -> FloatArray:
        """Rows about the means, times the roots of their weights' shares."""
        # A copy, which may be large: the only one.
        factor = self.X[self.rows].astype(np.float64, copy=False)
        factor -= self.mean
        factor *= np.sqrt(self._share)[:, None]
        return factor

    @cached_property
    def _target(self) -> FloatArray:
        return np.asarray((self.y[self.rows] - self.target_mean) * np.sqrt(self._share))


Moments = GramMoments | RowMoments
"""Means and second moments of some rows, all that least squares needs of them."""


def mean_squared_error(rows: Moments, coef: FloatArray, intercept: float) -> float:
    """The mean squared error of a linear model on the rows behind moments.

    Moments about zero know nothing of an intercept: it must be 0 with them.
    """
    offset = rows.target_mean - intercept - float(rows.mean @ coef)
    return rows.mean_square(coef) + offset * offset


def moments(
    X: Any, y: FloatArray, weights: FloatArray | None = None, *, centred: bool = True
) -> Moments:
    """Moments of all rows; see :func:`moments_of_parts`.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [6.0]]), np.array([1.0, 2.0, 3.0])
    >>> whole = moments(X, y)
    >>> whole.mean, whole.target_mean, whole.cross
    (array([3.]), 2.0, array([1.66666667]))
    """
    [whole] = moments_of_parts(X, y, weights, [np.arange(len(y))], centred=centred)
    return whole


def moments_of_parts(
    X: Any,
    y: FloatArray,
    weights: FloatArray | None,
    parts: Sequence[IntArray],
    *,
    centred: bool = True,
) -> list[Moments]:
    """Moments of parts of the rows, such as folds.

    Parameters
    ----------
    X : (N, n) array or SciPy sparse matrix
        Finite numbers, one row per sample.  A sparse matrix is made dense only if it
        has more columns than rows.
    y : (N,) array
        The target.
    weights : (N,) array or None
        Weights of the rows; None for ones.
    parts : sequence of int arrays
        The rows of each part.
    centred : bool
        Whether moments are about the means.
    """
    check.squarable("y", float(np.abs(y).max(initial=0.0)))
    n_samples, n = X.shape
    if n > n_samples:
        dense = X.toarray() if scipy.sparse.issparse(X) else X
        if not (is_moderate(dense) and is_moderate(y)):
            refuse_entries(dense, y)
        all_weights = np.ones(n_samples) if weights is None else weights
        return [RowMoments(dense, y, all_weights, rows, centred) for rows in parts]
    rows_of, found = X.tocsr() if scipy.sparse.issparse(X) else X, list[Moments]()
    try:
        # One point for all parts, so that merging them is plain addition.
        shift = shift_of(rows_of, y) if centred else np.zeros(n + 1)
        for rows in parts:
            each = None if weights is None else weights[rows]
            sums = sums_of(rows_of[rows], y[rows], each, shift)
            found.append(GramMoments(sums, centred))
    except UnusableEntryError:
        refuse_entries(X, y)
        raise
    return found


def merge(parts: Sequence[Moments]) -> Moments:
    """The moments of all rows of several parts, which are of one kind.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [6.0]]), np.array([1.0, 2.0, 3.0])
    >>> merge(moments_of_parts(X, y, None, [np.array([0]), np.array([1, 2])])).variance
    array([4.66666667])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, RowMoments):
        rows = np.concatenate([p.rows for p in parts if isinstance(p, RowMoments)])
        return RowMoments(
            first.X, first.y, first.weights, np.sort(rows), first.is_centred
        )
    grams = [part for part in parts if isinstance(part, GramMoments)]
    sums = reduce(add, (part.sums for part in grams))
    return GramMoments(sums, grams[0].is_centred)
