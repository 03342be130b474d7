"""Diagonals moved from ``Q`` to the ridge, which makes the relaxation tighter.

Moving ``d`` changes no objective as long as ``Q - diag(d)`` stays positive semidefinite
and the ridge positive, and no bound gets worse where ``d`` is positive
(docs/theory.md#moved-diagonal).  The idea is that of quadratic convex reformulation
(QCR; Billionnet, Elloumi & Plateau 2009) and of the diagonal splits for perspective
relaxations (Frangioni & Gentile 2006; Zheng, Sun & Li 2014).
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import eigenvalue_margin
from cardqp.bounds.separable import separable_minimum
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Factor
from cardqp.problem.rows import Rows
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.diagonal_program import DiagonalProgram
from cardqp.splitting.optimal_diagonal import optimal_diagonal
from cardqp.splitting.settings import DEFAULT, DiagonalSettings


def eigenvalue_shift(
    problem: SparseQP, kept: IntArray, settings: DiagonalSettings = DEFAULT.diagonal
) -> FloatArray | None:
    """A diagonal that can be taken out of a block of ``Q``, leaving it convex.

    It is the least eigenvalue of the block scaled to unit diagonal, times the diagonal,
    less a margin for rounding: worse than the optimal diagonal, and far cheaper.  Zeros
    if there is nothing to gain but a factor is better replaced by the matrix of the
    block; None if nothing is to be done.
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
    least_gain = settings.worthwhile_share * problem.ridge[kept]
    # Products with the matrix of a block that is no larger than the factor are cheaper.
    nothing = np.zeros(len(kept)) if isinstance(form, Factor) else None
    is_large = len(kept) > settings.max_decomposed
    least = float((least_gain * unit**2).min())
    # A factorisation takes a tenth of the time of a decomposition.
    if is_large and not check.is_definite(scaled, -least):
        return nothing
    least = float(scipy.linalg.eigvalsh(scaled, check_finite=False)[0])
    shift = max(least - eigenvalue_margin(len(kept)), 0.0) * curvature
    return shift if (shift >= least_gain).any() else nothing


def optimal_diagonal_shift(
    problem: SparseQP,
    subproblem: Subproblem,
    size: float,
    is_over: Callable[[], bool] = lambda: False,
    settings: DiagonalSettings = DEFAULT.diagonal,
) -> FloatArray | None:
    """The diagonal, of either sign, with about the best bound of Theorem 1 on a node.

    It is optimal up to the last barrier (docs/theory.md#optimal-diagonal), but for
    bounds other than zero, whose multipliers are kept as they are before.  Variables
    that are switched off have been taken out of the problem.  None for problems with a
    penalty or blocks, where a Newton step would take too long, and if time is up.
    """
    is_large = problem.n > settings.max_variables or problem.blocks is not None
    if problem.rule.penalty != 0 or is_large or subproblem.remaining < 1:
        return None
    # Half of the ridge moved to Q: an interior point even where Q is singular.
    start = -0.5 * problem.ridge
    moved = problem.move_to_ridge(start)
    relaxation = Relaxation.prepare(moved)
    effort = Effort(settings.start_accuracy * size, is_over=is_over)
    relaxed = relaxation.solve(subproblem, *relaxation.start(), effort)
    rows, beta = problem.rows, problem.rows.project(relaxed.beta)
    is_row = rows.matrix.any(axis=1)
    data = DiagonalProgram(
        problem.quadratic.dense(),
        problem.c + _bound_multipliers(moved, relaxed.tangent_point, beta),
        problem.ridge,
        Rows(rows.matrix[is_row], rows.rhs[is_row], rows.is_equality[is_row]),
        problem.signs,
        subproblem.remaining,
        subproblem.undecided.astype(np.float64),
    )
    barrier = settings.barrier if problem.is_unconstrained else settings.row_barrier
    point = relaxed.tangent_point, beta[is_row]
    best = optimal_diagonal(data, start, *point, size, is_over, barrier)
    return None if is_over() else best


def _bound_multipliers(
    problem: SparseQP, tangent_point: FloatArray, beta: FloatArray
) -> FloatArray:
    """What bounds other than signs add to the linear cost, at a solved relaxation.

    With these multipliers variables stay where their bounds hold them.
    """
    quadratic = 2.0 * problem.quadratic.apply(tangent_point)
    slope = problem.c + beta @ problem.rows.matrix + quadratic
    bounds = problem.lower, problem.upper
    place, cost = separable_minimum(slope, problem.ridge, *bounds)
    is_held = (cost < 0) & (place != 0) & ((place == bounds[0]) | (place == bounds[1]))
    return np.where(is_held, -2.0 * problem.ridge * place - slope, 0.0)
