"""The trace of a run: incumbent and proved lower bound over time."""

from dataclasses import astuple, dataclass, field, fields
from typing import Any

import numpy as np

from cardqp._iterate import Callback, Progress
from cardqp._keywords import did_you_mean
from cardqp.problem import validation as check
from cardqp.solution import Solution

FINENESS = 1e-3
"""A better bound is recorded if it reduces the gap by this share."""


@dataclass(frozen=True, slots=True)
class TracePoint:
    """Incumbent and best bound at some time; unknown numbers are infinite.

    Attributes
    ----------
    seconds : float
        Time since the start of the run.
    stage : str
        What was being done.
    n_iter : int
        Iterations of that stage, or branches processed.
    objective, lower_bound : float
        The best so far, both of the problem as given.
    """

    seconds: float
    stage: str
    n_iter: int
    objective: float
    lower_bound: float


@did_you_mean
@dataclass(slots=True)
class Trace:
    """A callback that records progress, for one run at a time.

    Bounds of a part of the problem are left out, since they are no bounds of the
    problem.  When another run begins, the trace starts anew.

    Parameters
    ----------
    then : callable, optional
        Another callback, called with the same progress; its result is returned.

    Examples
    --------
    >>> import cardqp
    >>> problem = cardqp.SparseQP(np.eye(3), [-4, -2, -1], eta=1.0, sparsity=1)
    >>> trace = Trace()
    >>> trace.close(cardqp.solve(problem, callback=trace))
    >>> trace.points[-1].objective
    -2.0
    """

    then: Callback | None = None
    seen: list[TracePoint] = field(default_factory=list, init=False, repr=False)
    end: TracePoint | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check.function("then", self.then)

    @property
    def points(self) -> tuple[TracePoint, ...]:
        """All recorded points; after :meth:`close` the last is the solution."""
        return (*self.seen, *(() if self.end is None else (self.end,)))

    def __len__(self) -> int:
        return len(self.points)

    def __call__(self, progress: Progress) -> bool | None:
        """Record the progress if it differs from the last point."""
        if self.end or (self.seen and progress.seconds < self.seen[-1].seconds):
            self.seen, self.end = [], None
        last = self.seen[-1] if self.seen else None
        point = _best_of(last, progress)
        if last is None or _differs(point, last):
            self.seen.append(point)
        return None if self.then is None else self.then(progress)

    def close(self, solution: Solution) -> None:
        """Add the solution's own numbers as the last point."""
        check.instance("solution", solution, Solution)
        latest = self.seen[-1].seconds if self.seen else 0.0
        self.end = TracePoint(
            max(solution.seconds, latest),
            "solution",
            solution.n_nodes,
            solution.objective,
            solution.lower_bound,
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return one list per column, ready for a DataFrame."""
        names = [each.name for each in fields(TracePoint)]
        rows = [astuple(point) for point in self.points]
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _best_of(last: TracePoint | None, progress: Progress) -> TracePoint:
    """Return the best objective and bound of all stages so far."""
    objective = progress.objective
    bound = -np.inf if progress.is_partial else progress.lower_bound
    if last is not None:
        objective = min(objective, last.objective)
        bound = max(bound, last.lower_bound)
    return TracePoint(
        progress.seconds, progress.stage, progress.n_iter, objective, bound
    )


def _differs(point: TracePoint, last: TracePoint) -> bool:
    """Return whether a point would be visible in a plot of the trace."""
    if point.stage != last.stage or point.objective != last.objective:
        return True
    left = last.objective - last.lower_bound
    if not np.isfinite(left):
        left = abs(last.lower_bound)
    if not np.isfinite(left):
        return point.lower_bound > last.lower_bound
    return point.lower_bound - last.lower_bound > FINENESS * left
