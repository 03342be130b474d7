"""A diving heuristic for a first feasible point, where rounding finds none."""

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
    """Search for a feasible point by fixing one switch at a time.

    Rows are elastic: their total violation is minimised with fractional switches, a
    linear program.  While it is zero, the support that the switches round to is tried,
    and the variable with the largest fractional switch is switched on; among equals the
    one with the largest relaxed switch in ``wanted``.  If that leaves a violation, it
    is switched off instead.
    """
    nothing, last = SupportFit.nothing(problem), -1
    for _ in range(settings.max_linear_programs):
        if subproblem.is_empty or is_over():
            return nothing
        least = least_violation(problem, subproblem)
        if least.total > LP_TOLERANCE:
            if last < 0:
                return nothing
            # One step of backtracking: deeper ones would make it a search of its own.
            subproblem, last = _flipped(subproblem, last), -1
            continue
        support = round_switches(problem, subproblem, least.switches)
        fit = fit_support(problem, support, needs_proof=True)
        free = np.flatnonzero(subproblem.undecided & (least.switches > LP_TOLERANCE))
        if fit.x is not None or len(free) == 0:
            return fit
        # Linear programs have many optima; the relaxation breaks ties.
        score = least.switches[free] + 0.01 * wanted[free]
        last = int(free[np.argmax(score)])
        subproblem = subproblem.decide(np.array([last]), np.zeros(0, dtype=np.intp))
    return nothing


def _flipped(subproblem: Subproblem, variable: int) -> Subproblem:
    """The node with a variable switched off instead of on."""
    own = subproblem.together(variable)
    return replace(
        subproblem,
        fixed_in=subproblem.fixed_in & ~own,
        fixed_out=subproblem.fixed_out | own,
    )
