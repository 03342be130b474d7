"""Coordinate-wise optimality: exchange one variable at a time until nothing gains."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch, iterate
from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.heuristics.local_search import IMPROVEMENT, best_exchange
from cardqp.methods.context import SolveContext
from cardqp.methods.descent import Descent, DescentState, run_direct
from cardqp.methods.stages import descend
from cardqp.methods.starts import Start, SwitchScores
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.subproblems.support_qp import SupportFit, fit_support


@did_you_mean
@dataclass(frozen=True, slots=True)
class BeckHallak:
    """Exchange variables one at a time, with a refit each, until nothing improves.

    First the cheap move is tried: the smallest entry leaves, the variable with the
    largest gradient enters.  When that fails, the best of *all* exchanges is made;
    the end is a support that no single exchange improves.  It need not be optimal.

    Parameters
    ----------
    full : bool
        Whether all exchanges are tried (the authors' algorithm 7).  Without, the
        method ends when the cheap move fails (algorithm 6).
    max_iter : int
        The largest number of iterations.

    Notes
    -----
    Stated for supports of a given size.  Here a variable may also enter where the
    support is smaller than allowed, or leave where that saves more than it costs; with
    rows and bounds every exchange is refitted subject to them, and variables that share
    a switch move together.  Without rows and bounds the values of all exchanges follow
    from one small inverse (docs/theory.md#exchanges).

    References
    ----------
    Beck and Hallak, "On the minimization over sparse symmetric sets: projections,
    optimality conditions, and algorithms", Mathematics of Operations Research 41 (2016)
    196-223.
    """

    uses_level: ClassVar[bool] = False
    ends_in_search: ClassVar[bool] = False

    full: bool = True
    max_iter: int = 1000

    def __post_init__(self) -> None:
        check.count("max_iter", self.max_iter)

    def run_stages(self, context: SolveContext) -> bool:
        """Improve the user's start; return True, since no variable is proved zero."""
        return descend(context, self.run)

    def run(
        self, problem: SparseQP, watch: Watch, start: FloatArray | None = None
    ) -> Descent:
        """Improve the support of a start.

        Without one, start from the variables with the largest gain on their own.
        """
        state, stop = iterate(self, Start.of(problem, start, watch), watch)
        return Descent.ended(state, stop)

    def init(self, start: Start) -> DescentState:
        """Return the state at the start."""
        return DescentState(start.fit).recorded(start.problem)

    def step(self, start: Start, state: DescentState) -> DescentState:
        """Make the cheap exchange or, if it does not improve, the best of all."""
        problem, fit = start.problem, state.fit
        best = fit.objective - IMPROVEMENT * abs(fit.objective)
        following = cheap_exchange(problem, fit)
        if self.full and not following.objective < best:
            following = best_exchange(problem, fit, problem.n, start.is_over)
        if not following.objective < best:
            # Without the time for all exchanges, local optimality is not shown.
            is_cut = self.full and start.is_over()
            return state if is_cut else replace(state, stop=Stop.LOCAL_OPTIMUM)
        return replace(state, fit=following).recorded(problem)

    def done(self, state: DescentState) -> Stop | None:
        """Stop at a local optimum, without a start, or at the iteration limit."""
        return state.ending(self.max_iter)

    def progress(self, state: DescentState, seconds: float) -> Progress:
        """Report the best objective so far."""
        return state.progress("exchanges", seconds)


def cheap_exchange(problem: SparseQP, fit: SupportFit) -> SupportFit:
    """Return the fit after one exchange: smallest entry out, largest gradient in.

    Nothing leaves while the support is smaller than allowed.  If no exchange is
    possible, the fit itself is returned.
    """
    if fit.x is None:
        return fit
    scores = SwitchScores.at(problem, fit.x, fit.beta)
    leaves = np.flatnonzero(scores.is_on & ~scores.is_fixed)
    enters = np.flatnonzero(
        ~scores.is_on & ~scores.is_fixed & (scores.gradient_norm > 0)
    )
    if len(enters) == 0:
        return fit
    is_on = scores.is_on.copy()
    is_on[enters[scores.gradient_norm[enters].argmax()]] = True
    if is_on.sum() > problem.rule.limit:
        if len(leaves) == 0:
            return fit
        is_on[leaves[scores.size[leaves].argmin()]] = False
    support = scores.variables(np.flatnonzero(is_on))
    return fit if problem.rule.excess(support) else fit_support(problem, support)


@did_you_mean
def beck_hallak(
    problem: SparseQP,
    *,
    full: bool = True,
    start: ArrayLike | None = None,
    max_iter: int = 1000,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Descent:
    """Find a support that no single exchange improves (see :class:`BeckHallak`).

    Parameters
    ----------
    problem : SparseQP
        The problem.
    full, max_iter
        See :class:`BeckHallak`.
    start : (n,) array, optional
        A point whose support is a good guess; by default the variables that gain most
        on their own.
    time_limit : float, optional
        Seconds; no limit by default.
    callback : callable, optional
        Called with a :class:`Progress` before each iteration; True stops.

    Examples
    --------
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> beck_hallak(problem).support
    array([0])
    """
    method = BeckHallak(full, max_iter)
    return run_direct(method.run, problem, start, time_limit, callback)
