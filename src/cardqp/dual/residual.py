r"""Theorem 1 in residual form, for data that are kept as columns.

With ``Q = X'X/N``, ``c = -2X'y/N`` and any vector ``r`` and number ``t >= 0``,

.. math::
    |y - Xx|^2 / N \ge (2 t\, y^\top r - t^2 |r|^2) / N - (2 t / N)\, r^\top X x ,

so that the columns enter through ``X'r`` alone.  The residual of a relaxed point is a
good ``r``; a ``t`` below one pays for columns that the relaxation did not know of.
"""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import UNIT_ROUNDOFF, FloatArray
from cardqp.columns import Columns
from cardqp.dual.bound import SeparableBound, cost_down
from cardqp.problem import SparseQP

_ALL = slice(None)


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
        unit = (N + 4) * UNIT_ROUNDOFF
        unit /= 1.0 - unit
        size = float(np.abs(y) @ np.abs(vector)) * (1.0 + 2.0 * unit)
        square = float(vector @ vector) * (1.0 + 2.0 * unit)
        along = float(y @ vector) - unit * size
        return cls(vector, along / N, square / N, 1.01 * unit * float(np.sqrt(square)))

    def base(self, problem: SparseQP, power: float, scale: float) -> float:
        """The part of the bound that no variable has a say in, rounded down.

        Parameters
        ----------
        problem : SparseQP
            The problem.
        power : float
            ``|y|^2 / N``, which is part of the problem's constant.
        scale : float
            The number ``t``.
        """
        gain, paid = 2.0 * scale * self.along, scale * scale * self.square
        rounding = 8.0 * UNIT_ROUNDOFF * (abs(gain) + paid + abs(problem.constant))
        return problem.constant - power + gain - paid - rounding

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
        step = 2.0 * scale / form.n_samples
        ridge = problem.ridge[where]
        error = self.reach * np.sqrt(form.squares[where])
        if problem.is_free:
            steepest = step * (np.abs(products) + error)
            costs = steepest * steepest / (-4.0 * ridge) * (1.0 + 16 * UNIT_ROUNDOFF)
        else:
            bounds = problem.lower[where], problem.upper[where]
            ends = [-step * (products - error), -step * (products + error)]
            margin = 4.0 * UNIT_ROUNDOFF
            costs = np.minimum(
                cost_down(ridge, ends[0] * (1.0 + margin), *bounds),
                cost_down(ridge, ends[1] * (1.0 + margin), *bounds),
            )
        return costs + problem.rule.penalty

    def bound(
        self, problem: SparseQP, form: Columns, products: FloatArray, scale: float
    ) -> SeparableBound:
        """Theorem 1 for all variables at once."""
        power = float(form.target @ form.target) / form.n_samples
        base = self.base(problem, power, scale)
        return SeparableBound(base, self.costs(problem, form, products, scale))

    def best_scale(self, total: float) -> float:
        """The best ``t`` where the least sum of costs is ``total`` at ``t = 1``.

        For problems whose costs grow with the square of ``t``.
        """
        if self.along <= 0:
            return 0.0
        return self.along / (self.square - total)
