r"""Theorem 1 in residual form, for data that are kept as columns.

With ``Q = X'X/N``, ``c = -2X'y/N`` and any vector ``r`` and number ``t >= 0``,

.. math::
    |y - Xx|^2 / N \ge (2 t\, y^\top r - t^2 |r|^2) / N - (2 t / N)\, r^\top X x ,

so that the columns enter through ``X'r`` alone.  The residual of a relaxed point is a
good ``r``; a ``t`` below one pays for columns that the relaxation did not know of.
"""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import (
    NORM_FACTOR,
    RESIDUAL_BASE_UNIT,
    RESIDUAL_COST_FACTOR,
    RESIDUAL_SLOPE_UNIT,
    SMALLEST_NORMAL,
    residual_unit,
)
from cardqp.bounds.tangent_bound import SeparableBound, cost_down
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import Columns

_ALL = slice(None)

LEAST_SCALE = 1e-150
"""A smaller scale loses its digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    """A dual point: any vector with one entry for each row of the data.

    Attributes
    ----------
    vector : (N,) array
        The vector ``r``.
    along : float
        ``y'r / N``, rounded down.
    square : float
        ``|r|^2 / N``, rounded up.
    reach : float
        The error of a product with a column of unit length, at most.
    """

    vector: FloatArray
    along: float
    square: float
    reach: float

    @classmethod
    def of(cls, form: Columns, vector: FloatArray) -> "Residual":
        """The dual point for the data of a form."""
        N, y = form.n_samples, form.target
        unit = residual_unit(N)
        size = float(np.abs(y) @ np.abs(vector)) * (1.0 + 2.0 * unit)
        square = float(vector @ vector) * (1.0 + 2.0 * unit) + N * SMALLEST_NORMAL
        along = float(y @ vector) - unit * size - N * SMALLEST_NORMAL
        reach = NORM_FACTOR * unit * float(np.sqrt(square))
        return cls(vector, along / N, square / N, reach)

    @property
    def finite(self) -> FloatArray:
        """The vector to be swept; zeros if its square is too large for a number."""
        return self.vector if np.isfinite(self.square) else np.zeros_like(self.vector)

    def base(self, scale: float) -> float:
        """The part of the bound that no variable has a say in, rounded down.

        The constant of the problem is ``|y|^2 / N``, which the residual stands for.
        """
        if scale < LEAST_SCALE:
            return 0.0 if scale == 0 else -np.inf
        gain, paid = 2.0 * scale * self.along, scale * (scale * self.square)
        rounding = RESIDUAL_BASE_UNIT * (abs(gain) + paid)
        # The last is what products that are rounded to nothing take off all costs.
        return gain - paid - rounding - SMALLEST_NORMAL

    def costs(
        self,
        problem: SparseQP,
        form: Columns,
        products: FloatArray,
        scale: float,
        where: slice = _ALL,
    ) -> FloatArray:
        """What variables add when they are switched on, rounded down.

        Parameters
        ----------
        problem, form
            The problem and its data.
        products : array
            ``X'r`` as it was computed, for these columns.
        scale : float
            The number ``t``.
        where : slice
            Which columns.
        """
        # What is too large for numbers proves nothing, and need not be mentioned.
        with np.errstate(over="ignore", invalid="ignore"):
            costs = self._costs(problem, form, products, scale, where)
        return np.where(np.isnan(costs), -np.inf, costs)

    def _costs(
        self,
        problem: SparseQP,
        form: Columns,
        products: FloatArray,
        scale: float,
        where: slice,
    ) -> FloatArray:
        """The same, or no number where one is too large."""
        step = 2.0 * scale / form.n_samples
        ridge = problem.ridge[where]
        lost = form.n_samples * SMALLEST_NORMAL
        error = self.reach * (np.sqrt(form.squares[where]) + np.sqrt(lost)) + lost
        if problem.is_unconstrained:
            steepest = step * (np.abs(products) + error)
            # In this order nothing is lost where numbers are tiny.
            costs = steepest * (steepest / (-4.0 * ridge)) * RESIDUAL_COST_FACTOR
        else:
            bounds = problem.lower[where], problem.upper[where]
            wide = error + RESIDUAL_SLOPE_UNIT * (np.abs(products) + error)
            costs = np.minimum(
                cost_down(ridge, -step * (products - wide), *bounds),
                cost_down(ridge, -step * (products + wide), *bounds),
            )
        return np.asarray(costs + problem.rule.penalty)

    def bound(
        self, problem: SparseQP, form: Columns, products: FloatArray, scale: float
    ) -> SeparableBound:
        """Theorem 1 for all variables at once."""
        costs = self.costs(problem, form, products, scale)
        return SeparableBound(self.base(scale), costs)

    def best_scale(self, total: float) -> float:
        """The best ``t`` where the least sum of costs is ``total`` at ``t = 1``.

        For problems whose costs grow with the square of ``t``.
        """
        if not 0 < self.along < np.inf or not total > -np.inf:
            return 0.0
        scale = self.along / (self.square - total)
        return scale if LEAST_SCALE <= scale < np.inf else 0.0
