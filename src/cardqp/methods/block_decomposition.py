"""Block decomposition: solve for a few variables exactly, again and again."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch, iterate
from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.methods.block_problem import load_block_kernels, solve_block
from cardqp.methods.context import SolveContext
from cardqp.methods.descent import Descent, DescentState, run_direct
from cardqp.methods.stages import descend
from cardqp.methods.starts import Start, SwitchScores
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.feasibility import SOLVED_TOLERANCE
from cardqp.subproblems.support_qp import SupportFit, fit_support

MOST_AT_ONCE = 26
"""The largest working set: 10 million supports of half its size."""


@did_you_mean
@dataclass(frozen=True, slots=True)
class BlockDecomposition:
    """Choose a working set, solve for it exactly while all else stays, repeat.

    The working set holds random variables and greedy ones: those that are cheapest to
    remove and those that gain most.  Within it every support is tried.  The end is a
    support that such blocks hardly improve, which is more than a support that no
    single exchange improves, but it need not be optimal.

    Parameters
    ----------
    n_random, n_greedy : int
        How many variables of either kind are in the working set.
    seed : int
        Seed of the random working sets.
    proximal : float
        Weight of the distance from the last point, relative to the curvature of each
        variable; it makes the iterates converge.
    patience, tolerance : int and float
        The end is when the objective has changed, on average over the last ``patience``
        iterations, by less than this share of itself.
    max_iter : int
        The largest number of iterations.

    Notes
    -----
    Stated for problems without rows and bounds, where all supports within the working
    set are tried in compiled code.  With them, each working set is a small problem that
    branch and bound solves, and the point is refitted on its support after that;
    variables that share a switch enter together.

    References
    ----------
    Yuan, Shen and Zheng, "A block decomposition algorithm for sparse optimization",
    KDD 2020, 275-285.
    """

    uses_level: ClassVar[bool] = False
    ends_in_search: ClassVar[bool] = False

    n_random: check.Count = 12
    n_greedy: check.Count = 6
    seed: int = 0
    proximal: check.NotNegative = 1e-5
    patience: check.Count = 200
    tolerance: check.NotNegative = 1e-5
    max_iter: check.Count = 100_000

    def __post_init__(self) -> None:
        check.ranges(self)
        check.count("seed", self.seed, least=0)
        if self.n_random + self.n_greedy > MOST_AT_ONCE:
            raise ParameterError(
                None,
                Phrase(
                    "{} + {} must be at most {}",
                    Setting("n_random"),
                    Setting("n_greedy"),
                    MOST_AT_ONCE,
                ),
                given="all supports within them are tried",
            )

    def run_stages(self, context: SolveContext) -> bool:
        """Improve the user's start; return True, since no variable is proved zero."""
        return descend(context, self.run)

    def run(
        self, problem: SparseQP, watch: Watch, start: FloatArray | None = None
    ) -> Descent:
        """Improve the support of a start.

        Without one, start from the variables with the largest gain on their own.
        """
        with watch.paused():
            load_block_kernels(problem)
        state, stop = iterate(self, Start.of(problem, start, watch), watch)
        return Descent.ended(replace(state, fit=_polished(problem, state.fit)), stop)

    def init(self, start: Start) -> DescentState:
        """Return the state at the start."""
        return DescentState(start.fit).recorded(start.problem)

    def step(self, start: Start, state: DescentState) -> DescentState:
        """Solve the problem of one working set."""
        problem, fit = start.problem, state.fit
        if fit.x is None:
            return state
        scores = SwitchScores.at(problem, fit.x, fit.beta)
        chosen = self.working_set(scores, len(state.objectives))
        part = scores.variables(chosen)
        x = solve_block(problem, fit.x, part, self.proximal, start.is_over)
        fit = SupportFit(x, fit.beta, problem.value(x))
        if not problem.is_unconstrained:
            fit = _polished(problem, fit)
        is_all = len(chosen) == np.count_nonzero(~scores.is_fixed | scores.is_on)
        stop = Stop.COMPLETED if is_all and not start.is_over() else None
        return replace(state, fit=fit, stop=stop).recorded(problem)

    def working_set(self, scores: SwitchScores, iteration: int) -> IntArray:
        """Return the switches of a working set: random ones, and greedy ones.

        Half of the greedy ones are on, those with the least cost of removal; the other
        half are off, those with the largest gain.  Where one kind is short, the other
        makes up for it.
        """
        # Seeded by iteration: the state stays immutable, and a run can be repeated.
        rng = np.random.default_rng([self.seed, iteration])
        allowed = np.flatnonzero(scores.is_on | ~scores.is_fixed)
        chosen = rng.choice(allowed, min(self.n_random, len(allowed)), replace=False)
        rest = np.setdiff1d(allowed, chosen)
        on, off = rest[scores.is_on[rest]], rest[~scores.is_on[rest]]
        on = on[np.argsort(scores.removal_cost[on], kind="stable")]
        off = off[np.argsort(-scores.gain[off], kind="stable")]
        count = min(len(on), max((self.n_greedy + 1) // 2, self.n_greedy - len(off)))
        greedy = np.concatenate([on[:count], off[: self.n_greedy - count]])
        return np.sort(np.concatenate([chosen, greedy]))

    def done(self, state: DescentState) -> Stop | None:
        """Stop on convergence, without a start, or at the iteration limit."""
        recent = np.array(state.objectives[-self.patience - 1 :])
        if state.stop is None and len(recent) > self.patience:
            change = np.abs(np.diff(recent)).mean()
            if change <= self.tolerance * abs(recent[-1]):
                return Stop.CONVERGED
        return state.ending(self.max_iter)

    def progress(self, state: DescentState, seconds: float) -> Progress:
        """Report the last objective."""
        return state.progress("blocks", seconds)


def _polished(problem: SparseQP, known: SupportFit) -> SupportFit:
    """Return the best point on the support of a point, or the point if it is better.

    A point that is better only because it violates the rows within their tolerance is
    replaced.
    """
    if known.x is None:
        return known
    fit = fit_support(problem, problem.support_of(known.x))
    is_solved = problem.feasibility(known.x).holds(SOLVED_TOLERANCE)
    is_better = fit.objective <= known.objective
    return fit if is_better or (fit.x is not None and not is_solved) else known


@did_you_mean
def block_decomposition(
    problem: SparseQP,
    *,
    n_random: int = 12,
    n_greedy: int = 6,
    seed: int = 0,
    start: ArrayLike | None = None,
    proximal: float = 1e-5,
    patience: int = 200,
    tolerance: float = 1e-5,
    max_iter: int = 100_000,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Descent:
    """Solve blocks of variables exactly (see :class:`BlockDecomposition`).

    Parameters
    ----------
    problem : SparseQP
        The problem.
    n_random, n_greedy, seed, proximal, patience, tolerance, max_iter
        See :class:`BlockDecomposition`.
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
    >>> block_decomposition(problem).support
    array([0])
    """
    method = BlockDecomposition(
        n_random, n_greedy, seed, proximal, patience, tolerance, max_iter
    )
    return run_direct(method.run, problem, start, time_limit, callback)
