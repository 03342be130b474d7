"""What every adapter shares: the task it reads, the clock, the answer it writes.

An adapter is a script that runs in the environment of a foreign solver.  It is called
with three paths: the task (``.npz``), the answer to write (``.npz``) and a marker file
that it creates when its clock starts, from which moment the time limit counts.  All
adapters minimise the same function, ``|y - X x|^2 + ridge |x|^2`` with at most
``sparsity`` nonzeros and no intercept, each in the words of its solver.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

REFUSED = 3
"""The exit code of an adapter whose solver does not take the task."""


@dataclass(frozen=True)
class Task:
    """One problem, and what an adapter may know about it.

    Attributes
    ----------
    X, y, ridge, sparsity
        The problem.
    tolerance : float
        The relative gap to reach, relative to the objective above.
    time_limit : float
        Seconds.
    objective : float
        The best objective known.  It only translates tolerances into other units and
        yields bounds on coefficients; no solver is given it as an incumbent.
    largest : float
        The largest entry of the best point known, in absolute value.
    penalty : float
        A price per nonzero at which the penalised problem has the same optimum; NaN
        when none is known.
    """

    X: np.ndarray
    y: np.ndarray
    ridge: float
    sparsity: int
    tolerance: float
    time_limit: float
    objective: float
    largest: float
    penalty: float

    @classmethod
    def load(cls, path: str) -> "Task":
        """Read a task."""
        with np.load(path) as file:
            stored = dict(file)
        return cls(
            X=stored.pop("X"),
            y=stored.pop("y"),
            sparsity=int(stored.pop("sparsity")),
            **{name: float(value) for name, value in stored.items()},
        )


@dataclass
class Clock:
    """Measures what happens inside ``with clock:``."""

    marker: Path | None = None
    seconds: float = 0.0
    _start: float = field(default=0.0, repr=False)

    def __enter__(self) -> "Clock":
        if self.marker is not None:
            self.marker.touch()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += self.elapsed

    @property
    def elapsed(self) -> float:
        """Seconds since it was started last."""
        return time.perf_counter() - self._start


@dataclass(frozen=True)
class Answer:
    """A point, the solver's own lower bound (NaN if none) and its claim."""

    x: np.ndarray
    bound: float
    claims_optimal: bool


Solver = Callable[[Task, Clock], Answer]


def warm_up_task() -> Task:
    """A small problem, noisy and correlated enough to make every solver branch."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((40, 15)) + 2 * generator.standard_normal((40, 1))
    y = X[:, :3].sum(axis=1) + 5 * generator.standard_normal(40)
    objective = 0.4 * float(y @ y)
    return Task(X, y, 1.0, 3, 1e-4, 10.0, objective, 2.0, 0.02 * objective)


def main(solve: Solver) -> None:
    """Warm up, solve the task named on the command line and write the answer."""
    task_path, answer_path, marker_path = sys.argv[1:]
    solve(warm_up_task(), Clock())
    clock = Clock(Path(marker_path))
    write(answer_path, solve(Task.load(task_path), clock), clock)


def write(path: str, answer: Answer, clock: Clock) -> None:
    """Write an answer and how long it took."""
    np.savez(
        path,
        x=answer.x,
        bound=answer.bound,
        claims_optimal=answer.claims_optimal,
        seconds=clock.seconds,
    )


def refuse(reason: str) -> NoReturn:
    """End with a reason why the solver does not take the task."""
    print(reason, file=sys.stderr)
    sys.exit(REFUSED)
