"""Feasible points: rounding, greedy growth, exchanges, iterated local search.

Exchanges of single variables, as in the coordinate-wise methods of Beck & Hallak
(2016), lead to supports that no such exchange improves.  Nothing that is proved depends
on them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.separable import separable_minimum
from cardqp.heuristics.block_exchange import exchange_blocks
from cardqp.heuristics.exchange_bounds import costs_alone, exchange_bounds, slope_at
from cardqp.heuristics.settings import DEFAULT, HeuristicSettings
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem, SupportRule
from cardqp.subproblems.support_qp import SupportFit, fit_support

IMPROVEMENT = 1e-12
"""Relative decrease below which a swap is rounding, not progress: a tolerance of the
arithmetic, no setting."""


def round_switches(
    problem: SparseQP, subproblem: Subproblem, switches: FloatArray
) -> IntArray:
    """The support that relaxed switches round to, within a node.

    It has as many variables as are allowed, those with the largest switches; with a
    penalty, only those that are switched on by more than a half.
    """
    least = 0.5 if problem.rule.penalty > 0 else 0.0
    free = subproblem.undecided & (switches > least)
    if subproblem.blocks is not None:
        free &= subproblem.blocks.leads
    # A rule selects the least costs, so the largest switches are negated.
    best = SupportRule(subproblem.remaining).select(np.where(free, -switches, 0.0))
    if subproblem.groups is not None:
        room = subproblem.groups.room(subproblem.fixed_in)
        best = subproblem.groups.greedy(
            np.where(free, switches, 0.0), room, subproblem.remaining
        )
    support = subproblem.fixed_in.copy()
    support[best] = True
    if subproblem.blocks is not None:
        support = subproblem.blocks.closed(support)
    return np.flatnonzero(support)


@dataclass(frozen=True, slots=True)
class SupportView:
    """The best point on a support, and what determines the gain of any exchange.

    For problems without rows and bounds.  With ``G = Q + diag(ridge)`` and ``H`` the
    inverse of its block on the support:

    Attributes
    ----------
    x : (s,) array
        The best point.
    weight : (s,) array
        The diagonal of ``H``.
    B : (s, n) array
        ``H G[support]``.
    slope : (n,) array
        The gradient ``c + 2 G x``.
    schur : (n,) array
        The Schur complement of each variable off the support.
    """

    x: FloatArray
    weight: FloatArray
    B: FloatArray
    slope: FloatArray
    schur: FloatArray

    @classmethod
    def of(cls, problem: SparseQP, support: IntArray) -> "SupportView":
        """Compute these in O(s^2 n)."""
        c = problem.c
        across = problem.quadratic.columns(support).T.copy()
        across[np.arange(len(support)), support] += problem.ridge[support]
        H = np.linalg.inv(across[:, support])
        x = -0.5 * (H @ c[support])
        B = H @ across
        diagonal = problem.quadratic.diagonal + problem.ridge
        schur = diagonal - np.einsum("ij,ij->j", across, B)
        slope = c + 2.0 * (x @ across)
        # A Schur complement is at least the ridge, whatever rounding makes of it.
        return cls(x, np.diag(H).copy(), B, slope, np.maximum(schur, problem.ridge))


def swap_changes(problem: SparseQP, support: IntArray) -> FloatArray:
    """The exact change of the objective for every swap, in O(s^2 n).

    For problems without rows and bounds.  Entry ``[i, j]`` belongs to ``support[i]``
    leaving and variable ``j`` entering; it is infinite for ``j`` in the support.
    Removing ``i`` costs ``x_i^2 / H_ii``; adding ``j`` afterwards gains the square of
    its derivative then over four times its Schur complement
    (docs/theory.md#exchanges).
    """
    return changes_seen(problem, support, SupportView.of(problem, support))


def changes_seen(problem: SparseQP, support: IntArray, view: SupportView) -> FloatArray:
    """The change for every swap, with the variable that enters within its bounds.

    Exact without bounds, as ``swap_changes``; with them, the others are not held.
    """
    weight = view.weight[:, None]
    # Where numbers are lost at the end of their range, nothing is known to improve.
    with np.errstate(all="ignore"):
        slope = view.slope - 2.0 * (view.x[:, None] / weight) * view.B
        room = view.schur + view.B**2 / weight
        _, cost = separable_minimum(slope, room, problem.lower, problem.upper)
        change = (view.x**2)[:, None] / weight + cost
    change[np.isnan(change)] = np.inf
    change[:, support] = np.inf
    change[:, problem.forced_out] = np.inf
    if len(problem.forced_in):
        change[np.isin(support, problem.forced_in)] = np.inf
    return np.asarray(change)


def grow_greedily(
    problem: SparseQP,
    support: IntArray,
    is_over: Callable[[], bool] = lambda: False,
    settings: HeuristicSettings = DEFAULT,
) -> IntArray:
    """A support grown by forward selection: one variable at a time, that gains most.

    It ends at the limit of the support, or where a penalty exceeds the gain.  With rows
    or bounds nothing is grown: an empty support becomes that of the largest gains of
    variables on their own.  Once time is up, what the support lacks is added at once.
    """
    support = np.union1d(support, problem.forced_in)
    if not problem.is_unconstrained:
        return support if len(support) else first_support(problem)
    is_last = False
    while len(support) < problem.rule.limit and not is_last:
        is_last = is_over()
        try:
            view = SupportView.of(problem, support)
        except np.linalg.LinAlgError:
            break  # the ridge is lost in the rounding of Q
        gain = view.slope**2 / (4.0 * view.schur)
        gain[support] = -np.inf
        gain[problem.forced_out] = -np.inf
        if not gain.max() > problem.rule.penalty:
            break
        room = problem.rule.limit - len(support)
        is_long = len(support) >= settings.max_greedy_steps
        count = room if is_last or is_long else 1
        best = np.argsort(-gain, kind="stable")[:count]
        support = np.append(support, best[gain[best] > problem.rule.penalty])
    return np.sort(support)


def improve(
    problem: SparseQP,
    fit: SupportFit,
    is_over: Callable[[], bool] = lambda: False,
    settings: HeuristicSettings = DEFAULT,
) -> SupportFit:
    """The local optimum of a local search: the best exchange, as long as one improves.

    Once time is up, it is the last fit.
    """
    for _ in range(settings.max_swaps):
        if is_over():
            break
        if problem.is_unconstrained:
            following = _best_swap(problem, fit)
        else:
            following = best_exchange(problem, fit, settings.n_entering, is_over)
        if not following.objective < fit.objective - IMPROVEMENT * abs(fit.objective):
            break
        fit = following
    return fit


def iterated_local_search(
    problem: SparseQP,
    fit: SupportFit,
    seed: int,
    is_over: Callable[[], bool],
    settings: HeuristicSettings = DEFAULT,
) -> SupportFit:
    """The best fit of an iterated local search (Lourenço, Martin & Stützle 2003).

    Each round exchanges a few variables of the best support at random, improves the
    result to a local optimum, and keeps it if it is better.
    """
    rng, rule = np.random.default_rng(seed), problem.rule
    for _ in range(settings.n_perturbations):
        if fit.x is None or is_over():
            break
        support = problem.support_of(fit.x)
        fixed_in = np.setdiff1d(support, problem.forced_in)
        others = np.setdiff1d(np.arange(problem.n), support)
        others = np.setdiff1d(others, problem.forced_out)
        count = min(settings.perturbation_size, len(fixed_in), len(others))
        if count == 0:
            break
        leaving = rng.choice(fixed_in, count, replace=False)
        entering = rng.choice(others, count, replace=False)
        # Entering variables are random as well: greedy ones would lead back.
        changed = np.union1d(np.setdiff1d(support, leaving), entering)
        if rule.excess(changed) == 0:
            found = fit_support(problem, changed)
            found = improve(problem, found, is_over, settings)
            fit = found if found.objective < fit.objective else fit
    return fit


def _best_swap(problem: SparseQP, fit: SupportFit) -> SupportFit:
    """The fit after the best of all swaps, whose changes are known exactly."""
    if fit.x is None:
        return fit
    if np.count_nonzero(fit.x) + len(problem.forced_out) >= problem.n:
        return fit  # nothing is left to come in
    support = problem.support_of(fit.x)
    if len(support) == 0:
        return fit
    try:
        change = swap_changes(problem, support)
    except np.linalg.LinAlgError:
        return fit  # the ridge is lost in the rounding of Q
    if not change.min() < 0:
        return fit
    leaves, enters = np.unravel_index(int(change.argmin()), change.shape)
    support[leaves] = enters
    return fit_support(problem, np.sort(support))


def best_exchange(
    problem: SparseQP,
    fit: SupportFit,
    n_entering: int = DEFAULT.n_entering,
    is_over: Callable[[], bool] = lambda: False,
) -> SupportFit:
    """The best fit with one variable, or block, less, one more, or one exchanged.

    Only ``n_entering`` variables may enter: those that gain most while all others stay
    as they are.  Most exchanges need not be fitted: what they gain at most is known.
    Once time is up, it is the best of those that were fitted.
    """
    if fit.x is None:
        return fit
    if problem.blocks is not None:
        return exchange_blocks(problem, fit, n_entering, is_over)
    support = problem.support_of(fit.x)
    _, cost = costs_alone(problem, slope_at(problem, fit.x, fit.beta))
    cost[support], cost[problem.forced_out] = np.inf, np.inf
    entering = np.argsort(cost, kind="stable")[:n_entering]
    entering = entering[np.isfinite(cost[entering])]
    near = exchange_bounds(problem, fit.x, fit.beta, support, entering)
    margin, best = IMPROVEMENT * abs(fit.objective), fit
    # By increasing bounds: the first one that cannot beat the best ends the loop.
    for place in np.argsort(near, axis=None, kind="stable"):
        leaves, enters = np.unravel_index(place, near.shape)
        is_worse = not fit.objective + near[leaves, enters] < best.objective - margin
        if is_worse or is_over():
            break
        changed = np.delete(support, leaves) if leaves < len(support) else support
        changed = np.union1d(changed, entering[enters : enters + 1])
        if problem.rule.excess(changed) > 0:
            continue
        found = fit_support(problem, changed)
        best = found if found.objective < best.objective else best
    return best


def first_support(problem: SparseQP) -> IntArray:
    """The variables that gain most on their own."""
    curvature = problem.quadratic.diagonal + problem.ridge
    cost = problem.rule.prices(problem.n) - problem.c**2 / (4.0 * curvature)
    return problem.rule.select(cost)
