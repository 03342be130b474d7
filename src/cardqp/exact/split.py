"""Splits of Q into a part that stays quadratic and a diagonal for the ridge."""

import numpy as np
import scipy.linalg

from cardqp._typing import UNIT_ROUNDOFF, FloatArray, IntArray
from cardqp.exact.optimal_diagonal import Data, optimal_diagonal
from cardqp.exact.relaxation import Effort, Relaxation
from cardqp.problem import SparseQP
from cardqp.quadratic import Factor
from cardqp.sparsity import Choice

WORTH = 0.01
"""A diagonal is worth moving when it adds this share to some ridge."""

NEWTON_LIMIT = 600
"""The most variables for which an optimal diagonal is looked for."""

START_ACCURACY = 1e-4
"""How well the relaxation is solved where the search for a diagonal starts."""


def spare_diagonal(problem: SparseQP, kept: IntArray) -> FloatArray | None:
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
    is_worth = bool((spare >= WORTH * problem.ridge[kept]).any())
    return spare if is_worth else (np.zeros(len(kept)) if _is_wide(problem) else None)


def _is_wide(problem: SparseQP) -> bool:
    """Whether the form is a factor, which a small block is better without."""
    return isinstance(problem.quadratic, Factor)


def tightest_diagonal(
    problem: SparseQP, choice: Choice, size: float
) -> FloatArray | None:
    """The diagonal, of either sign, that gives the best bound on a branch.

    For problems without rows, bounds and penalty; None for others and where a Newton
    step would take too long.

    Parameters
    ----------
    problem : SparseQP
        The problem, with the variables that are switched off taken out.
    choice : Choice
        The branch.
    size : float
        The size of the objective.
    """
    simple = problem.is_free and problem.rule.penalty == 0
    if not simple or problem.n > NEWTON_LIMIT or choice.slots < 1:
        return None
    start = -0.5 * problem.ridge
    relaxation = Relaxation.prepare(problem.move_to_ridge(start))
    relaxed = relaxation.solve(
        choice, *relaxation.start(), Effort(START_ACCURACY * size)
    )
    data = Data(
        problem.quadratic.dense(),
        problem.c,
        problem.ridge,
        choice.slots,
        choice.free.astype(np.float64),
    )
    return optimal_diagonal(data, start, relaxed.anchor, size)
