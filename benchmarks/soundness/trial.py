"""One problem: its truth, what every method says about it, and what is not so."""

import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import cardqp
from benchmarks.soundness.cases import Case, make_case
from benchmarks.soundness.rational import Exact
from benchmarks.soundness.records import Record
from benchmarks.soundness.referee import FROM_START, Finding, Said, judge
from benchmarks.soundness.truth import Truth, find_truth
from cardqp.methods import METHODS

TIME_LIMIT = 5.0
"""Seconds for each solve."""

HANGING = 300
"""Seconds after which a solve is given up; the first one compiles."""

LATE = 2 * TIME_LIMIT
"""Seconds after which a solve is too late, twice in a row: the first time it may have
been compiled, or the machine was busy."""

STORED = 10
"""Solutions of one in so many problems are written and read."""


@dataclass(frozen=True)
class Trial:
    """What came of one problem."""

    case: Case
    truth: Truth
    said: list[Said]
    findings: list[Finding]

    def record(self) -> Record:
        """Plain numbers and strings, for JSON."""
        return _header(self.case) | {
            "truth": describe(self.truth),
            "statuses": {one.method: one.status for one in self.said},
            "findings": [[f.what, f.method, f.detail] for f in self.findings],
        }


def failed(case: Case, why: str) -> Record:
    """The record of a problem of which nothing came."""
    finding = ["error", "some method", why]
    return _header(case) | {"truth": "", "statuses": {}, "findings": [finding]}


def _header(case: Case) -> Record:
    eta = float(np.median(case.problem.eta))
    names = {"number": case.number, "kind": case.kind, "units": case.units}
    return names | {"n": case.problem.n, "eta": eta}


def describe(truth: Truth) -> str:
    """What is known, in a word."""
    if not truth.is_convex:
        return "not convex"
    return "feasible" if truth.is_feasible else "infeasible"


def run(seed: int, number: int) -> Trial:
    """Make a problem, find the truth, ask every method, and judge."""
    case = make_case(seed, number)
    exact = Exact.of(case.problem)
    truth = find_truth(exact)
    said = list(ask(case.problem, truth, is_stored=number % STORED == 0))
    return Trial(case, truth, said, judge(exact, truth, said))


def record_of(seed: int, number: int) -> Record:
    """The record of a problem."""
    return run(seed, number).record()


def ask(problem: cardqp.SparseQP, truth: Truth, *, is_stored: bool) -> Iterator[Said]:
    """What every method says."""
    for name in METHODS:
        yield _ask_in_time(problem, name, is_stored, method=name)
    if truth.x is not None:
        start = np.array([float(v) for v in truth.x])
        yield _ask_in_time(problem, FROM_START, is_stored, start=start)


def _ask_in_time(*arguments: Any, **options: Any) -> Said:
    """What a method says, asked again if that took too long."""
    said = _ask(*arguments, **options)
    return _ask(*arguments, **options) if said.is_late else said


def _ask(problem: cardqp.SparseQP, name: str, is_stored: bool, **options: Any) -> Said:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with _alarm(HANGING):
                begun = time.perf_counter()
                solution = cardqp.solve(problem, time_limit=TIME_LIMIT, **options)
                seconds = time.perf_counter() - begun
                proved, complaints = _check(problem, solution, is_stored)
        except TimeoutError as err:
            return Said(name, error=str(err), is_late=True)
        except Exception as err:  # noqa: BLE001 - all of them are counted
            return Said(name, error=f"{type(err).__name__}: {err}")
    return Said(
        method=name,
        status=solution.status.name,
        x=solution.x,
        objective=solution.objective,
        lower_bound=solution.lower_bound,
        gap=solution.gap,
        asked=1e-4,
        proved=proved,
        complaints=complaints,
        is_late=seconds > LATE,
        warnings=tuple(sorted({str(w.message) for w in caught})),
    )


def _check(
    problem: cardqp.SparseQP, solution: cardqp.Solution, is_stored: bool
) -> tuple[float, tuple[str, ...]]:
    """The bound replayed, and what the library's own checks complain about."""
    found = solution.verify()
    complaints = found.complaints
    if is_stored:
        with tempfile.TemporaryDirectory() as name:
            complaints += tuple(_store(problem, solution, Path(name)))
    return found.lower_bound, complaints


def _store(
    problem: cardqp.SparseQP, solution: cardqp.Solution, folder: Path
) -> Iterator[str]:
    """What is complained about after both were written and read."""
    solution.save(folder / "solution.npz")
    try:
        problem.save(folder / "problem.npz")
        problem = cardqp.SparseQP.load(folder / "problem.npz")
    except cardqp.CardQPError as err:
        yield f"not saved: {err}"
    read = cardqp.Solution.load(folder / "solution.npz", problem)
    yield from (f"after loading: {text}" for text in read.verify().complaints)


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """Give up what takes too long; where there is no such signal, wait for it."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"no answer after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
