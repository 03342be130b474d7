"""Warm start: the two methods of Bertsimas and Van Parys, on Gram matrices too."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch, iterate
from cardqp._keywords import did_you_mean
from cardqp._typing import FloatArray
from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.methods.best_response import BestResponse
from cardqp.methods.context import SolveContext
from cardqp.methods.game import TangentPoint, WholeForm
from cardqp.methods.reply import SupportReply, reply_to_dual, row_steps
from cardqp.methods.screening import Climb, Screening, build_screening
from cardqp.methods.stages import screen_problem
from cardqp.problem import SparseQP, check_problem
from cardqp.problem import validation as check
from cardqp.subproblems.support_qp import SupportFit, fit_support

Variant = Literal["subgradient", "best-response"]


@dataclass(frozen=True, slots=True)
class SubgradientState:
    """The current dual point with its reply, what the run has met, and the best fit.

    The pool, which all states of a run share, holds every support that was fitted.
    """

    dual: TangentPoint
    product: FloatArray
    reply: SupportReply
    climb: Climb[TangentPoint]
    incumbent: SupportFit
    stop: Stop | None = None
    pool: set[bytes] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class PolyakSubgradient:
    """Climb the dual function with Polyak's steps, and keep a pool of supports.

    A step is as long as the subgradient predicts for attaining the best objective in
    the pool of supports visited so far.  Bounds are proved for every iterate; the union
    of the last supports is a guess.  Where there is a duality gap the steps do not
    vanish, so that single bounds go up and down.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations.
    window : int
        Candidates are the union of the last ``window`` supports and of the best one.

    Notes
    -----
    The dual point of a regression has an entry for each observation.  It stays in the
    range of ``F``, as ``2 F a``, and a step moves ``a`` towards the minimiser on the
    support that replies: products with ``Q`` are all it takes.

    References
    ----------
    Bertsimas and Van Parys, "Sparse high-dimensional regression: exact scalable
    algorithms and phase transitions", Annals of Statistics 48 (2020) 300-323.
    """

    max_iter: int = 200
    window: int = 20

    def init(self, game: WholeForm) -> SubgradientState:
        """Return the state at the origin: in a regression, the residual is ``y``."""
        problem, dual = game.problem, game.zero()
        reply, nothing = reply_to_dual(game, dual), SupportFit.nothing(problem)
        product = np.zeros(problem.n)
        state = SubgradientState(dual, product, reply, Climb(dual), nothing)
        return self._visit(problem, state)

    def step(self, game: WholeForm, state: SubgradientState) -> SubgradientState:
        """Make one step of the dual point, and find the support that replies."""
        problem, x = game.problem, np.zeros(game.problem.n)
        x[state.reply.support] = state.reply.x
        # The subgradient with respect to the multipliers.
        excess, steps = problem.rows.matrix @ x - problem.rows.rhs, row_steps(problem)
        way = x - state.dual.tangent_point
        product_change = problem.quadratic.apply(x) - state.product
        with np.errstate(over="ignore", invalid="ignore"):
            size = float(way @ product_change) + float(steps @ excess**2)
            if size <= 0:
                return replace(state, stop=Stop.FIXED_POINT)
            length = max(self._target(problem, state) - state.reply.value, 0.0) / size
            dual = TangentPoint(
                state.dual.tangent_point + 0.5 * length * way,
                problem.rows.project(state.dual.beta + length * steps * excess),
            )
        if not (np.isfinite(dual.tangent_point).all() and np.isfinite(dual.beta).all()):
            return replace(state, stop=Stop.STALLED)
        reply = reply_to_dual(game, dual)
        product = state.product + 0.5 * length * product_change
        following = replace(state, dual=dual, product=product, reply=reply)
        return self._visit(problem, following)

    def done(self, state: SubgradientState) -> Stop | None:
        """Stop without progress, when the gap is closed, or at the iteration limit."""
        if state.stop is not None:
            return state.stop
        if state.climb.best_value >= state.incumbent.objective:
            return Stop.GAP
        return Stop.MAX_ITER if len(state.climb.bounds) > self.max_iter else None

    def progress(self, state: SubgradientState, seconds: float) -> Progress:
        """Report the best bound, and the best objective in the pool."""
        return state.climb.progress("warm start", seconds, state.incumbent.objective)

    def screen(self, game: WholeForm, watch: Watch) -> Screening:
        """Climb; candidates are the window's and the best support of the pool."""
        state, stop = iterate(self, game, watch)
        recent, fit = state.climb.supports[-self.window :], state.incumbent
        if fit.x is not None:
            recent = [*recent, game.problem.support_of(fit.x)]
        return build_screening(game, recent, state.climb, stop, fit=fit)

    def _visit(self, problem: SparseQP, state: SubgradientState) -> SubgradientState:
        """Record the reply, and fit its support if it is new."""
        support = state.reply.support
        state.climb.visit(state.dual, state.reply)
        if support.tobytes() in state.pool:
            return state
        state.pool.add(support.tobytes())
        fit = fit_support(problem, support)
        better = fit.objective < state.incumbent.objective
        return replace(state, incumbent=fit) if better else state

    def _target(self, problem: SparseQP, state: SubgradientState) -> float:
        """Return Polyak's target: the best objective in the pool.

        Without a feasible point it is a guess that shrinks like ``1/sqrt(t)``.
        """
        if state.incumbent.x is not None:
            return state.incumbent.objective
        guess = problem.single_gain / np.sqrt(len(state.climb.bounds))
        return float(state.climb.best_value + guess)


@did_you_mean
@dataclass(frozen=True, slots=True)
class WarmStart:
    """Screen with ``Q`` as it is, as Bertsimas and Van Parys do with the data.

    Parameters
    ----------
    variant : {"subgradient", "best-response"}
        Climb the dual: :class:`PolyakSubgradient`.  Or alternate best replies: a
        support, the residual of its fit, the columns most correlated with that
        residual; quicker, and far worse where columns are correlated.
    max_iter : int, optional
        The largest number of iterations; 50 for best response, 200 otherwise.
    window : int, optional
        Candidates are the union of the last ``window`` supports; by default of the
        cycle that best response ends in, and of the last 20 otherwise.

    Notes
    -----
    Stated for regressions, in terms of the residual ``r`` of the observations: the next
    support holds the largest ``(X_j' r)^2``.  As ``X'r / N`` is ``-(c + 2 Q x) / 2``,
    observations are not needed once ``Q`` and ``c`` are known: memory does not grow
    with their number.
    """

    uses_level: ClassVar[bool] = False
    ends_in_search: ClassVar[bool] = True

    variant: Variant = "subgradient"
    max_iter: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        rule = f"must be {' or '.join(get_args(Variant))}"
        check.demand(self.variant in get_args(Variant), "variant", rule, self.variant)
        check.count("max_iter", 1 if self.max_iter is None else self.max_iter)
        check.count("window", 1 if self.window is None else self.window)

    def run_stages(self, context: SolveContext) -> bool:
        """Screen the problem and solve the reduced one; return whether it is one."""
        return screen_problem(context, self.run)

    def run(self, problem: SparseQP, watch: Watch) -> Screening:
        """Screen a problem by the chosen variant."""
        game = WholeForm(problem)
        if self.variant == "best-response":
            return BestResponse(self.max_iter or 50, self.window).screen(game, watch)
        climb = PolyakSubgradient(self.max_iter or 200, self.window or 20)
        return climb.screen(game, watch)


@did_you_mean
def warm_start(
    problem: SparseQP,
    variant: Variant = "subgradient",
    *,
    max_iter: int | None = None,
    window: int | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Screening:
    """Screen variables as Bertsimas and Van Parys do (see :class:`WarmStart`).

    Parameters
    ----------
    problem : SparseQP
        The problem; it may be given by a Gram matrix, whatever its number of rows.
    variant, max_iter, window
        See :class:`WarmStart`.
    time_limit : float, optional
        Seconds; no limit by default.
    callback : callable, optional
        Called with a :class:`Progress` before each iteration; True stops.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> warm_start(problem).candidates
    array([0])
    """
    check_problem(problem)
    method = WarmStart(variant, max_iter, window)
    with Watch(time_limit, callback) as watch:
        return method.run(with_positive_ridge(problem), watch)
