r"""Theorem 1: every minorant of the quadratic form gives a bound on the optimum.

If :math:`x^\top Q x \ge g^\top x - o - \sum_j \delta_j x_j^2`, and
:math:`\beta \ge 0` on the inequality rows, then

.. math::
    J^\star \ge \text{constant} - o - b^\top \beta
    + \min_S \sum_{j \in S} \bigl( h_j(\gamma_j) + \theta \bigr),
    \qquad \gamma = c + g + A^\top \beta ,

with the ridge lowered by :math:`\delta`.  No convergence is needed, nor that the
minorant comes from anywhere in particular.  What is computed here is a true lower
bound in spite of rounding: each term is lowered by the most its error can be.  The
proofs are in ``docs/theory.md#theorem-1`` and ``docs/theory.md#theorem-2``.
"""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import Float, FloatArray
from cardqp.arithmetic.rounding import (
    BOUND_UNIT,
    FIXING_SHARE,
    FIXING_UNIT,
    SEPARABLE_UNIT,
    combination_unit,
)
from cardqp.bounds.separable import separable_minimum
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Minorant
from cardqp.problem.sparsity import Subproblem


@dataclass(frozen=True, slots=True)
class SeparableBound:
    """``base`` plus the cheapest sum of ``costs`` bounds the optimum from below.

    Attributes
    ----------
    base : float
        The part of the bound that does not depend on the support.
    costs : (n,) array
        The amount each variable adds when it is switched on, penalty included;
        rounded down.
    """

    base: float
    costs: FloatArray

    def value(self, subproblem: Subproblem) -> float:
        """The lower bound over all points of a branch; ``-inf`` if not a number."""
        total = subproblem.total(self.costs)
        if np.isnan(self.base) or not np.isfinite(total):
            return total if total == np.inf else -np.inf
        bound = self.base + total
        return bound - BOUND_UNIT * (abs(self.base) + abs(total))

    def fixing_bounds(self, subproblem: Subproblem) -> tuple[FloatArray, FloatArray]:
        """Theorem 2: lower bounds once an undecided variable is switched on, or off.

        A variable whose bound ``on`` exceeds a known feasible value is zero in every
        solution of the branch that is better; one whose bound ``off`` does is nonzero.
        """
        value = self.value(subproblem)
        if not np.isfinite(value):
            # Where nothing else is known, there is still no room in a full group.
            on = np.where(subproblem.barred, np.inf, value)
            return on, np.full_like(self.costs, value)
        on, off = subproblem.penalties(self.costs)
        start = value - FIXING_UNIT * abs(value)
        return start + FIXING_SHARE * on, start + FIXING_SHARE * off


def separable_bound(
    problem: SparseQP, minorant: Minorant, beta: FloatArray
) -> SeparableBound:
    """Theorem 1 at a minorant of the quadratic form and any multipliers of the rows.

    Negative ones on inequalities count as zero.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        base, costs = evaluate(problem, minorant, beta)
        return SeparableBound(float(base), costs)


def evaluate(
    problem: SparseQP,
    minorant: Minorant,
    beta: FloatArray,
    ridge: FloatArray | None = None,
) -> tuple[Float, FloatArray]:
    """Base and costs of Theorem 1, for one dual point or one in each row.

    The ``ridge`` is the problem's, unless another one holds in each row's branch.
    """
    ridge = (problem.ridge if ridge is None else ridge) - minorant.loss
    rows = problem.rows
    beta = rows.project(beta)
    slope = problem.c + minorant.slope + beta @ rows.matrix
    size = (
        np.abs(problem.c) + np.abs(minorant.slope) + np.abs(beta) @ np.abs(rows.matrix)
    )
    unit = combination_unit(len(rows))
    error = minorant.slope_error + unit * size
    row_offset = beta @ rows.rhs
    scale = np.abs(beta) @ np.abs(rows.rhs) + abs(problem.constant)
    scale = scale + np.abs(minorant.offset) + np.abs(row_offset)
    base = problem.constant - minorant.offset - row_offset
    is_convex = ridge > 0
    safe_ridge = np.where(is_convex, ridge, 1.0)
    costs = np.minimum(
        cost_down(safe_ridge, slope - error, problem.lower, problem.upper),
        cost_down(safe_ridge, slope + error, problem.lower, problem.upper),
    )
    # A ridge that does not cover the loss leaves nothing to say about a variable.
    costs = np.where(is_convex & ~np.isnan(costs), costs, -np.inf)
    return base - unit * scale, costs + problem.rule.prices(problem.n)


def tangent_bound(
    problem: SparseQP, tangent_point: FloatArray, beta: FloatArray
) -> SeparableBound:
    """Theorem 1 at the tangent of the quadratic form in any point."""
    with np.errstate(over="ignore", invalid="ignore"):
        minorant = problem.quadratic.tangent(tangent_point)
    return separable_bound(problem, minorant, beta)


def cost_down(
    ridge: FloatArray, slope: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """The minimum ``h`` of each variable's part at a slope, rounded down.

    It is concave in the slope, so that over an interval it is least at one of the ends.
    """
    x, cost = separable_minimum(slope, ridge, lower, upper)
    return cost - SEPARABLE_UNIT * np.abs(x) * (np.abs(slope) + ridge * np.abs(x))
