"""What the methods say, held against what is true."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.soundness.rational import Exact, Point
from benchmarks.soundness.said import Finding, Said
from benchmarks.soundness.truth import Truth

TOLERANCE = 1e-6
"""Of rows, relative to their own terms, and of bounds, relative to the variable."""

ROUNDING = Fraction(1, 10**12)
"""Of an objective or a row, relative to the sum of the absolute values of its terms."""

CANCELLATION = Fraction(1, 10**8)
"""A gap is relative to the objective, or, if that is more, to this share of its terms
or the next one of the most that one variable alone can gain."""

NOTHING = Fraction(1, 10**12)

MUST_BE_ZERO = (
    *("infeasible", "status", "bound", "objective", "beyond"),
    *("contradiction", "refused", "disputed", "forged", "start", "error", "time"),
)
COUNTED = (
    "declined",
    "unknown",
    "undecided",
    "open",
    "tolerance",
    "rounding",
    "warning",
)
"""Problems without a ridge that are declined, UNKNOWN with and without a point, the gap
not closed by a method that should, an answer worse than the point it was given, what
the tolerance explains, what rounding alone explains, and warnings."""

FROM_START = "exact from a start"
"""The name of a search that is given the optimum, rounded to floats."""

SEARCHES = ("exact", FROM_START, "safe-screening")
"""Methods that end only when the gap is closed, if they have the time."""


@dataclass(frozen=True)
class _Answer:
    """What a method says, with what is exactly true of its point."""

    said: Said
    point: Point | None
    unit: Fraction

    @property
    def rounding(self) -> Fraction:
        return ROUNDING * self.point.terms

    @property
    def slack(self) -> Fraction:
        """How far an optimal point may be from the optimum."""
        return Fraction(self.said.asked) * self.unit + self.rounding

    @property
    def is_feasible(self) -> bool:
        return self.point is not None and self.point.is_feasible(TOLERANCE)

    @property
    def excuse(self) -> str:
        """What explains that a feasible point is too good: how far it is off."""
        point = self.point
        return "rounding" if point.is_feasible(float(ROUNDING)) else "tolerance"

    @property
    def bound(self) -> float:
        """The largest of the bounds reported, replayed, and computed by checkers."""
        said = self.said
        return max(said.lower_bound, said.proved, *said.checked.values())


def judge(problem: Exact, truth: Truth, said: Sequence[Said]) -> list[Finding]:
    """All that is not so."""
    findings = []
    answers = []
    for one in said:
        answer = _look(problem, one)
        answers.append(answer)
        own = [Finding(*pair) for pair in _about(answer, truth)]
        if one.complaints and not any(f.what in MUST_BE_ZERO for f in own):
            own.append(Finding("refused", one.method, "; ".join(one.complaints)))
        own += [Finding("error", one.method, text) for text in one.errors]
        if one.disputes:
            own.append(Finding("disputed", one.method, "; ".join(one.disputes)))
        findings += own
    good = [a for a in answers if not (a.said.error or a.said.refusal)]
    findings += [Finding(*pair) for pair in _between(good, truth)]
    return findings


def _look(problem: Exact, said: Said) -> _Answer:
    x = said.x
    if x is None or x.shape != (problem.n,) or not np.isfinite(x).all():
        return _Answer(said, None, Fraction(0))
    point = problem.look(x)
    size = max(CANCELLATION * point.magnitude, NOTHING * problem.single_gain())
    return _Answer(said, point, max(abs(point.objective), size))


Pair = tuple[str, str, str]


def _about(answer: _Answer, truth: Truth) -> Iterator[Pair]:
    """What is wrong with one answer."""
    said = answer.said
    if said.error:
        yield "error", said.method, said.error
        return
    if said.refusal:
        yield "declined", said.method, said.refusal
        return
    if said.is_late:
        yield "time", said.method, "the time limit was not kept"
    for text in said.warnings:
        yield "warning", said.method, text
    if answer.point is None:
        yield from _without_point(answer, truth)
    else:
        yield from _of_point(answer)
        yield from _of_status(answer, truth)
    yield from _of_bound(answer, truth)
    if said.method == FROM_START and truth.is_feasible and not said.is_stopped:
        point = answer.point
        if point is None or point.objective - truth.value > answer.slack:
            yield "start", said.method, f"{said.objective}, given {_short(truth)}"


def _without_point(answer: _Answer, truth: Truth) -> Iterator[Pair]:
    said = answer.said
    if said.x is not None:
        yield "infeasible", said.method, f"not a point: {said.x}"
    elif said.status in ("OPTIMAL", "FEASIBLE"):
        yield "status", said.method, f"{said.status} without a point"
    elif said.status == "UNKNOWN" and truth.is_convex and not said.is_stopped:
        what = "unknown" if truth.is_feasible else "undecided"
        yield what, said.method, "no point, and no proof that there is none"
    elif said.status == "INFEASIBLE" and truth.is_feasible:
        yield "status", said.method, f"INFEASIBLE, but the optimum is {_short(truth)}"


def _of_point(answer: _Answer) -> Iterator[Pair]:
    said, point = answer.said, answer.point
    if not answer.is_feasible:
        numbers = f"rows {float(point.row):.2g}, bounds {float(point.bound):.2g}"
        yield "infeasible", said.method, point.complaint or f"off by {numbers}"
    if not np.isfinite(said.objective):
        yield "objective", said.method, f"{said.objective} at a point"
    elif abs(Fraction(said.objective) - point.objective) > answer.rounding:
        true = float(point.objective)
        yield "objective", said.method, f"{said.objective!r} at a point with {true!r}"


def _of_status(answer: _Answer, truth: Truth) -> Iterator[Pair]:
    said, point = answer.said, answer.point
    if said.status not in ("OPTIMAL", "FEASIBLE"):
        yield "status", said.method, f"{said.status} with a point"
        return
    if truth.is_infeasible:
        what = answer.excuse if answer.is_feasible else "status"
        yield what, said.method, f"{said.status}, but there is no point"
    elif truth.is_feasible and answer.is_feasible:
        yield from _of_value(answer, truth)
    closed = point.objective - Fraction(max(said.lower_bound, -1e300))
    is_closed = closed <= (1 - CANCELLATION) * Fraction(said.asked) * answer.unit
    if said.status == "FEASIBLE" and is_closed:
        yield "status", said.method, f"FEASIBLE with a gap of {said.gap:.2g}"
    elif said.status == "FEASIBLE" and said.method in SEARCHES and not said.is_stopped:
        yield "open", said.method, f"a gap of {said.gap:.2g}"
    if said.status == "OPTIMAL" and not said.gap <= said.asked:
        yield "status", said.method, f"OPTIMAL with a gap of {said.gap:.2g}"


def _of_value(answer: _Answer, truth: Truth) -> Iterator[Pair]:
    said, value = answer.said, answer.point.objective
    text = f"{said.status} {float(value):.9g}, the optimum is {_short(truth)}"
    if said.status == "OPTIMAL" and value - truth.value > answer.slack:
        yield "status", said.method, text
    if truth.value - value > answer.slack:
        yield answer.excuse, said.method, text


def _of_bound(answer: _Answer, truth: Truth) -> Iterator[Pair]:
    said, bound = answer.said, answer.bound
    if np.isnan(bound):
        yield "bound", said.method, "not a number"
        return
    if (
        truth.is_feasible
        and said.status != "INFEASIBLE"
        and _exceeds(bound, truth.value)
    ):
        yield "bound", said.method, f"{bound!r} above {float(truth.value)!r}"
    point = answer.point
    if point is None or not _exceeds(bound, point.objective + answer.rounding):
        return
    if not _is_explained(answer, truth):
        text = f"{float(point.objective):.9g} with a bound of {bound:.9g}"
        yield "beyond", said.method, text


def _is_explained(answer: _Answer, truth: Truth) -> bool:
    """Whether the tolerance explains that a point is better than all points."""
    if not answer.is_feasible:
        return False
    if truth.is_infeasible:
        return True
    return truth.is_feasible and answer.point.objective < truth.value


def _between(answers: Sequence[_Answer], truth: Truth) -> Iterator[Pair]:
    """Where methods contradict each other."""
    points = [a for a in answers if a.point is not None]
    empty = [a for a in answers if a.said.status == "INFEASIBLE"]
    if not points:
        return
    best = min(points, key=lambda a: a.point.objective)
    is_explained = _is_explained(best, truth)
    what = best.excuse if is_explained else "contradiction"
    if empty:
        names = f"{empty[0].said.method}, {best.said.method}"
        yield what, names, "the first says INFEASIBLE, the second has a point"
    bounded = [a for a in answers if a.said.status != "INFEASIBLE"]
    most = max(bounded, key=lambda a: a.bound, default=best)
    if _exceeds(most.bound, best.point.objective + best.rounding):
        text = f"bound {most.bound:.9g}, point {float(best.point.objective):.9g}"
        yield what, f"{most.said.method}, {best.said.method}", text
    proved = [a for a in points if a.said.status == "OPTIMAL"]
    yield from _between_optima(proved, truth)


def _between_optima(proved: Sequence[_Answer], truth: Truth) -> Iterator[Pair]:
    if not proved:
        return
    least = min(proved, key=lambda a: a.point.objective)
    largest = max(proved, key=lambda a: a.point.objective)
    difference = largest.point.objective - least.point.objective
    if difference <= largest.slack + least.rounding:
        return
    is_explained = _is_explained(least, truth) and (
        truth.is_infeasible or largest.point.objective - truth.value <= largest.slack
    )
    values = [f"{float(a.point.objective):.9g}" for a in (least, largest)]
    yield (
        least.excuse if is_explained else "contradiction",
        f"{least.said.method}, {largest.said.method}",
        f"both OPTIMAL, with {values[0]} and {values[1]}",
    )


def _exceeds(bound: float, value: Fraction) -> bool:
    """Whether a float is above a rational number, exactly."""
    return bound == np.inf or (np.isfinite(bound) and Fraction(bound) > value)


def _short(truth: Truth) -> str:
    return f"{float(truth.value):.9g}"
