"""The only iteration loop: limits, clock, callbacks, Ctrl-C."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from cardqp.problem import validation as check

GRACE = 0.2
"""Seconds after the end for what rounds off an answer."""


class Stop(Enum):
    """Why a computation ended; the value is a sentence for people."""

    FIXED_POINT = "the support answers itself: a saddle point"
    CYCLE = "the supports repeat in a cycle"
    GAP = "the gap is within tolerance"
    CUTOFF = "nothing below the limit is left"
    MAX_COUNT = "as many as were asked for are listed"
    STALLED = "nothing more can be proved this way"
    MAX_ITER = "the iteration limit was reached"
    NODE_LIMIT = "the node limit was reached"
    TIME_LIMIT = "the time limit was reached"
    CALLBACK = "the callback asked to stop"
    INTERRUPTED = "interrupted from the keyboard"
    INFEASIBLE = "no point meets the constraints"
    LOCAL_OPTIMUM = "no single exchange improves the support"
    CONVERGED = "the objective has converged"
    BACKEND = "the other solver gave up before it had an answer"
    COMPLETED = "the method ran to its end"

    @property
    def is_early(self) -> bool:
        """Whether more time would have changed the answer."""
        return self in (
            Stop.NODE_LIMIT,
            Stop.TIME_LIMIT,
            Stop.CALLBACK,
            Stop.INTERRUPTED,
            Stop.BACKEND,
        )

    @property
    def is_wish(self) -> bool:
        """Whether somebody wanted an end of everything that was under way."""
        return self in (Stop.CALLBACK, Stop.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress passed to a callback; unknown numbers are infinite.

    Attributes
    ----------
    stage : str
        Name of the current stage.
    n_iter : int
        Iterations, or branches processed.
    seconds : float
        Time since the start of the run.
    objective, lower_bound : float
        The best point and the best bound so far.
    n_open : int
        Branches still to be processed.
    closed_share : float
        The share of the tree that is done, a branch at depth d counting ``2^-d``.
    estimate : float
        Estimated number of branches in all; NaN when it was not estimated.
    is_partial : bool
        Whether variables are left out that are not proved zero, so that the bound is
        not one of the problem as given.
    """

    stage: str
    n_iter: int
    seconds: float
    objective: float = np.inf
    lower_bound: float = -np.inf
    n_open: int = 0
    closed_share: float = 0.0
    estimate: float = np.nan
    is_partial: bool = False


Callback: TypeAlias = Callable[[Progress], bool | None]
"""Called now and then; returning True stops the computation."""


@dataclass(slots=True)
class Watch:
    """A time limit, a callback and Ctrl-C, shared by all stages of one run.

    As a context manager it turns the first Ctrl-C into a request to stop, which the
    loops see between two steps, so that nothing is lost halfway; a second Ctrl-C
    raises ``KeyboardInterrupt`` as usual.  Inside another watch, that one is asked to
    stop, too.  Signals reach the main thread only, so in other threads nothing changes.
    """

    time_limit: float | None = None
    callback: Callback | None = None
    started: float = field(default_factory=time.perf_counter)
    stopped: Stop | None = None
    ended: float | None = None
    previous: Any = None

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            check.at_least("time_limit", self.time_limit, 0.0)
        check.function("callback", self.callback)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Time until the limit, if there is one; nothing once stopped."""
        if self.stopped is not None:
            return 0.0
        if self.time_limit is None:
            return None
        return max(self.time_limit - self.seconds, 0.0)

    @property
    def is_over(self) -> bool:
        """Whether to stop, without asking the callback."""
        self.notice()
        return self.stopped is not None

    @property
    def is_unwanted(self) -> bool:
        """Whether somebody wanted an end, by Ctrl-C or the callback."""
        return self.stopped is not None and self.stopped.is_wish

    @property
    def is_late(self) -> bool:
        """Whether to stop even what rounds off an answer, which has a little more time.

        That is, in all, :data:`GRACE` after the time limit, or from the first time on
        that somebody asks.
        """
        if not self.is_over:
            return False
        if self.ended is None:
            is_timed = self.stopped is Stop.TIME_LIMIT
            self.ended = self.time_limit if is_timed else self.seconds
        return self.ended is None or self.seconds > self.ended + GRACE

    def notice(self) -> None:
        """Remember it if the time limit has passed."""
        late = self.time_limit is not None and self.seconds > self.time_limit
        if self.stopped is None and late:
            self.stopped = Stop.TIME_LIMIT

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A time that does not count."""
        since = time.perf_counter()
        try:
            yield
        finally:
            self.started += time.perf_counter() - since

    @contextmanager
    def ending_early(self, share: float) -> Iterator[None]:
        """A part that leaves a share of the time limit to what comes after it."""
        limit = self.time_limit
        if limit is not None:
            self.time_limit = (1.0 - share) * limit
        try:
            yield
        finally:
            self.time_limit = limit

    def check(self, progress: Callable[[float], Progress]) -> Stop | None:
        """The reason to stop now, if there is one; it is remembered."""
        if not self.is_over and self.callback is not None:
            asked = self.callback(progress(self.seconds))
            self.stopped = self.stopped or (Stop.CALLBACK if asked else None)
        return self.stopped

    def relay(self, progress: Progress) -> bool:
        """A callback for a computation within this one: it ends when this one does."""
        return (
            self.check(lambda seconds: replace(progress, seconds=seconds)) is not None
        )

    @contextmanager
    def raising(self) -> Iterator[None]:
        """A part that Ctrl-C breaks off, for what waits and asks nobody.

        It ends with the request to stop, as if nobody had been waiting.
        """
        is_ours = self.previous is not None
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        except KeyboardInterrupt:
            if not is_ours:
                raise
            self._interrupt()
        finally:
            if is_ours:
                signal.signal(signal.SIGINT, self._interrupt)

    def __enter__(self) -> "Watch":
        if threading.current_thread() is threading.main_thread():
            self.previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGINT, self.previous)
            self.previous = None

    def _interrupt(self, *_: object) -> None:
        if self.stopped is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        self.stopped = Stop.INTERRUPTED
        outer = getattr(self.previous, "__self__", None)
        if isinstance(outer, Watch):
            outer._interrupt()


Problem = TypeVar("Problem", contravariant=True)
State = TypeVar("State")


class IterativeMethod(Protocol[Problem, State]):
    """An algorithm: settings only, its state is passed through."""

    def init(self, problem: Problem) -> State:
        """The state before the first step."""

    def step(self, problem: Problem, state: State) -> State:
        """One iteration."""

    def done(self, state: State) -> Stop | None:
        """The reason to end, or None to go on."""

    def progress(self, state: State, seconds: float) -> Progress:
        """The progress to pass to the callback."""


def iterate(
    method: IterativeMethod[Problem, State], problem: Problem, watch: Watch
) -> tuple[State, Stop]:
    """Run a method until it is done, a limit is reached or somebody stops it.

    The state returned is the last complete one.
    """
    state = method.init(problem)
    while (stop := method.done(state)) is None:
        if (stop := watch.check(partial(method.progress, state))) is not None:
            break
        state = method.step(problem, state)
    return state, stop
