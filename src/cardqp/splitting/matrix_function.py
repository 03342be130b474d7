r"""Splits of ``Q`` by a matrix function, for problems too large for an ascent.

In units in which the diagonal of ``Q`` is 1, with a level :math:`\tau > 0` and
:math:`a \ge 1`,

.. math::
    H = (I + Q / (a \tau))^{-1}, \qquad
    R = \tau \bigl( I + (a - 2) H - (a - 1) H^2 \bigr), \qquad P = Q - R .

``R`` is about ``Q`` where that is small and about :math:`\tau` where it is large, and
``P`` is positive semidefinite (docs/theory.md#matrix-function).  That takes a Cholesky
factorisation, an inverse and a product, no eigenvectors; the condition of the matrix to
be inverted is small, so that single precision will do: whatever comes out is rounded,
and ``sparse_minorant`` judges it as it is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.sparse_minorant import MAX_WEIGHT, ridge_left
from cardqp.problem import SparseQP
from cardqp.splitting.settings import DEFAULT, FunctionSettings

BLOCK = 512
"""Rows of a large matrix that are worked on at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionSplit:
    """A split by a matrix function, with weights of the variables.

    Attributes
    ----------
    P : (n, n) array
        The part of ``Q`` that stays quadratic; its entries are single-precision
        numbers.
    weights : (n,) array
        The weights of the variables in the minorant.
    ridge : (n,) array
        What is left of the ridge, if ``P`` is positive semidefinite.
    """

    P: FloatArray
    weights: FloatArray
    ridge: FloatArray

    @classmethod
    def at(
        cls,
        problem: SparseQP,
        level: float,
        support: IntArray,
        settings: FunctionSettings = DEFAULT.function,
    ) -> "FunctionSplit | None":
        """Split at a level; None if some ridge would not stay positive.

        The level is in units of the diagonal.  The ridges of the variables in the
        ``support``, that of a good point, count most.
        """
        Q, diagonal = problem.quadratic.dense(), problem.quadratic.diagonal
        unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        P = upper_part(Q, unit, level, settings.order)
        if P is None:
            return None
        weights = unit * np.sqrt(problem.ridge)
        weights /= np.median(weights)
        weights[support] *= settings.support_weight
        ridge = ridge_left(problem, P, weights)
        for _ in range(settings.max_raises):
            is_low = ridge * unit**2 < settings.low_ridge * np.median(ridge * unit**2)
            if not is_low.any():
                break
            weights[is_low] *= settings.increase
            ridge = ridge_left(problem, P, weights)
        # Single precision may leave P with slightly negative eigenvalues.
        shift = settings.shift_share * np.median(ridge * unit**2) / unit**2
        P[np.diag_indices(len(P))] += shift.astype(np.float32)
        ridge = ridge - 2.0 * shift
        in_range = (weights < MAX_WEIGHT) & (weights > 1.0 / MAX_WEIGHT)
        return cls(P, weights, ridge) if (in_range & (ridge > 0)).all() else None


def is_above(Q: FloatArray, diagonal: FloatArray, level: float) -> bool:
    """Whether all eigenvalues exceed a level, in units of the diagonal.

    Where they do, an eigenvalue shift is as good.  Otherwise the factorisation breaks
    down, before its end as a rule.
    """
    scaled = _scaled(Q, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))
    scaled[np.diag_indices(len(Q))] -= np.float32(level)
    _, failed = scipy.linalg.lapack.spotrf(scaled, lower=1, clean=0, overwrite_a=1)
    return not failed


def _scaled(Q: FloatArray, unit: FloatArray) -> Any:
    """A matrix in other units, in single precision and stored by columns."""
    scaled = np.empty(Q.shape, dtype=np.float32)
    for first in range(0, len(Q), BLOCK):
        rows = slice(first, first + BLOCK)
        scaled[rows] = Q[rows] * (unit[rows, None] * unit)
    # Symmetric, so that its columns are its rows.
    return scaled.T


def upper_part(
    Q: FloatArray, unit: FloatArray, level: float, order: float
) -> FloatArray | None:
    """``P = Q - R`` in the units of ``Q``; None if ``Q`` cannot be factored.

    Its entries are single-precision numbers, held in double precision.
    """
    scaled = _scaled(Q, unit)
    H = scaled * np.float32(1.0 / (order * level))
    diagonal = np.arange(len(Q))
    H[diagonal, diagonal] += np.float32(1.0)
    factor, failed = scipy.linalg.lapack.spotrf(H, lower=1, clean=0, overwrite_a=1)
    if failed:
        return None
    H, _ = scipy.linalg.lapack.spotri(factor, lower=1, overwrite_c=1)
    mirror(H)
    # scaled - R = scaled + (a - 1) t H^2 - (a - 2) t H - t I, in place.
    scaled -= np.float32((order - 2.0) * level) * H
    scaled = scipy.linalg.blas.ssyrk(
        (order - 1.0) * level, H, 1.0, scaled, lower=1, overwrite_c=1
    )
    scaled[diagonal, diagonal] -= np.float32(level)
    mirror(scaled)
    scaled *= (1.0 / unit).astype(np.float32)[:, None]
    scaled *= (1.0 / unit).astype(np.float32)
    mirror(scaled)
    return np.asarray(scaled.T, dtype=np.float64, order="C")


def mirror(M: Any) -> None:
    """Copy the lower triangle of a matrix to its upper one, block by block."""
    n = len(M)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        M[first:last, last:] = M[last:, first:last].T
        block = M[first:last, first:last]
        block[:] = np.tril(block) + np.tril(block, -1).T
