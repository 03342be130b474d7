"""Best response: support and dual point answer each other until they repeat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch, iterate
from cardqp._keywords import did_you_mean
from cardqp._typing import IntArray
from cardqp.bounds.farkas import proves_empty
from cardqp.methods.context import SolveContext
from cardqp.methods.game import Dual, Game
from cardqp.methods.reply import farkas_ray, reply_to_dual, reply_to_support
from cardqp.methods.screening import Climb, Screening, build_screening
from cardqp.methods.stages import screen_at_level
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.spectral.choose_level import choose_level
from cardqp.spectral.spectrum import Spectrum

LAST_SUPPORTS = 10
"""How many supports make up the candidates if no cycle was found."""


@dataclass(frozen=True, slots=True)
class BestResponseState(Generic[Dual]):
    """What the run has met: supports, and the best dual point.

    ``repeats`` is the position at which the last support was seen before, and
    ``is_attained`` says whether it answers a maximiser rather than a ray.
    """

    climb: Climb[Dual]
    repeats: int | None = None
    is_attained: bool = False

    @property
    def cycle(self) -> tuple[IntArray, ...]:
        """The supports between the two occurrences."""
        if self.repeats is None:
            return ()
        return tuple(self.climb.supports[self.repeats : -1])


@did_you_mean
@dataclass(frozen=True, slots=True)
class BestResponse:
    """Alternate the best dual reply and the best support until they repeat.

    The map from one support to the next is deterministic on a finite set, so it ends
    in a cycle, which is found exactly.  A cycle of length one is a saddle point: its
    support is optimal for the level, and for the problem itself if the level keeps
    all eigenvectors.  Longer cycles are common; their union is the set of candidates.
    It may miss the optimum, above all with highly correlated variables.  See
    docs/theory.md#best-response.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations, ``T``.
    window : int, optional
        Candidates are the union of the last ``window`` of ``max_iter`` supports, as
        in the paper.  By default, the union of the cycle.

    Notes
    -----
    The paper's update pairs a new support with the previous dual point, which makes
    two interleaved chains; here each reply answers the latest move.  With linear rows
    the reply may be unbounded; see :func:`reply_to_support`.

    References
    ----------
    Vreugdenhil, Nguyen, Eftekhari, Mohajerin Esfahani, "Principal Component Hierarchy
    for Sparse Quadratic Programs", ICML 2021, Proposition 3.3.
    """

    uses_level: ClassVar[bool] = True
    ends_in_search: ClassVar[bool] = True

    max_iter: int = 50
    window: int | None = None

    def __post_init__(self) -> None:
        check.count("max_iter", self.max_iter)
        check.count("window", 1 if self.window is None else self.window)

    def run_stages(self, context: SolveContext) -> bool:
        """Screen at a level and solve the reduced problem; return whether it is one."""
        return screen_at_level(context, self.screen)

    def screen(self, game: Game[Dual], watch: Watch) -> Screening:
        """Alternate replies in a game, until they repeat or time is up."""
        state, stop = iterate(self, game, watch)
        # Candidates come from the cycle or window, proofs from the best dual point.
        recent = self._recent(state)
        found = build_screening(
            game, recent, state.climb, stop, state.cycle, is_over=lambda: watch.is_late
        )
        is_open = found.x is None and not watch.is_late
        if is_open and _is_empty(game.problem, recent[-1]):
            return replace(found, stop=Stop.INFEASIBLE)
        return found

    def init(self, game: Game[Dual]) -> BestResponseState[Dual]:
        """Return the state with the support that replies to the origin."""
        dual = game.zero()
        climb = Climb(dual)
        climb.visit(dual, reply_to_dual(game, dual))
        return BestResponseState(climb)

    def step(
        self, game: Game[Dual], state: BestResponseState[Dual]
    ) -> BestResponseState[Dual]:
        """Compute one reply of the dual player and one of the support player."""
        climb = state.climb
        dual, is_attained = reply_to_support(game, climb.supports[-1])
        reply = reply_to_dual(game, dual)
        is_same = (np.array_equal(known, reply.support) for known in climb.supports)
        repeats = next((t for t, same in enumerate(is_same) if same), None)
        climb.visit(dual, reply)
        return replace(state, repeats=repeats, is_attained=is_attained)

    def done(self, state: BestResponseState[Dual]) -> Stop | None:
        """Stop when a support repeats, or at the iteration limit."""
        if state.repeats is not None:
            is_fixed = len(state.cycle) == 1 and state.is_attained
            return Stop.FIXED_POINT if is_fixed else Stop.CYCLE
        return Stop.MAX_ITER if len(state.climb.supports) > self.max_iter else None

    def progress(self, state: BestResponseState[Dual], seconds: float) -> Progress:
        """Report the best bound so far."""
        return state.climb.progress("best response", seconds, np.inf)

    def _recent(self, state: BestResponseState[Dual]) -> Sequence[IntArray]:
        supports = state.climb.supports
        if self.window is None:
            return state.cycle or supports[-LAST_SUPPORTS:]
        if state.repeats is None:
            return supports[1:][-self.window :] or supports
        # Past the first repetition the sequence is known without computing it.
        first, period = state.repeats, len(state.cycle)
        times = range(max(self.max_iter - self.window, 0) + 1, self.max_iter + 1)
        return tuple(
            supports[t if t < first else first + (t - first) % period] for t in times
        )


@did_you_mean
def best_response(
    problem: SparseQP,
    level: int | None = None,
    *,
    spectrum: Spectrum | None = None,
    max_iter: int = 50,
    window: int | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Screening:
    """Screen variables by alternating best replies (see :class:`BestResponse`).

    Parameters
    ----------
    problem : SparseQP
        The problem.
    level : int, optional
        Eigenvectors to keep; by default as many as matter at the given ridge.
    spectrum : Spectrum, optional
        The decomposition of ``Q``, if it is at hand.
    max_iter, window : int, optional
        See :class:`BestResponse`.
    time_limit : float, optional
        Seconds; no limit by default.
    callback : callable, optional
        Called with a :class:`Progress` before each iteration; True stops.

    Examples
    --------
    >>> import numpy as np
    >>> problem = SparseQP(np.eye(3), [-4.0, -2.0, -1.0], eta=1.0, sparsity=1)
    >>> best_response(problem).candidates
    array([0])
    """
    method = BestResponse(max_iter, window)
    with Watch(time_limit, callback) as watch:
        return method.screen(choose_level(problem, level, spectrum), watch)


def _is_empty(problem: SparseQP, support: IntArray) -> bool:
    """Return whether a Farkas ray of one support excludes all supports."""
    return proves_empty(problem, farkas_ray(problem, support), problem.root)
