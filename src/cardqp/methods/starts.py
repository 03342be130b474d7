"""Starting points of direct methods, and scores of single switches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Watch
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.heuristics.elastic import elastic_dive
from cardqp.heuristics.exchange_bounds import costs_alone, slope_at
from cardqp.heuristics.local_search import first_support
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import SupportFit, fit_support


@dataclass(frozen=True, slots=True)
class Start:
    """A problem, and the fit that a direct method starts from.

    ``is_over`` tells whether to stop, for use within long steps; between steps the loop
    checks the time itself.
    """

    problem: SparseQP
    fit: SupportFit
    is_over: Callable[[], bool] = lambda: False

    @classmethod
    def of(cls, problem: SparseQP, start: FloatArray | None, watch: Watch) -> "Start":
        """Start from a guess, or from the variables that gain most on their own.

        If neither is feasible, an elastic dive looks for any feasible point.
        """
        if start is None:
            support = first_support(problem)
        else:
            support = problem.rule.select(-np.abs(start))
        fit = fit_support(problem, np.union1d(support, problem.forced_in))
        if fit.x is None and len(problem.rows):
            nothing = np.zeros(problem.n)
            fit = elastic_dive(problem, problem.root, nothing, lambda: watch.is_over)
        return cls(problem, fit, lambda: watch.is_over)


@dataclass(frozen=True, slots=True)
class SwitchScores:
    """Scores of each switch, of a variable or of a block, at a point.

    Attributes
    ----------
    labels : (n,) int array
        The switch of each variable.
    is_on, is_fixed : (m,) bool arrays
        Which switches are on; which are forced in or out.
    size : (m,) array
        The norm of the point's entries of each switch.
    gradient_norm : (m,) array
        The norm of the gradient's entries of each switch, without those that bounds
        block.
    removal_cost : (m,) array
        By how much the objective grows when the switch is turned off and all other
        variables keep their values.
    gain : (m,) array
        By how much it falls, at most, when the switch is turned on.
    """

    labels: IntArray
    is_on: BoolArray
    is_fixed: BoolArray
    size: FloatArray
    gradient_norm: FloatArray
    removal_cost: FloatArray
    gain: FloatArray

    @classmethod
    def at(cls, problem: SparseQP, x: FloatArray, beta: FloatArray) -> "SwitchScores":
        """Compute the scores at a point with multipliers of the rows."""
        blocks = problem.rule.blocks
        labels = np.arange(problem.n) if blocks is None else blocks.labels
        curvature = problem.quadratic.diagonal + problem.ridge
        slope = slope_at(problem, x, beta)
        way, cost = costs_alone(problem, slope)
        is_on, is_fixed = np.zeros((2, int(labels.max()) + 1), dtype=bool)
        is_on[labels[problem.support_of(x)]] = True
        is_fixed[labels[problem.forced_in]] = True
        is_fixed[labels[problem.forced_out]] = True
        return cls(
            labels,
            is_on,
            is_fixed,
            np.sqrt(_summed(labels, x * x)),
            np.sqrt(_summed(labels, np.where(way != 0, slope, 0.0) ** 2)),
            _summed(labels, curvature * x * x - slope * x),
            -_summed(labels, cost),
        )

    def variables(self, switches: IntArray) -> IntArray:
        """Return the variables of some switches."""
        chosen = np.zeros(len(self.is_on), dtype=bool)
        chosen[switches] = True
        return np.flatnonzero(chosen[self.labels])


def _summed(labels: IntArray, values: FloatArray) -> FloatArray:
    """Return the sum of the values of each switch."""
    return np.asarray(np.bincount(labels, values), dtype=np.float64)
