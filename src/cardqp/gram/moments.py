"""Weighted means and second moments of features and a target.

With them, least squares needs no rows any more: neither to fit nor to judge a fit.
Moments of parts of the data can be merged, so that folds of a cross-validation share
one pass over the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from cardqp import _validation as check
from cardqp._typing import FloatArray, IntArray
from cardqp.quadratic import Factor, Gram

MOSTLY = 0.5
"""Sparse columns with a larger share of nonzeros take no more memory as dense ones."""


class Moments(Protocol):
    """What a least-squares problem needs to know of some rows.

    Means are weighted.  Second moments are about the means, or about zero if the means
    are held to be zero.
    """

    @property
    def weight(self) -> float:
        """Sum of the weights."""

    @property
    def n_samples(self) -> int:
        """Number of rows."""

    @property
    def mean(self) -> FloatArray:
        """Means of the features; zeros for moments about zero."""

    @property
    def target_mean(self) -> float:
        """Mean of the target; zero for moments about zero."""

    @property
    def variance(self) -> FloatArray:
        """Second moments of the features."""

    @property
    def cross(self) -> FloatArray:
        """Mixed moments of each feature and the target."""

    @property
    def power(self) -> float:
        """Second moment of the target."""

    def form(self, scale: FloatArray) -> Gram | Factor:
        """The quadratic form of the second moments of ``feature / scale``."""

    def block(self, support: IntArray) -> FloatArray:
        """Second moments of some features."""

    def mean_square(self, coef: FloatArray) -> float:
        """The second moment of ``target - features @ coef``."""


def mean_squared_error(rows: Moments, coef: FloatArray, intercept: float) -> float:
    """The mean squared error of a linear model on the rows behind moments.

    Moments about zero know nothing of an intercept: it must be 0 with them.
    """
    offset = rows.target_mean - intercept - float(rows.mean @ coef)
    return rows.mean_square(coef) + offset * offset


@dataclass(frozen=True, eq=False)
class GramMoments:
    """Moments with the matrix of second moments at hand.

    Attributes
    ----------
    weight, n_samples, mean, target_mean, cross, power
        See :class:`Moments`.
    gram : (n, n) array
        Second moments of the features.
    """

    weight: float
    n_samples: int
    mean: FloatArray
    target_mean: float
    gram: FloatArray
    cross: FloatArray
    power: float

    @property
    def variance(self) -> FloatArray:
        return np.asarray(self.gram.diagonal())

    def form(self, scale: FloatArray) -> Gram:
        return check.quadratic_matrix(self.gram / np.multiply.outer(scale, scale))

    def block(self, support: IntArray) -> FloatArray:
        return np.asarray(self.gram[np.ix_(support, support)])

    def mean_square(self, coef: FloatArray) -> float:
        support = np.flatnonzero(coef)
        part = coef[support]
        curved = part @ self.block(support) @ part
        return max(self.power - 2.0 * float(self.cross @ coef) + float(curved), 0.0)


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Moments of some of the rows, which are kept: for more features than rows.

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
        return (self.X[self.rows] - self.mean) * np.sqrt(self._share)[:, None]

    @cached_property
    def _target(self) -> FloatArray:
        return np.asarray((self.y[self.rows] - self.target_mean) * np.sqrt(self._share))


def moments(
    X: Any, y: FloatArray, weights: FloatArray | None = None, *, centred: bool = True
) -> Moments:
    """Moments of all rows.

    Parameters
    ----------
    X, y, weights, centred
        As for :func:`moments_of_parts`.

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
    n_samples, n = X.shape
    weights = np.ones(n_samples) if weights is None else weights
    if n > n_samples:
        dense = X.toarray() if scipy.sparse.issparse(X) else X
        return [RowMoments(dense, y, weights, rows, centred) for rows in parts]
    rows_of = X.tocsr() if scipy.sparse.issparse(X) else X
    return [
        _gram_moments(rows_of[rows], y[rows], weights[rows], centred) for rows in parts
    ]


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
    return _merge_grams([part for part in parts if isinstance(part, GramMoments)])


def _merge_grams(parts: Sequence[GramMoments]) -> GramMoments:
    weight = sum(part.weight for part in parts)
    shares = [part.weight / weight for part in parts]
    mean = sum(a * part.mean for a, part in zip(shares, parts, strict=True))
    target_mean = sum(a * p.target_mean for a, p in zip(shares, parts, strict=True))
    gram, cross, power = np.zeros_like(parts[0].gram), np.zeros_like(mean), 0.0
    for share, part in zip(shares, parts, strict=True):
        moved, target_moved = part.mean - mean, part.target_mean - target_mean
        gram += share * part.gram
        gram += share * np.multiply.outer(moved, moved)
        cross += share * (part.cross + target_moved * moved)
        power += share * (part.power + target_moved**2)
    n_samples = sum(part.n_samples for part in parts)
    return GramMoments(
        weight, n_samples, np.asarray(mean), float(target_mean), gram, cross, power
    )


def _gram_moments(
    X: Any, y: FloatArray, weights: FloatArray, centred: bool
) -> GramMoments:
    """Moments of some rows, which are a copy and may be written to."""
    weight = float(weights.sum())
    share = weights / weight if weight > 0 else weights
    mean, target_mean = np.zeros(X.shape[1]), 0.0
    if centred:
        mean, target_mean = np.asarray(share @ X).ravel(), float(share @ y)
    target = y - target_mean
    power = float(share @ (target * target))
    if scipy.sparse.issparse(X):
        gram, cross = _sparse_moments(X, target, share, mean)
    else:
        X -= mean
        cross = np.asarray((share * target) @ X)
        X *= np.sqrt(share)[:, None]
        gram = X.T @ X
    return GramMoments(weight, len(y), mean, target_mean, gram, cross, power)


def _sparse_moments(
    X: Any, target: FloatArray, share: FloatArray, mean: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Second moments about a mean, also where it is large.

    Columns that are mostly nonzero are made dense, to subtract their means first.  The
    squared means of all others are at most half of their mean squares, so that little
    is lost when they are subtracted last.
    """
    is_full = share @ (X != 0) > MOSTLY
    full, rest = np.flatnonzero(is_full), np.flatnonzero(~is_full)
    root = np.sqrt(share)
    thin = scipy.sparse.diags_array(root) @ X[:, rest]
    dense = root[:, None] * (X[:, full].toarray() - mean[full])
    gram, cross = np.empty((len(mean), len(mean))), np.empty(len(mean))
    moved = np.multiply.outer(mean[rest], mean[rest])
    gram[np.ix_(rest, rest)] = (thin.T @ thin).toarray() - moved
    gram[np.ix_(rest, full)] = mixed = thin.T @ dense
    gram[np.ix_(full, rest)] = mixed.T
    gram[np.ix_(full, full)] = dense.T @ dense
    cross[rest], cross[full] = thin.T @ (root * target), dense.T @ (root * target)
    return gram, cross
