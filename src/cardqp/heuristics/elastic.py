"""A first feasible point, where rounding finds none."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cardqp._typing import FloatArray
from cardqp.heuristics.local_search import round_switches
from cardqp.heuristics.settings import DEFAULT, HeuristicSettings
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems.support_qp import SupportFit, fit_support
from cardqp.subproblems.violation import LP_TOLERANCE, least_violation


def elastic_dive(
    problem: SparseQP,
    subproblem: Subproblem,
    wanted: FloatArray,
    is_over: Callable[[], bool] = lambda: False,
    settings: HeuristicSettings = DEFAULT,
) -> SupportFit:
    """Look for a feasible point by making rows elastic and fixing one switch a time.

    The total violation of the rows is minimised with fractional switches.  While it is
    zero, the support that the switches point to is tried, and the variable that is
    switched on most, but not fully, is switched on for good; among equals the one that
    the relaxation ``wanted`` most.  If that leaves a violation it is switched off
    instead.  Nothing is found once time is up.
    """
    nothing, last = SupportFit.nothing(problem), -1
    for _ in range(settings.max_linear_programs):
        if subproblem.is_empty or is_over():
            return nothing
        least = least_violation(problem, subproblem)
        if least.total > LP_TOLERANCE:
            if last < 0:
                return nothing
            subproblem, last = _flipped(subproblem, last), -1
            continue
        support = round_switches(problem, subproblem, least.switches)
        fit = fit_support(problem, support, needs_proof=True)
        free = np.flatnonzero(subproblem.undecided & (least.switches > LP_TOLERANCE))
        if fit.x is not None or len(free) == 0:
            return fit
        score = least.switches[free] + 0.01 * wanted[free]
        last = int(free[np.argmax(score)])
        subproblem = subproblem.decide(np.array([last]), np.zeros(0, dtype=np.intp))
    return nothing


def _flipped(subproblem: Subproblem, variable: int) -> Subproblem:
    """The branch with a variable switched off instead of on."""
    own = subproblem.together(variable)
    return replace(
        subproblem,
        fixed_in=subproblem.fixed_in & ~own,
        fixed_out=subproblem.fixed_out | own,
    )
