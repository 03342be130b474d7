"""A feasible point that is known beforehand: it sets units, and bounds variables."""

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import BackendError
from cardqp.heuristics.local_search import grow_greedily, round_switches
from cardqp.problem import SparseQP
from cardqp.relaxation.conic import relax_by_cones
from cardqp.subproblems.support_qp import SupportFit, fit_support

CANCELLED = 1e-4
"""An objective smaller than this share of its terms says nothing about units."""


def fit_start(problem: SparseQP, start: FloatArray | None) -> SupportFit:
    """The best point on the support of a guess, as much of it as is allowed."""
    if start is None:
        return SupportFit.nothing(problem)
    return fit_support(problem, problem.rule.select(-np.abs(start)))


def find_point(problem: SparseQP, start: SupportFit) -> SupportFit:
    """A feasible point: the start, a greedy one, or the relaxation's, rounded."""
    fit = start
    if fit.x is None:
        nothing = np.zeros(0, dtype=np.intp)
        fit = fit_support(problem, grow_greedily(problem, nothing))
    if fit.x is None:
        fit = _round(problem)
    return fit


def _round(problem: SparseQP) -> SupportFit:
    choice = problem.root
    try:
        relaxed = relax_by_cones(problem, choice)
    except BackendError:
        relaxed = None
    if relaxed is None:
        return SupportFit.nothing(problem)
    fit = fit_support(problem, round_switches(problem, choice, relaxed.switches))
    if fit.x is None:
        # As many as are allowed, whatever the penalty.
        fit = fit_support(problem, problem.rule.select(-relaxed.switches))
    return fit


def size_of_objective(problem: SparseQP, fit: SupportFit) -> float:
    """The typical magnitude of objectives of good points; positive.

    Where the terms of the known point cancel it is a share of their size, and without
    a point a guess.
    """
    if fit.x is None:
        return abs(problem.constant) + problem.single_gain or 1.0
    terms = CANCELLED * problem.magnitude(fit.x)
    return max(abs(fit.objective), terms) or 1.0
