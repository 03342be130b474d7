r"""Supergradients of the bound of a sparse minorant.

The bound of a sparse minorant, :math:`B(P)`, is concave in ``P``.  With ``x`` and ``z``
the relaxed minimiser and its switches, :math:`\omega_j = x_j^2 / z_j`, and
``R = Q - P``, a supergradient is

.. math::
    G = x x^\top - \mathrm{diag}(\omega) + \text{for each row } j:\;
    \tfrac12 \omega_j \operatorname{sign}(R_{ij}) \text{ at } (i, j) \text{ and } (j, i)

for ``i`` among the ``K - 1`` entries of the row that count most (see
``bounds/sparse_minorant.py``; proof in docs/theory.md#split-ascent).  It is sparse but
for a term of rank one.

The bound is not smooth, and plain supergradients zigzag.  So they are averaged over
steps, and entries of a row near the threshold count in part.  Variables at which ``x``
is zero do not appear in ``G``, and their ridges would fall until they do; rows with a
low ridge get a weight of their own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import FloatArray, IntArray
from cardqp.splitting.settings import SupergradientSettings
from cardqp.splitting.split_bound import SplitPoint


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """A symmetric matrix: a sparse one plus ``X diag(weights) X'``.

    Attributes
    ----------
    sparse : (n, n) CSR array
        The sparse part.
    X : (n, k) array
        The vectors of the part of low rank.
    weights : (k,) array
        Their weights.
    """

    sparse: Any
    X: FloatArray
    weights: FloatArray

    def times(self, M: FloatArray) -> FloatArray:
        """The product with a dense matrix."""
        product = self.sparse @ M
        product += (self.X * self.weights) @ (self.X.T @ M)
        return np.asarray(product)

    def inner(self, M: FloatArray) -> float:
        """The inner product with a dense matrix."""
        entries = self.sparse.tocoo()
        scattered = entries.data @ M[entries.row, entries.col]
        low_rank = np.einsum("ik,ik,k->", self.X, M @ self.X, self.weights)
        return float(scattered + low_rank)

    def averaged(self, new: "Slope", settings: SupergradientSettings) -> "Slope":
        """The exponential running average after one more supergradient."""
        old, fresh = settings.memory, 1.0 - settings.memory
        weights = np.concatenate([old * self.weights, fresh * new.weights])
        # Old terms fade by a factor in each step; dropping them bounds the rank.
        keep = weights > settings.faded * weights[-1]
        X = np.concatenate([self.X, new.X], axis=1)
        sparse = old * self.sparse + fresh * new.sparse
        size = np.abs(sparse.data)
        sparse.data[size < settings.negligible * size.max(initial=0.0)] = 0.0
        sparse.eliminate_zeros()
        return Slope(sparse, X[:, keep], weights[keep])


def supergradient(
    point: SplitPoint, limit: int, settings: SupergradientSettings
) -> Slope:
    """A smoothed supergradient at a point, for at most so many nonzeros."""
    n = len(point.x)
    omega = _ridge_weights(point, settings.low_ridge)
    # A relaxed point is sparse, and so is all but few rows' part of the gradient.
    rows = np.flatnonzero(omega > 1e-9 * omega.max())
    entries = _row_weights(point, rows, min(limit, n) - 1, settings)
    # Half of each entry, which is completed by the transpose below.
    entries *= (0.5 * omega[rows])[:, None] * np.sign(point.R[rows])
    entries[np.arange(len(rows)), rows] -= 0.5 * omega[rows]
    i, j = entries.nonzero()
    half = scipy.sparse.csr_array((entries[i, j], (rows[i], j)), shape=(n, n))
    return Slope((half + half.T).tocsr(), point.x[:, None], np.ones(1))


def _ridge_weights(point: SplitPoint, low_ridge: float) -> FloatArray:
    """The derivative of the bound in each ridge, larger where a ridge is low."""
    omega = point.x**2 / np.maximum(point.z, 1e-12)
    usual = omega.sum() / max(np.count_nonzero(omega), 1)
    lacking = low_ridge * float(np.median(point.ridge)) / point.ridge - 1.0
    return np.asarray(omega + usual * np.maximum(lacking, 0.0))


def _row_weights(
    point: SplitPoint, rows: IntArray, count: int, settings: SupergradientSettings
) -> FloatArray:
    """The weight of each entry: 1 for the largest, less for those near the threshold.

    The weights of a row sum to ``count`` at most.
    """
    if count <= 0:
        return np.zeros((len(rows), len(point.x)))
    entries = point.offdiagonal_loss[rows]
    least = settings.negligible**2 * entries.max(initial=0.0) + 1e-300
    # From 0 at (1 - softness) times the threshold to 1 at (1 + softness) times it.
    weights = entries / np.maximum(point.threshold[rows], least)[:, None]
    weights -= 1.0 - settings.softness
    weights /= 2.0 * settings.softness
    np.clip(weights, 0.0, 1.0, out=weights)
    weights *= (count / np.maximum(weights.sum(axis=1), 1e-12))[:, None]
    return np.asarray(np.minimum(weights, 1.0, out=weights))
