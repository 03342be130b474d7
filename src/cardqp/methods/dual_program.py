"""Dual program: subgradient ascent on the dual function."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch, iterate
from cardqp._keywords import did_you_mean
from cardqp._typing import FloatArray
from cardqp.methods.context import SolveContext
from cardqp.methods.reply import (
    SupportReply,
    reply_to_dual,
    reply_to_support,
    row_steps,
)
from cardqp.methods.screening import Climb, Screening, build_screening
from cardqp.methods.stages import screen_at_level
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.spectral.choose_level import choose_level
from cardqp.spectral.level import Level, LevelPoint
from cardqp.spectral.spectrum import Spectrum
from cardqp.subproblems.support_qp import fit_support

TRY_EVERY = 20
"""Iterations between two attempts to end at a saddle point: each costs a quadratic
program, an iteration only a product with the factor."""


@dataclass(frozen=True, slots=True)
class StepSizes:
    """Steps of ``alpha`` and of each ``beta`` before they are divided by sqrt(t)."""

    alpha: float
    beta: FloatArray


@dataclass(frozen=True, slots=True)
class DualProgramState:
    """The current dual point with its reply, and what the run has met and tried."""

    steps: StepSizes
    dual: LevelPoint
    reply: SupportReply
    climb: Climb[LevelPoint]
    upper_bound: float = np.inf
    stop: Stop | None = None
    tried: set[bytes] = field(default_factory=set)


@did_you_mean
@dataclass(frozen=True, slots=True)
class DualProgram:
    """Climb the dual function along subgradients with steps ``a / sqrt(t)``.

    The best value converges to the dual optimum of the level, a bound on the original
    problem; single iterates may fall.  Candidates are the union of the last supports, a
    guess.  See docs/theory.md#dual-program.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations, ``T``.
    window : int
        Candidates are the union of the last ``window`` supports.
    step_size : float, optional
        The paper's constant ``a``.  By default the inverse of the dual function's
        curvature, which does not depend on the units of the data.
    early_stop : bool
        End when nothing more can be proved: the support is one side of a saddle
        point, the bound equals a feasible value, or the subgradient vanishes.

    References
    ----------
    Vreugdenhil, Nguyen, Eftekhari, Mohajerin Esfahani, "Principal Component Hierarchy
    for Sparse Quadratic Programs", ICML 2021, Proposition 3.5.
    """

    uses_level: ClassVar[bool] = True
    ends_in_search: ClassVar[bool] = True

    max_iter: check.Count = 500
    window: check.Count = 50
    step_size: float | None = None
    early_stop: bool = True

    def __post_init__(self) -> None:
        check.ranges(self)
        if self.step_size is not None:
            check.positive("step_size", self.step_size)

    def run_stages(self, context: SolveContext) -> bool:
        """Screen at a level and solve the reduced problem; return whether it is one."""
        return screen_at_level(context, self.screen)

    def screen(self, level: Level, watch: Watch) -> Screening:
        """Climb the dual function of a level, until it is done or time is up."""
        state, stop = iterate(self, level, watch)
        # Candidates come from the window, proofs from the best dual point.
        recent = state.climb.supports[-self.window :]
        return build_screening(
            level, recent, state.climb, stop, is_over=lambda: watch.is_late
        )

    def init(self, level: Level) -> DualProgramState:
        """Return the state at the origin."""
        dual = level.zero()
        reply, climb = reply_to_dual(level, dual), Climb(dual)
        climb.visit(dual, reply)
        return DualProgramState(self._steps(level), dual, reply, climb)

    def step(self, level: Level, state: DualProgramState) -> DualProgramState:
        """Make a subgradient step and, now and then, try to end at a saddle point."""
        dual, moved = self._ascend(level, state)
        if not moved and self.early_stop:
            return replace(state, stop=Stop.STALLED)
        reply = reply_to_dual(level, dual)
        state.climb.visit(dual, reply)
        following = replace(state, dual=dual, reply=reply)
        is_due = self.early_stop and len(state.climb.bounds) % TRY_EVERY == 0
        return self._try_support(level, following) if is_due else following

    def done(self, state: DualProgramState) -> Stop | None:
        """Stop when nothing more can be proved, or at the iteration limit."""
        if state.stop is not None:
            return state.stop
        return Stop.MAX_ITER if len(state.climb.bounds) > self.max_iter else None

    def progress(self, state: DualProgramState, seconds: float) -> Progress:
        """Report the best bound so far."""
        return state.climb.progress("dual program", seconds, state.upper_bound)

    def _steps(self, level: Level) -> StepSizes:
        """Return the step sizes: inverse curvatures of the dual function.

        The curvature in alpha is ``1/2 (1 + lambda_1 / ridge)``; alpha and each row get
        equal shares of the step.
        """
        rows = level.problem.rows
        if self.step_size is not None:
            return StepSizes(self.step_size, np.full(len(rows), self.step_size))
        weakest = float(level.problem.ridge.min())
        largest = float(np.einsum("ij,ij->i", level.factor, level.factor).max())
        alpha = 2.0 / (1.0 + largest / weakest) / (1 + len(rows))
        beta = 2.0 * row_steps(level.problem) / (1 + len(rows))
        return StepSizes(alpha, beta)

    def _ascend(self, level: Level, state: DualProgramState) -> tuple[LevelPoint, bool]:
        """Return the next dual point, and whether it differs from this one."""
        rows, reply = level.problem.rows, state.reply
        kappa = 1.0 / np.sqrt(len(state.climb.bounds))
        slope = level.factor[:, reply.support] @ reply.x - 0.5 * state.dual.alpha
        alpha = state.dual.alpha + kappa * state.steps.alpha * slope
        beta = state.dual.beta
        if len(rows):
            excess = rows.matrix[:, reply.support] @ reply.x - rows.rhs
            beta = rows.project(beta + kappa * state.steps.beta * excess)
        moved = not (
            np.array_equal(alpha, state.dual.alpha)
            and np.array_equal(beta, state.dual.beta)
        )
        return LevelPoint(alpha, beta), moved

    def _try_support(self, level: Level, state: DualProgramState) -> DualProgramState:
        """Try the best dual reply to the current support, once for each support.

        If the support is in turn the best reply to that dual point, the two are a
        saddle point.
        """
        support = state.reply.support
        if support.tobytes() in state.tried:
            return state
        state.tried.add(support.tobytes())
        upper = min(state.upper_bound, fit_support(level.problem, support).objective)
        dual, is_attained = reply_to_support(level, support)
        reply = reply_to_dual(level, dual)
        state.climb.offer(dual, reply.value)
        if is_attained and np.array_equal(reply.support, support):
            return replace(state, upper_bound=upper, stop=Stop.FIXED_POINT)
        is_closed = state.climb.best_value >= upper
        return replace(state, upper_bound=upper, stop=Stop.GAP if is_closed else None)


@did_you_mean
def dual_program(
    problem: SparseQP,
    level: int | None = None,
    *,
    spectrum: Spectrum | None = None,
    max_iter: int = 500,
    window: int = 50,
    step_size: float | None = None,
    early_stop: bool = True,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Screening:
    """Screen variables by subgradient ascent on the dual (see :class:`DualProgram`).

    Parameters
    ----------
    problem : SparseQP
        The problem.
    level : int, optional
        Eigenvectors to keep; by default as many as matter at the given ridge.
    spectrum : Spectrum, optional
        The decomposition of ``Q``, if it is at hand.
    max_iter, window, step_size, early_stop
        See :class:`DualProgram`.
    time_limit : float, optional
        Seconds; no limit by default.
    callback : callable, optional
        Called with a :class:`Progress` before each iteration; True stops.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> dual_program(problem).candidates
    array([0])
    """
    method = DualProgram(max_iter, window, step_size, early_stop)
    with Watch(time_limit, callback) as watch:
        return method.screen(choose_level(problem, level, spectrum), watch)
