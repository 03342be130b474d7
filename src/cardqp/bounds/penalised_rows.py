r"""Problems with rows and bounds, bounded from below by free quadratic functions.

With multipliers ``beta`` of the rows and penalties ``M_i >= 0`` of the equations,

.. math::
    J(x) \ge J(x) + \beta^\top (A x - b) + \sum_i M_i (a_i^\top x - b_i)^2

at every feasible point, with equality where ``beta`` is complementary.  The right-hand
side is a quadratic function without constraints, whose minimum on a support has a
closed form (docs/theory.md#row-completions).
"""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import combination_unit, penalised_unit, raised
from cardqp.problem import SparseQP

PENALTY = 1e3
"""The penalty of an equation, in units of the curvature: it should hold the equation
where multipliers are not quite right, and costs digits as it grows."""


@dataclass(frozen=True, slots=True, eq=False)
class PenalisedRows:
    """The part of the penalised objective that does not depend on multipliers.

    Attributes
    ----------
    problem : SparseQP
        The problem.
    G : (n, n) array
        ``Q`` with the ridge and the penalties of the equations.
    penalties : (m,) array
        The penalty of each row; 0 for inequalities.
    roots : (n,) array
        Roots of the diagonal of ``G``, rounded up.
    reach : float
        The most that ``sum_j roots_j |x_j|`` is at a feasible point; may be infinite.
    unit : float
        The relative rounding error of elimination.
    """

    problem: SparseQP
    G: FloatArray
    penalties: FloatArray
    roots: FloatArray
    reach: float
    unit: float

    @classmethod
    def of(cls, problem: SparseQP) -> "PenalisedRows":
        """Add the penalties of the equations to the quadratic form."""
        form, rows = problem.quadratic, problem.rows
        curvature = np.abs(form.diagonal) + form.psd_violation + problem.ridge
        penalties = _penalties(problem, curvature)
        G = form.dense() + (rows.matrix.T * penalties) @ rows.matrix
        G.flat[:: problem.n + 1] += problem.ridge
        squares = curvature + penalties @ rows.matrix**2
        roots = np.sqrt(squares) * raised(len(rows) + 8)
        unit = penalised_unit(problem.rule.width, form.formed, len(rows))
        return cls(problem, G, penalties, roots, weighted_reach(problem, roots), unit)

    def at(self, beta: FloatArray) -> "PenalisedObjective":
        """The function at multipliers; negative ones of inequalities count as 0."""
        problem, rows = self.problem, self.problem.rows
        beta = rows.project(beta)
        pull = 2.0 * self.penalties * rows.rhs
        c = problem.c + (beta - pull) @ rows.matrix
        size = np.abs(problem.c) + (np.abs(beta) + np.abs(pull)) @ np.abs(rows.matrix)
        paid, penalty = beta * rows.rhs, self.penalties * rows.rhs**2
        constant = float(problem.constant - paid.sum() + penalty.sum())
        offset = abs(problem.constant) + np.abs(paid).sum() + penalty.sum()
        slope_size = float((size / self.roots).max(initial=0.0)) * self.reach
        noise = combination_unit(2 * len(rows)) * (slope_size + float(offset))
        return PenalisedObjective(
            c, constant, noise + self.unit * (self.reach**2 + abs(constant)), self.unit
        )


@dataclass(frozen=True, slots=True, eq=False)
class PenalisedObjective:
    """The function ``constant + c'x + x'Gx`` below the objective, and its margins.

    Attributes
    ----------
    c : (n,) array
        The linear cost.
    constant : float
        The constant.
    noise : float
        What rounding of the data and of elimination may cost at a feasible point.
    unit : float
        What it may cost beyond that, relative to the gain.
    """

    c: FloatArray
    constant: float
    noise: float
    unit: float

    def bound(self, gain: float) -> float:
        """A lower bound on feasible points where at most so much is gained."""
        value = self.constant - gain - (self.noise + self.unit * gain)
        return -np.inf if np.isnan(value) else value

    def least_gain(self, cutoff: float) -> float:
        """The gain up to which points are above a cutoff, with twice the margins."""
        room = self.constant - cutoff - 2.0 * self.noise
        return room / (1.0 + 2.0 * self.unit)


def _penalties(problem: SparseQP, curvature: FloatArray) -> FloatArray:
    """The penalty of each equation, the same in all units of variables and rows."""
    rows = problem.rows
    size = (rows.matrix**2 / curvature).max(axis=1, initial=0.0)
    is_used = rows.is_equality & (size > 0)
    return np.where(is_used, PENALTY / np.where(is_used, size, 1.0), 0.0)


def weighted_reach(problem: SparseQP, weights: FloatArray) -> float:
    """The most that ``sum_j weights_j |x_j|`` is at a feasible point, rounded up.

    By the bounds of as many variables as may be nonzero, or by a row whose coefficients
    have the signs of the variables, such as a budget without short sales.
    """
    width, rows = problem.rule.width, problem.rows
    largest = weights * np.maximum(np.abs(problem.lower), np.abs(problem.upper))
    reach = float(np.sort(largest)[::-1][:width].sum())
    sides = np.where(rows.is_equality, -1.0, 1.0)
    for side in (np.ones(len(rows)), sides):
        coefficients = side[:, None] * rows.matrix * problem.signs
        for row, rhs in zip(coefficients, side * rows.rhs, strict=True):
            if (row > 0).all():
                reach = min(reach, max(float((weights / row).max()) * rhs, 0.0))
    return reach * raised(problem.n + 4)
