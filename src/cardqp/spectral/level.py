"""A level of the hierarchy: the problem with Q cut down to k eigenvectors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import orthonormality_error
from cardqp.bounds.tangent_bound import SeparableBound, separable_bound
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor, plane


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """Multipliers ``alpha`` of the level's factor and ``beta`` of the rows."""

    alpha: FloatArray
    beta: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """Margins for rounding with which levels lie below ``Q``.

    Attributes
    ----------
    share : float
        The share of the eigenvalues that levels keep, at most 1.
    psd_violations : (r,) array
        For each ``k``, a number ``v`` with ``Q + v I - Q_k`` positive semidefinite.
    """

    share: float
    psd_violations: FloatArray


def skewness(vectors: FloatArray) -> FloatArray:
    """Distance of the first ``1, 2, ...`` columns from being orthonormal.

    This is ``|V'V - I|``, rounded up; what is measured is that of all columns.
    """
    length, count = vectors.shape
    measured = np.linalg.norm(vectors.T @ vectors - np.eye(count))
    return measured + orthonormality_error(length, np.arange(1, count + 1))


@dataclass(frozen=True, eq=False)
class Level:
    """The problem with ``Q`` replaced by ``Q_k``, which lies below it.

    Attributes
    ----------
    problem : SparseQP
        The original problem; all bounds refer to it.
    factor : (k, n) array
        ``F`` with ``F'F = Q_k``.
    psd_violation : (n,) array
        ``Q + diag(psd_violation) - F'F`` is positive semidefinite, although
        eigenvectors are computed inexactly.  Bounds take it off the ridge.
    """

    problem: SparseQP
    factor: FloatArray
    psd_violation: FloatArray

    @property
    def k(self) -> int:
        """The number of eigenvectors kept."""
        return len(self.factor)

    @cached_property
    def form(self) -> Factor:
        """The truncated quadratic form."""
        return Factor(self.factor)

    @cached_property
    def truncated(self) -> SparseQP:
        """The truncated problem as a problem of its own, with optimum ``J_k``."""
        return self.problem.with_quadratic(self.form)

    def bound(self, dual: LevelPoint) -> SeparableBound:
        """A proved bound on the original problem (``docs/theory.md#theorem-1``)."""
        minorant = plane(
            self.factor, dual.alpha, self.form.diagonal, self.psd_violation
        )
        return separable_bound(self.problem, minorant, dual.beta)

    def zero(self) -> LevelPoint:
        """The dual point at the origin."""
        return LevelPoint(np.zeros(self.k), np.zeros(len(self.problem.rows)))

    def touching(self, x: FloatArray, beta: FloatArray) -> LevelPoint:
        """The dual point whose plane touches the truncated form at ``x``."""
        support = np.flatnonzero(x)
        return LevelPoint(2.0 * (self.factor[:, support] @ x[support]), beta)

    def plane(self, dual: LevelPoint) -> tuple[FloatArray, float]:
        """Slope and offset of a dual point's plane below the form, up to rounding."""
        return self.factor.T @ dual.alpha, 0.25 * float(dual.alpha @ dual.alpha)
