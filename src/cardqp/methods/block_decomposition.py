"""Block decomposition: solve for a few variables exactly, again and again."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch, iterate
from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.methods.block_problem import load_block_kernels, solve_block
from cardqp.methods.context import SolveContext
from cardqp.methods.descent import Descent
from cardqp.methods.stages import descend
from cardqp.methods.starts import Start, SwitchScores
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.feasibility import SOLVED_TOLERANCE
from cardqp.subproblems.support_qp import SupportFit, fit_support

MOST_AT_ONCE = 26
"""The largest working set: 10 million supports of half its size."""


@dataclass(frozen=True, slots=True)
class BlockState:
    """The current point, and the histories that all states of a run share."""

    x: FloatArray | None
    beta: FloatArray
    stop: Stop | None = None
    objectives: list[float] = field(default_factory=list)
    supports: list[IntArray] = field(default_factory=list)

    def recorded(self, problem: SparseQP) -> "BlockState":
        """Append the point to the histories, and return the state."""
        if self.x is not None:
            self.objectives.append(problem.value(self.x))
            self.supports.append(problem.support_of(self.x))
        return self


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

    n_random: int = 12
    n_greedy: int = 6
    seed: int = 0
    proximal: float = 1e-5
    patience: int = 200
    tolerance: float = 1e-5
    max_iter: int = 100_000

    def __post_init__(self) -> None:
        for name in ("n_random", "n_greedy", "patience", "max_iter"):
            check.count(name, getattr(self, name))
        for name in ("proximal", "tolerance"):
            check.at_least(name, getattr(self, name), 0.0)
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
        fit = SupportFit.nothing(problem)
        if state.x is not None:
            fit = _polished(problem, state.x, state.beta)
        return Descent.ended(fit, state.objectives, state.supports, stop)

    def init(self, start: Start) -> BlockState:
        """Return the state at the start."""
        return BlockState(start.fit.x, start.fit.beta).recorded(start.problem)

    def step(self, start: Start, state: BlockState) -> BlockState:
        """Solve the problem of one working set."""
        problem, x, beta = start.problem, state.x, state.beta
        if x is None:
            return state
        scores = SwitchScores.at(problem, x, beta)
        chosen = self.working_set(scores, len(state.objectives))
        part = scores.variables(chosen)
        x = solve_block(problem, x, part, self.proximal, start.is_over)
        if not problem.is_unconstrained:
            fit = _polished(problem, x, beta)
            x, beta = fit.x, fit.beta
        is_all = len(chosen) == np.count_nonzero(~scores.is_fixed | scores.is_on)
        stop = Stop.COMPLETED if is_all and not start.is_over() else None
        return replace(state, x=x, beta=beta, stop=stop).recorded(problem)

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

    def done(self, state: BlockState) -> Stop | None:
        """Stop on convergence, without a start, or at the iteration limit."""
        if state.x is None:
            return Stop.STALLED
        if state.stop is not None:
            return state.stop
        recent = np.array(state.objectives[-self.patience - 1 :])
        if len(recent) > self.patience:
            change = np.abs(np.diff(recent)).mean()
            if change <= self.tolerance * abs(recent[-1]):
                return Stop.CONVERGED
        return Stop.MAX_ITER if len(state.objectives) > self.max_iter else None

    def progress(self, state: BlockState, seconds: float) -> Progress:
        """Report the last objective."""
        return Progress(
            "blocks", len(state.objectives) - 1, seconds, state.objectives[-1]
        )


def _polished(problem: SparseQP, x: FloatArray, beta: FloatArray) -> SupportFit:
    """Return the best point on the support of a point, or the point if it is better.

    A point that is better only because it violates the rows within their tolerance is
    replaced.
    """
    own, fit = problem.value(x), fit_support(problem, problem.support_of(x))
    is_solved = problem.feasibility(x).holds(SOLVED_TOLERANCE)
    if fit.objective <= own or (fit.x is not None and not is_solved):
        return fit
    return SupportFit(x, beta, own)


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
    check.instance("problem", problem, SparseQP)
    method = BlockDecomposition(
        n_random, n_greedy, seed, proximal, patience, tolerance, max_iter
    )
    guess = None if start is None else check.vector("start", start, problem.n)
    with Watch(time_limit, callback) as watch:
        return method.run(with_positive_ridge(problem), watch, guess)
