"""Good points of every size, without proofs: growth, exchanges, and the way back.

Where there are no rows, bounds, groups or blocks, a variable that enters or leaves
costs as much as one look at all exchanges (:mod:`cardqp.heuristics.exchange_kernel`),
so that all sizes of a regression with some hundred features take milliseconds.
Otherwise each size begins with the point of the one before it and is improved by local
search.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.heuristics import exchange_kernel as kernel
from cardqp.heuristics.local_search import improve
from cardqp.heuristics.settings import DEFAULT, HeuristicSettings
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import fit_support

IMPROVEMENT = 1e-10
"""Gain of an exchange, relative to that of the support, below which it is rounding."""


def point_path(
    problem: SparseQP,
    largest: int,
    is_over: Callable[[], bool] = lambda: False,
    *,
    smallest: int = 1,
    settings: HeuristicSettings = DEFAULT,
) -> dict[int, FloatArray]:
    """Good points by size, those from the smallest to the largest size at their best.

    The sparsity of the problem is of no account.  Sizes that time is up before are
    left out, and those with more variables than do without each other.

    Examples
    --------
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> point_path(problem, 2)
    {1: array([1., 0., 0.]), 2: array([1. , 0.5, 0. ])}
    """
    if problem.is_unconstrained:
        return _swept(problem, smallest, largest, is_over, settings)
    return _improved(problem, largest, is_over, settings)


def _swept(
    problem: SparseQP,
    smallest: int,
    largest: int,
    is_over: Callable[[], bool],
    settings: HeuristicSettings,
) -> dict[int, FloatArray]:
    """Grow a support to the largest size and shrink it again, with exchanges."""
    swept = SweptSupport.of(problem, largest)
    best: dict[int, tuple[float, IntArray]] = {}
    is_growing = True
    while not is_over():
        swept.exchange(settings.max_swaps)
        size = swept.count
        if size not in best or swept.gain > best[size][0]:
            best[size] = swept.gain, swept.support
        is_growing = is_growing and size < largest and swept.grow()
        if not (is_growing or (size > smallest and swept.shrink())):
            break
    supports = {size: support for size, (_, support) in best.items() if size > 0}
    fits = {size: fit_support(problem, supports[size]).x for size in sorted(supports)}
    return {size: x for size, x in fits.items() if x is not None}


def _improved(
    problem: SparseQP,
    largest: int,
    is_over: Callable[[], bool],
    settings: HeuristicSettings,
) -> dict[int, FloatArray]:
    """Improve the best point of each size by exchanges, with a variable more."""
    found: dict[int, FloatArray] = {}
    fit = fit_support(problem, problem.forced_in)
    for size in range(max(problem.rule.count(problem.forced_in), 1), largest + 1):
        limited = problem.with_limits(sparsity=size)
        fit = improve(limited, fit, is_over, settings)
        if fit.x is None or is_over():
            break
        found[size] = fit.x
    return found


@dataclass(slots=True)
class SweptSupport:
    """A support of a problem without constraints, and what exchanges gain.

    Attributes
    ----------
    problem : SparseQP
        The problem.
    state : kernel.State
        What determines the gain of any exchange.
    count : int
        Number of variables in the support; those that are forced in come first.
    gain : float
        By how much the support lowers the objective.
    n_forced : int
        How many of them stay.
    """

    problem: SparseQP
    state: kernel.State
    count: int = 0
    gain: float = 0.0
    n_forced: int = 0

    @classmethod
    def of(cls, problem: SparseQP, most: int) -> "SweptSupport":
        """The variables that are forced in, with room for so many in all."""
        diagonal = problem.quadratic.diagonal + problem.ridge
        is_free = diagonal > 0.0
        is_free[problem.forced_out] = False
        swept = cls(
            problem,
            kernel.State(
                np.zeros(most, dtype=np.intp),
                np.zeros(most),
                np.zeros((most, most)),
                np.zeros((most, problem.n)),
                -0.5 * problem.c,
                diagonal,
                kernel.VISIBLE * diagonal,
                is_free,
            ),
        )
        for j in problem.forced_in.tolist():
            if is_free[j] and swept.state.schur[j] > swept.state.least[j]:
                swept.enter(j)
        swept.n_forced = swept.count
        return swept

    @property
    def support(self) -> IntArray:
        """The variables in increasing order, with all that are forced in."""
        return np.union1d(self.state.inside[: self.count], self.problem.forced_in)

    def enter(self, j: int) -> None:
        """Let a variable in."""
        row = self.problem.quadratic.columns(np.array([j]))[:, 0].copy()
        row[j] += self.problem.ridge[j]
        self.gain += self.state.slope[j] ** 2 / self.state.schur[j]
        kernel.enter(self.state, self.count, j, row)
        self.count += 1

    def leave(self, i: int) -> None:
        """Take the variable in a row out."""
        self.gain -= self.state.x[i] ** 2 / self.state.H[i, i]
        kernel.leave(self.state, self.count, i)
        self.count -= 1

    def grow(self) -> bool:
        """Let the variable in that gains most; False if there is none."""
        best = kernel.best_entry(self.state)
        if best >= 0:
            self.enter(best)
        return best >= 0

    def shrink(self) -> bool:
        """Take out the variable that costs least; False if all of them stay."""
        least = kernel.cheapest_exit(self.state, self.n_forced, self.count)
        if least >= 0:
            self.leave(least)
        return least >= 0

    def exchange(self, most: int) -> None:
        """Exchange single variables as long as that helps."""
        for _ in range(most):
            i, j, gain = kernel.best_exchange(self.state, self.n_forced, self.count)
            if i < 0 or not gain > IMPROVEMENT * self.gain:
                break
            self.leave(i)
            self.enter(j)
