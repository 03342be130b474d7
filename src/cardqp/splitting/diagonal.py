"""Splits of Q into a part that stays quadratic and a diagonal for the ridge."""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from cardqp._typing import UNIT_ROUNDOFF, FloatArray, IntArray
from cardqp.bounds.separable import separable_minimum
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation, Relaxed
from cardqp.splitting.optimal_diagonal import Data, optimal_diagonal
from cardqp.splitting.settings import DEFAULT, DiagonalSettings


def eigenvalue_shift(
    problem: SparseQP, kept: IntArray, settings: DiagonalSettings = DEFAULT.diagonal
) -> FloatArray | None:
    """A diagonal that can be taken out of ``Q`` on some variables, leaving it convex.

    It is the least eigenvalue of the block scaled to unit diagonal, in the original
    scale, less a margin for rounding.  None when it would not pay.
    """
    form = problem.quadratic
    if isinstance(form, Factor) and len(kept) > len(form.array):
        return None  # the block is singular
    block = form.block(kept)
    curvature = block.diagonal()
    if not (curvature > 0).all():
        return np.zeros(len(kept))
    unit = 1.0 / np.sqrt(curvature)
    scaled = unit[:, None] * block * unit
    least = float(scipy.linalg.eigvalsh(scaled, check_finite=False)[0])
    margin = 4 * len(kept) ** 2 * UNIT_ROUNDOFF
    spare = max(least - margin, 0.0) * curvature
    least_gain = settings.worthwhile_share * problem.ridge[kept]
    is_worth = bool((spare >= least_gain).any())
    return spare if is_worth else (np.zeros(len(kept)) if _is_wide(problem) else None)


def _is_wide(problem: SparseQP) -> bool:
    """Whether the form is a factor, which a small block is better without."""
    return isinstance(problem.quadratic, Factor)


def optimal_diagonal_shift(
    problem: SparseQP,
    subproblem: Subproblem,
    size: float,
    is_over: Callable[[], bool] = lambda: False,
    settings: DiagonalSettings = DEFAULT.diagonal,
) -> FloatArray | None:
    """The diagonal, of either sign, that gives about the best bound on a branch.

    The multipliers of rows and bounds are kept while a diagonal is optimised, and
    updated after that; without rows and bounds it is optimal.  None for problems with a
    penalty or blocks, where a Newton step would take too long, and if time is up.

    Parameters
    ----------
    problem : SparseQP
        The problem, with the variables that are switched off taken out.
    choice : Subproblem
        The branch.
    size : float
        The size of the objective.
    is_over : callable
        Whether time is up: there is no diagonal then.
    settings : DiagonalSettings
        Limits and accuracies.
    """
    is_large = problem.n > settings.max_variables or problem.blocks is not None
    if problem.rule.penalty != 0 or is_large or subproblem.remaining < 1:
        return None
    start = -0.5 * problem.ridge
    Q, free = problem.quadratic.dense(), subproblem.undecided.astype(np.float64)
    for _ in range(1 if problem.is_unconstrained else settings.multiplier_rounds):
        view = problem.move_to_ridge(start)
        relaxation = Relaxation.prepare(view)
        effort = Effort(settings.start_accuracy * size, is_over=is_over)
        relaxed = relaxation.solve(subproblem, *relaxation.start(), effort)
        slope = _slope_of_the_free(view, relaxed)
        data = Data(Q, slope, problem.ridge, subproblem.remaining, free)
        best = optimal_diagonal(
            data, start, relaxed.tangent_point, size, is_over, settings.barrier
        )
        if is_over():
            return None
        start = 0.5 * (start + best)
    return best


def _slope_of_the_free(problem: SparseQP, relaxed: Relaxed) -> FloatArray:
    """The linear cost at which a problem without rows and bounds is relaxed alike.

    Multipliers of the rows are added to it, and those of the bounds: so that variables
    are drawn to where their bounds hold them.
    """
    if problem.is_unconstrained:
        return problem.c
    quadratic = 2.0 * problem.quadratic.apply(relaxed.tangent_point)
    slope = problem.c + problem.rows.project(relaxed.beta) @ problem.rows.matrix
    place, cost = separable_minimum(
        slope + quadratic, problem.ridge, problem.lower, problem.upper
    )
    wanted = np.where(cost < 0, -2.0 * problem.ridge * place, 0.0)
    return np.asarray(wanted - quadratic)
