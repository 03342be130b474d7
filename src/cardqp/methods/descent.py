"""The result of a direct method: a point, and the trace of its iterations."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch
from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.bounds.positive_ridge import with_positive_ridge
from cardqp.problem import SparseQP, check_problem
from cardqp.problem import validation as check
from cardqp.subproblems.support_qp import SupportFit


@dataclass(frozen=True, slots=True)
class DescentTrace:
    """The objectives and supports of a descent: the start first, then each iteration.

    Attributes
    ----------
    objectives : (T,) array
        The objective, constant included.
    supports : tuple of int arrays
        The support.
    """

    objectives: FloatArray
    supports: tuple[IntArray, ...]


@dataclass(frozen=True, slots=True)
class Descent:
    """The result of a direct method.  Nothing about the optimum is proved.

    Attributes
    ----------
    x : (n,) array or None
        The best point; None if no feasible start was found.
    support : int array
        Its nonzeros.
    objective : float
        The objective at ``x``, constant included; infinite without a point.
    n_iter : int
        Iterations made.
    stop : Stop
        Why it ended.
    trace : DescentTrace
        Objectives and supports by iteration.
    """

    x: FloatArray | None
    support: IntArray
    objective: float
    n_iter: int
    stop: Stop
    trace: DescentTrace

    @classmethod
    def ended(cls, state: "DescentState", stop: Stop) -> "Descent":
        """Build the result from the last state of a run."""
        fit = state.fit
        return cls(
            x=fit.x,
            support=np.flatnonzero(np.zeros(0) if fit.x is None else fit.x),
            objective=fit.objective,
            n_iter=len(state.objectives) - 1,
            stop=stop,
            trace=DescentTrace(np.array(state.objectives), tuple(state.supports)),
        )


@dataclass(frozen=True, slots=True)
class DescentState:
    """The current fit, and the histories that all states of a run share."""

    fit: SupportFit
    stop: Stop | None = None
    objectives: list[float] = field(default_factory=list)
    supports: list[IntArray] = field(default_factory=list)

    def recorded(self, problem: SparseQP) -> "DescentState":
        """Append the fit to the histories, and return the state."""
        if self.fit.x is not None:
            self.objectives.append(self.fit.objective)
            self.supports.append(problem.support_of(self.fit.x))
        return self

    def ending(self, max_iter: int) -> Stop | None:
        """Why to stop here: no start, what a step has found, or the iteration limit."""
        if self.fit.x is None:
            return Stop.STALLED
        is_long = len(self.objectives) > max_iter
        return Stop.MAX_ITER if self.stop is None and is_long else self.stop

    def progress(self, name: str, seconds: float) -> Progress:
        """The last objective, under the name of a method."""
        return Progress(name, len(self.objectives) - 1, seconds, self.fit.objective)


def run_direct(
    improve: Callable[[SparseQP, Watch, FloatArray | None], Descent],
    problem: SparseQP,
    start: ArrayLike | None,
    time_limit: float | None,
    callback: Callback | None,
) -> Descent:
    """Run a direct method on its own, outside of ``solve``."""
    check_problem(problem)
    guess = None if start is None else check.vector("start", start, problem.n)
    with Watch(time_limit, callback) as watch:
        return improve(with_positive_ridge(problem), watch, guess)
