"""The results of screening, with guesses and proofs in separate fields."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from cardqp._iterate import Progress, Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.gap import gap_unit
from cardqp.certificate import DualPoint
from cardqp.methods.game import Dual, Game, TangentPoint
from cardqp.methods.reply import SupportReply
from cardqp.problem import SparseQP
from cardqp.spectral.level import LevelPoint
from cardqp.subproblems.support_qp import SupportFit, fit_support

ROUNDING = 1e-9
"""Relative error allowed for in the objective of a feasible point."""


@dataclass(frozen=True, slots=True)
class ScreeningTrace:
    """The bounds and supports of a screening: the origin first, then each iteration.

    Attributes
    ----------
    bounds : (T,) array
        The dual function at each dual point visited: each is a lower bound on the
        optimum of the original problem, up to rounding.
    supports : tuple of int arrays
        The support that replied to each dual point.
    """

    bounds: FloatArray
    supports: tuple[IntArray, ...]


@dataclass(slots=True)
class Climb(Generic[Dual]):
    """What a run has met so far, which all its states share.

    Attributes
    ----------
    best : LevelPoint or TangentPoint
        The best dual point: at first, where the run starts.
    best_value : float
        The dual function there.
    bounds, supports : lists
        The dual function at each dual point visited, and the support that replied.
    """

    best: Dual
    best_value: float = -np.inf
    bounds: list[float] = field(default_factory=list)
    supports: list[IntArray] = field(default_factory=list)

    def visit(self, dual: Dual, reply: SupportReply) -> None:
        """Record a dual point and the support that replies to it."""
        self.bounds.append(reply.value)
        self.supports.append(reply.support)
        self.offer(dual, reply.value)

    def offer(self, dual: Dual, value: float) -> None:
        """Keep a dual point if it is the best one."""
        if value > self.best_value:
            self.best, self.best_value = dual, value

    @property
    def trace(self) -> ScreeningTrace:
        """What was visited."""
        return ScreeningTrace(np.array(self.bounds), tuple(self.supports))

    def progress(self, name: str, seconds: float, objective: float) -> Progress:
        """The best bound so far, under the name of a method."""
        count = len(self.bounds) - 1
        return Progress(name, count, seconds, objective, self.best_value)


@dataclass(frozen=True, slots=True)
class Screening:
    """The result of a screening: candidates (guessed), zeros and ones (proved).

    Attributes
    ----------
    candidates : int array
        The union of the last supports visited.  A guess, never a proof.
    zeros, ones : int arrays
        Variables proved to be zero, or nonzero, in every optimal solution; with blocks,
        those of blocks that are not zero.
    lower_bound : float
        A proved bound on the optimum of the original problem, constant included.
    upper_bound : float
        The objective at ``x``; infinite if no feasible point was met.
    x : (n,) array or None
        The best feasible point that was met.
    support : int array
        Its support, or the last support visited.
    dual : LevelPoint or TangentPoint
        The dual point that proves ``lower_bound``: at this level, or with ``Q`` as it
        is.
    level : int
        The number of eigenvectors used; all, with ``Q`` as it is.
    cycle : tuple of int arrays
        The supports that repeat for ever, in order; empty if no repetition was seen.
    n_iter : int
        Iterations made.
    stop : Stop
        Why it ended.
    trace : ScreeningTrace
        Bounds and supports by iteration.
    """

    candidates: IntArray
    zeros: IntArray
    ones: IntArray
    lower_bound: float
    upper_bound: float
    x: FloatArray | None
    support: IntArray
    dual: LevelPoint | TangentPoint
    level: int
    cycle: tuple[IntArray, ...]
    n_iter: int
    stop: Stop
    trace: ScreeningTrace


@dataclass(frozen=True, slots=True)
class SafeScreening:
    """The variables that one dual point proves zero or nonzero.

    The proof is Theorem 2 (docs/theory.md#theorem-2).

    Attributes
    ----------
    zeros, ones, undecided : int arrays
        Variables that are zero, or nonzero, in every point whose objective is at most
        ``upper_bound``, and those about which nothing is proved; with blocks, ``ones``
        are the variables of blocks that are not zero.
    lower_bound : float
        A bound on the optimum.
    upper_bound : float
        The value that the proofs refer to.
    x : (n,) array or None
        The best feasible point that was met on the way.
    dual : DualPoint or LevelPoint
        The dual point behind the proofs: a tangent point of ``Q`` with multipliers of
        the rows, or a dual point of the level.
    """

    zeros: IntArray
    ones: IntArray
    undecided: IntArray
    lower_bound: float
    upper_bound: float
    x: FloatArray | None
    dual: DualPoint | LevelPoint

    @property
    def candidates(self) -> IntArray:
        """Variables that are not proved zero."""
        return np.union1d(self.ones, self.undecided)


def build_screening(
    game: Game[Dual],
    recent: Sequence[IntArray],
    climb: Climb[Dual],
    stop: Stop,
    cycle: tuple[IntArray, ...] = (),
    fit: SupportFit | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Screening:
    """Form candidates from recent supports and proofs from the best dual point.

    The best feasible point is fitted on the recent supports if it is not given.  Once
    time is over, no further supports are fitted.
    """
    fit = best_fit(game.problem, recent, is_over) if fit is None else fit
    bound = game.bound(climb.best)
    root = game.problem.root
    on, off = bound.fixing_bounds(root)
    upper = attainable(game.problem, fit)
    return Screening(
        candidates=np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *recent])),
        zeros=np.flatnonzero(on > upper),
        ones=np.flatnonzero((off > upper) | root.fixed_in),
        lower_bound=bound.value(root),
        upper_bound=fit.objective,
        x=fit.x,
        support=recent[-1] if fit.x is None else np.flatnonzero(fit.x),
        dual=climb.best,
        level=game.k,
        cycle=cycle,
        n_iter=len(climb.bounds) - 1,
        stop=stop,
        trace=climb.trace,
    )


def attainable(problem: SparseQP, fit: SupportFit) -> float:
    """Return a value that some feasible point attains, rounding errors included.

    A fit meets the rows up to rounding, which its multipliers translate into units of
    the objective; its own evaluation rounds as well.
    """
    if fit.x is None:
        return np.inf
    shortfall = float(np.abs(fit.beta) @ problem.rows.violation(fit.x))
    rounding = ROUNDING * gap_unit(problem, fit.x, fit.objective)
    return fit.objective + 2.0 * shortfall + rounding


def best_fit(
    problem: SparseQP,
    supports: Sequence[IntArray],
    is_over: Callable[[], bool] = lambda: False,
) -> SupportFit:
    """Return the best feasible point on any of the supports.

    The last supports are fitted first, and at least one of them.  Of equally good
    supports the first in the sequence is taken.
    """
    distinct = {support.tobytes(): support for support in supports}
    best = SupportFit.nothing(problem)
    for support in reversed(distinct.values()):
        fit = fit_support(problem, support)
        best = fit if fit.objective <= best.objective else best
        if is_over():
            break
    return best
