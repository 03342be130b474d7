"""The min-max game behind screening: a support against a plane below the form.

See docs/theory.md#hierarchy.
"""

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from cardqp._typing import FloatArray
from cardqp.bounds.tangent_bound import SeparableBound, tangent_bound
from cardqp.problem import SparseQP
from cardqp.spectral.level import LevelPoint


@dataclass(frozen=True, slots=True)
class TangentPoint:
    """A plane that touches ``x'Qx`` at ``tangent_point``, and multipliers of the rows.

    With ``Q = F'F`` it stands for ``alpha = 2 F tangent_point``: in a regression, for a
    vector with one entry per observation, which is never formed.
    """

    tangent_point: FloatArray
    beta: FloatArray


Dual = TypeVar("Dual", LevelPoint, TangentPoint)
"""A plane below the form, and multipliers of the rows."""


class Game(Protocol[Dual]):
    """The interface of best replies: a level of the hierarchy, or the whole ``Q``."""

    @property
    def problem(self) -> SparseQP:
        """The problem that all bounds refer to."""

    @property
    def truncated(self) -> SparseQP:
        """The problem with the quadratic form of the game."""

    @property
    def k(self) -> int:
        """The number of eigenvectors of that form."""

    def zero(self) -> Dual:
        """Return the dual point at the origin."""

    def touching(self, x: FloatArray, beta: FloatArray) -> Dual:
        """Return the dual point whose plane touches the form at ``x``."""

    def plane(self, dual: Dual) -> tuple[FloatArray, float]:
        """Return slope and offset of the plane of a dual point, up to rounding."""

    def bound(self, dual: Dual) -> SeparableBound:
        """Return the proved bound of a dual point, rounding errors subtracted.

        This is Theorem 1 (docs/theory.md#theorem-1).
        """


@dataclass(frozen=True, slots=True)
class WholeForm:
    """The game for the whole ``Q``, which needs products with ``Q`` only."""

    problem: SparseQP

    @property
    def truncated(self) -> SparseQP:
        return self.problem

    @property
    def k(self) -> int:
        return self.problem.n

    def zero(self) -> TangentPoint:
        return TangentPoint(np.zeros(self.problem.n), np.zeros(len(self.problem.rows)))

    def touching(self, x: FloatArray, beta: FloatArray) -> TangentPoint:
        return TangentPoint(x, beta)

    def plane(self, dual: TangentPoint) -> tuple[FloatArray, float]:
        product = self.problem.quadratic.apply(dual.tangent_point)
        return 2.0 * product, float(dual.tangent_point @ product)

    def bound(self, dual: TangentPoint) -> SeparableBound:
        return tangent_bound(self.problem, dual.tangent_point, dual.beta)
