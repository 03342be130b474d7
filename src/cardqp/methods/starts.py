"""Where direct methods start, and how they see single switches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Watch
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.bounds.separable import separable_minimum
from cardqp.heuristics.elastic import elastic_dive
from cardqp.heuristics.local_search import first_support
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import SupportFit, fit_support


@dataclass(frozen=True, slots=True)
class Start:
    """A problem, the fit that a direct method starts from, and when to stop.

    The last is for steps that take long; between steps, the loop looks by itself.
    """

    problem: SparseQP
    fit: SupportFit
    is_over: Callable[[], bool] = lambda: False

    @classmethod
    def of(cls, problem: SparseQP, start: FloatArray | None, watch: Watch) -> "Start":
        """Start from a guess, or from what gains most alone; else anywhere feasible."""
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
    """What each switch, of a variable or of a block, has to offer at a point.

    Attributes
    ----------
    labels : (n,) int array
        The switch of each variable.
    is_on, is_fixed : (m,) bool arrays
        Which switches are on; which are forced in or out.
    size : (m,) array
        The norm of the point behind each switch.
    pull : (m,) array
        The norm of the gradient behind each switch, as far as bounds let it.
    drop : (m,) array
        What switching it off costs if all else stays.
    gain : (m,) array
        What switching it on gains at most if all else stays.
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
        """The view from a point with multipliers of the rows."""
        blocks = problem.rule.blocks
        labels = np.arange(problem.n) if blocks is None else blocks.labels
        curvature = problem.quadratic.diagonal + problem.ridge
        slope = problem.c + 2.0 * (problem.quadratic.apply(x) + problem.ridge * x)
        slope += beta @ problem.rows.matrix
        way, cost = separable_minimum(slope, curvature, problem.lower, problem.upper)
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
        """The variables behind some switches."""
        chosen = np.zeros(len(self.is_on), dtype=bool)
        chosen[switches] = True
        return np.flatnonzero(chosen[self.labels])


def _summed(labels: IntArray, values: FloatArray) -> FloatArray:
    """The sum of values behind each switch."""
    return np.asarray(np.bincount(labels, values), dtype=np.float64)
