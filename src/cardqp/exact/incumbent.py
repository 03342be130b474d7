"""Feasible points: rounding of relaxed switches, and all exact swaps."""

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.convex.support_qp import SupportFit, fit_support
from cardqp.problem import SparseQP
from cardqp.sparsity import Choice

MAX_SWAPS = 1000
IMPROVEMENT = 1e-12
"""Relative decrease below which a swap is rounding, not progress."""


def round_switches(problem: SparseQP, choice: Choice, switches: FloatArray) -> IntArray:
    """The support that the relaxed switches point to, within a branch."""
    least = 0.5 if problem.rule.penalty > 0 else 0.0
    free = np.flatnonzero(choice.free & (switches > least))
    best = free[np.argsort(-switches[free], kind="stable")][: choice.slots]
    return np.sort(np.concatenate([np.flatnonzero(choice.inside), best]))


def swap_changes(problem: SparseQP, support: IntArray) -> FloatArray:
    """The exact change of the objective for every swap, in O(s^2 n).

    For problems without rows and bounds.  Entry ``[i, j]`` belongs to ``support[i]``
    leaving and variable ``j`` entering; it is infinite for ``j`` in the support.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    support : (s,) int array
        The support before the swap.

    Notes
    -----
    With ``G = Q + diag(ridge)``, ``H`` the inverse of its block on the support,
    ``B = H G[support]`` and the residual slope ``g = c + 2 G x``, removing ``i`` costs
    ``x_i^2 / H_ii``; adding ``j`` afterwards gains the square of the slope that ``j``
    then sees over four times its Schur complement.
    """
    across = problem.quadratic.columns(support).T.copy()
    across[np.arange(len(support)), support] += problem.ridge[support]
    H = np.linalg.inv(across[:, support])
    x = -0.5 * (H @ problem.c[support])
    B = H @ across
    slope = problem.c + 2.0 * (x @ across)
    diagonal = problem.quadratic.diagonal + problem.ridge
    schur = diagonal - np.einsum("ij,ij->j", across, B)
    weight = np.diag(H)[:, None]
    seen = slope - 2.0 * (x[:, None] / weight) * B
    room = np.maximum(schur + B**2 / weight, problem.ridge)
    change = (x**2)[:, None] / weight - seen**2 / (4.0 * room)
    change[:, support] = np.inf
    return np.asarray(change)


def improve_by_swaps(problem: SparseQP, fit: SupportFit) -> SupportFit:
    """Swap until no exchange of two variables improves a free problem's fit."""
    for _ in range(MAX_SWAPS if problem.is_free else 0):
        support = np.flatnonzero(np.zeros(0) if fit.x is None else fit.x)
        if len(support) in (0, problem.n):
            break
        try:
            change = swap_changes(problem, support)
        except np.linalg.LinAlgError:
            break  # the ridge is lost in the rounding of Q
        leaves, enters = np.unravel_index(int(change.argmin()), change.shape)
        support[leaves] = enters
        following = fit_support(problem, np.sort(support))
        if not following.objective < fit.objective - IMPROVEMENT * abs(fit.objective):
            break
        fit = following
    return fit


def first_support(problem: SparseQP) -> IntArray:
    """The variables that gain most on their own."""
    curvature = problem.quadratic.diagonal + problem.ridge
    gain = problem.rule.penalty - problem.c**2 / (4.0 * curvature)
    return problem.rule.select(gain)
