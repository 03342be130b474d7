"""One problem: its truth, what methods and checkers say, and what is not so."""

import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import cardqp
from benchmarks.soundness.cases import Case, make_case
from benchmarks.soundness.evidence import (
    ALONE,
    REPLAY,
    checkers,
    examine,
    features,
    read,
)
from benchmarks.soundness.forging import Tried, try_forgeries
from benchmarks.soundness.kinds import KINDS
from benchmarks.soundness.rational import Exact
from benchmarks.soundness.records import Record
from benchmarks.soundness.referee import FROM_START, judge
from benchmarks.soundness.said import Finding, Said
from benchmarks.soundness.truth import Truth, find_truth
from cardqp.methods import METHODS

TIME_LIMIT = 5.0
"""Seconds for each solve."""

HANGING = 300
"""Seconds after which a solve is given up; the first one compiles."""

LATE = 2 * TIME_LIMIT
"""Seconds after which a solve is too late, twice in a row: the first time it may have
been compiled, or the machine was busy."""

ALL_METHODS = 11
"""All methods are asked about one in so many problems, the exact search about each.

It has no divisor in common with the number of units, so that kinds meet all of them."""

FROM_START_TURNS = (0, 2, 5, 7)
"""In which of so many turns a start is given."""

EXACT = "exact"

MEMORY = Path("/dev/shm")
"""Where files cost least, if there is such a place."""


@dataclass(frozen=True)
class Trial:
    """What came of one problem.

    Attributes
    ----------
    case, truth, said : Case, Truth, list of Said
        The problem, what is true, and what is said.
    findings : list of Finding
        What is not so.
    forged : Counter
        How many files were forged, by what was changed.
    seconds : float
        Of the processor, for all of it.
    """

    case: Case
    truth: Truth
    said: list[Said]
    findings: list[Finding]
    forged: Counter[str]
    seconds: float

    def record(self) -> Record:
        """Plain numbers and strings, for JSON."""
        return _header(self.case) | {
            "truth": describe(self.truth),
            "statuses": {one.method: one.status for one in self.said},
            "findings": [[f.what, f.method, f.detail] for f in self.findings],
            "features": sorted({f for one in self.said for f in one.features}),
            "checked": sum(ALONE in one.checked for one in self.said),
            "forged": dict(self.forged),
            "seconds": round(self.seconds, 4),
        }


def failed(case: Case, why: str) -> Record:
    """The record of a problem of which nothing came."""
    finding = ["error", "some method", why]
    return _header(case) | {"truth": "", "statuses": {}, "findings": [finding]}


def _header(case: Case) -> Record:
    eta = float(np.median(case.problem.eta))
    names = {"number": case.number, "kind": case.kind, "units": case.units}
    names |= {"tuning": case.tuning, "is_stopped": bool(case.limits)}
    return names | {"n": case.problem.n, "eta": eta if np.isfinite(eta) else None}


def describe(truth: Truth) -> str:
    """What is known, in a word."""
    if not truth.is_convex:
        return "not convex"
    return "feasible" if truth.is_feasible else "infeasible"


def run(seed: int, number: int) -> Trial:
    """Make a problem, find the truth, ask, check, forge, and judge."""
    begun = time.process_time()
    case = make_case(seed, number)
    exact = Exact.of(case.problem)
    truth = find_truth(exact)
    forged = Tried(np.random.default_rng([seed, number, 1]), exact, truth)
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        said = list(ask(case, truth, Path(name), forged))
    findings = judge(exact, truth, said) + forged.found
    seconds = time.process_time() - begun
    return Trial(case, truth, said, findings, forged.counts, seconds)


def record_of(seed: int, number: int) -> Record:
    """The record of a problem."""
    return run(seed, number).record()


def is_for_all(number: int) -> bool:
    """Whether all methods are asked: of each kind, and in all units, about as often."""
    return _turn(number) == 0


def _turn(number: int) -> int:
    return sum(divmod(number, len(KINDS))) % ALL_METHODS


def ask(case: Case, truth: Truth, folder: Path, forged: Tried) -> Iterator[Said]:
    """What methods say, and about the exact searches what checkers say."""
    files = _Files(case.problem, folder, is_for_all(case.number))
    limits = {"time_limit": TIME_LIMIT} | case.limits
    options: dict[str, Any] = {"method": case.method} | limits
    yield _ask_in_time(case, EXACT, files, forged, options)
    if truth.x is not None and _turn(case.number) in FROM_START_TURNS:
        start = np.array([float(v) for v in truth.x])
        yield _ask_in_time(case, FROM_START, files, None, options | {"start": start})
    for name in METHODS if is_for_all(case.number) else ():
        if name != EXACT:
            options = {"method": name, "time_limit": TIME_LIMIT}
            yield _ask_in_time(case, name, None, None, options)


@dataclass
class _Files:
    """The files of a problem and of what is said about it.

    Attributes
    ----------
    problem : SparseQP
        The problem.
    folder : Path
        Where its files are.
    is_replayed : bool
        Whether the library replays what is in the files, too, and not in memory alone.
    """

    problem: cardqp.SparseQP
    folder: Path
    is_replayed: bool

    @property
    def names(self) -> tuple[Path, Path]:
        return self.folder / "problem.npz", self.folder / "run.npz"

    def write(self, solution: cardqp.Solution) -> None:
        """Write a solution, and the problem if there is no file of it yet."""
        problem, run = self.names
        if not problem.exists():
            self.problem.save(problem)
        solution.save(run)


def _ask_in_time(*arguments: Any) -> Said:
    """What a method says, asked again if that took too long."""
    said = _ask(*arguments)
    return _ask(*arguments) if said.is_late else said


def _ask(
    case: Case,
    name: str,
    files: _Files | None,
    forged: Tried | None,
    options: dict[str, Any],
) -> Said:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with _alarm(HANGING):
                begun = time.perf_counter()
                solution = cardqp.solve(case.problem, **options)
                seconds = time.perf_counter() - begun
                said = _of_solution(name, solution)
                if files is not None:
                    said = _checked(said, solution, files)
                    forge(said, files, forged)
        except TimeoutError as err:
            return Said(name, error=str(err), is_late=True)
        except cardqp.ProblemError as err:
            # Not every problem without a ridge can be solved.
            if (case.problem.ridge > 0).all() or "eta" not in str(err):
                return Said(name, error=str(err))
            return Said(name, refusal=str(err))
        except Exception as err:  # noqa: BLE001 - all of them are counted
            return Said(name, error=f"{type(err).__name__}: {err}")
    return replace(
        said,
        is_late=seconds > LATE,
        is_stopped=bool(case.limits) and files is not None,
        warnings=tuple(sorted({str(w.message) for w in caught})),
    )


def _of_solution(name: str, solution: cardqp.Solution) -> Said:
    """What a solution says, and what its replay in memory says about it."""
    found = solution.verify()
    return Said(
        method=name,
        status=solution.status.name,
        x=solution.x,
        objective=solution.objective,
        lower_bound=solution.lower_bound,
        gap=solution.gap,
        asked=1e-4,
        proved=found.lower_bound,
        complaints=found.complaints,
    )


def _checked(said: Said, solution: cardqp.Solution, files: _Files) -> Said:
    """With what all checkers say about the files."""
    files.write(solution)
    found = {
        name: examine(check, *files.names)
        for name, check in checkers().items()
        if name != REPLAY or files.is_replayed
    }
    again = found[REPLAY].complaints if REPLAY in found else ()
    return replace(
        said,
        checked={name: verdict.lower_bound for name, verdict in found.items()},
        complaints=said.complaints + again,
        disputes=found[ALONE].complaints if ALONE in found else (),
        errors=tuple(f"{name}: {v.error}" for name, v in found.items() if v.error),
        features=tuple(features(read(files.names[1]))),
    )


def forge(said: Said, files: _Files, forged: Tried | None) -> None:
    """Change the file in many ways, if it is its turn."""
    if forged is None or not forged.is_due("tree" in said.features):
        return
    try_forgeries(forged, *files.names, read(files.names[1]))


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
