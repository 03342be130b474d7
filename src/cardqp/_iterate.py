"""The only iteration loop: limits, clock, callbacks, Ctrl-C."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

import numpy as np


class Stop(Enum):
    """Why a computation ended; the value is a sentence for people."""

    FIXED_POINT = "the support answers itself: a saddle point"
    CYCLE = "the supports repeat in a cycle"
    GAP = "the gap is within tolerance"
    STALLED = "nothing more can be proved this way"
    MAX_ITER = "the iteration limit was reached"
    NODE_LIMIT = "the node limit was reached"
    TIME_LIMIT = "the time limit was reached"
    CALLBACK = "the callback asked to stop"
    INTERRUPTED = "interrupted from the keyboard"
    INFEASIBLE = "no point meets the constraints"
    EXHAUSTED = "every branch was closed"
    COMPLETED = "the method ran to its end"

    @property
    def is_early(self) -> bool:
        """Whether more time would have changed the answer."""
        return self in (Stop.TIME_LIMIT, Stop.CALLBACK, Stop.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback sees; unknown numbers are infinite."""

    stage: str
    n_iter: int
    seconds: float
    objective: float = np.inf
    lower_bound: float = -np.inf
    n_open: int = 0


Callback: TypeAlias = Callable[[Progress], bool | None]
"""Called now and then; returning True stops the computation."""


@dataclass(slots=True)
class Watch:
    """A time limit and a callback, shared by all stages of one run."""

    time_limit: float = np.inf
    callback: Callback | None = None
    started: float = field(default_factory=time.perf_counter)
    stopped: Stop | None = None

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started

    def check(self, progress: Callable[[float], Progress]) -> Stop | None:
        """The reason to stop now, if there is one; it is remembered."""
        if self.stopped is None and self.seconds > self.time_limit:
            self.stopped = Stop.TIME_LIMIT
        if self.stopped is None and self.callback is not None:
            self.stopped = (
                Stop.CALLBACK if self.callback(progress(self.seconds)) else None
            )
        return self.stopped


Problem = TypeVar("Problem", contravariant=True)
State = TypeVar("State")


class Method(Protocol[Problem, State]):
    """An algorithm: settings only, its state is passed through."""

    def init(self, problem: Problem) -> State:
        """The state before the first step."""

    def step(self, problem: Problem, state: State) -> State:
        """One iteration."""

    def done(self, state: State) -> Stop | None:
        """The reason to end, or None to go on."""

    def progress(self, state: State, seconds: float) -> Progress:
        """What the callback gets to see."""


def iterate(
    method: Method[Problem, State], problem: Problem, watch: Watch
) -> tuple[State, Stop]:
    """Run a method until it is done, a limit is reached or somebody stops it.

    Ctrl-C ends the loop with the last complete state.
    """
    state = method.init(problem)
    try:
        while (stop := method.done(state)) is None:
            if (stop := watch.check(partial(method.progress, state))) is not None:
                return state, stop
            state = method.step(problem, state)
    except KeyboardInterrupt:
        watch.stopped = Stop.INTERRUPTED
        return state, Stop.INTERRUPTED
    return state, stop
