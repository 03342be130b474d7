"""False claims about a point: status, objective, gap, support and the point itself."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.soundness.rational import Exact, Point
from benchmarks.soundness.referee import CANCELLATION, NOTHING
from benchmarks.soundness.truth import Truth

Arrays = dict[str, np.ndarray]

BEYOND, OF_TERMS = 1e-6, 1e-9
"""How far false claims are from true ones: shares of the unit of gaps and of the terms.
Checkers allow for 1e-12 of the terms."""

LEAST = 1e-250
"""The same where the objective has no terms."""

OFF = 1e-4
"""How far false points are off rows and bounds, where checkers allow for 1e-6."""


@dataclass(frozen=True)
class Facts:
    """A problem with its optimum, which is a point."""

    problem: Exact
    truth: Truth

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.problem.n

    @property
    def beyond(self) -> float:
        """A bound that is not true."""
        point = self.look(np.array([float(v) for v in self.truth.x]))
        return float(self.truth.value) + self.distance(point)

    def look(self, x: np.ndarray) -> Point:
        """What is true of a point."""
        return self.problem.look(x)

    def unit(self, point: Point) -> float:
        """What a gap is relative to."""
        size = max(CANCELLATION * point.magnitude, NOTHING * self.problem.single_gain())
        return float(max(abs(point.objective), size))

    def distance(self, point: Point) -> float:
        """More than rounding and tolerances explain."""
        return BEYOND * self.unit(point) + OF_TERMS * float(point.terms) + LEAST

    def gap(self, point: Point, objective: float, bound: float) -> float:
        """The relative gap of an objective and a bound."""
        if not np.isfinite(bound):
            return np.inf
        unit = self.unit(point)
        return max(objective - bound, 0.0) / unit if unit > 0 else 0.0

    def with_raised_bound(self, run: Arrays) -> Arrays:
        """A run that claims a bound that is not true, and the gap that fits."""
        changes = {"lower_bound": np.array(self.beyond)}
        if "x" in run:
            point = self.look(run["x"])
            gap = self.gap(point, float(run["objective"]), self.beyond)
            changes["gap"] = np.array(gap)
            is_closed = gap <= float(run["tolerance"])
            changes["status"] = np.array("OPTIMAL" if is_closed else "FEASIBLE")
        return run | changes

    def is_wrong(self, point: Point, objective: float) -> bool:
        """Whether a point is not feasible, or its objective another one."""
        is_other = abs(float(point.objective) - objective) > self.distance(point)
        return is_other or not point.is_feasible(OFF)


def false_claims(
    rng: np.random.Generator, run: Arrays, facts: Facts
) -> Iterator[tuple[str, Arrays]]:
    """Runs that claim what is not so, with the name of what was changed."""
    digest = "".join(rng.permutation(list(str(run["problem_digest"]))))
    if digest != str(run["problem_digest"]):
        yield "problem_digest", run | {"problem_digest": np.array(digest)}
    for gap in (0.0, np.inf):
        nothing = {key: a for key, a in run.items() if key != "x"}
        yield (
            "status, infeasible",
            nothing
            | _scalars(
                status="INFEASIBLE", objective=np.inf, lower_bound=np.inf, gap=gap
            )
            | {"support": run["support"][:0]},
        )
    if "x" in run:
        yield from _about_value(run, facts)
        yield from _about_point(rng, run, facts)


def _scalars(**values: float | str) -> Arrays:
    return {name: np.array(value) for name, value in values.items()}


def _about_value(run: Arrays, facts: Facts) -> Iterator[tuple[str, Arrays]]:
    point, bound = facts.look(run["x"]), float(run["lower_bound"])
    lower = float(run["objective"]) - facts.distance(point)
    gap = facts.gap(point, lower, bound)
    yield "objective", run | _scalars(objective=lower, gap=gap)
    if str(run["status"]) == "FEASIBLE":
        yield "status, optimal", run | _scalars(status="OPTIMAL")
        yield "status, tolerance", run | _scalars(status="OPTIMAL", tolerance=1e300)
        yield "gap", run | _scalars(status="OPTIMAL", gap=0.0)
    yield (
        "support",
        run | {"support": run["support"][1:]}
        if len(run["support"])
        else run | {"support": np.zeros(1, dtype=np.int64)},
    )


def _about_point(
    rng: np.random.Generator, run: Arrays, facts: Facts
) -> Iterator[tuple[str, Arrays]]:
    """Points that are moved, with the objective before and the one they have."""
    j, x = int(rng.integers(facts.n)), np.array(run["x"])
    size = np.abs(x).max(initial=0.0) or 1.0
    x[j] += size * rng.choice([-1.0, 1.0]) * rng.choice([1e-3, 0.1, 1.0, 100.0])
    point, before = facts.look(x), float(run["objective"])
    own = {"x": x, "support": np.flatnonzero(x)}
    if facts.is_wrong(point, before):
        yield "x", run | own
    after = float(point.objective)
    if facts.is_wrong(point, after):
        gap = facts.gap(point, after, float(run["lower_bound"]))
        status = "OPTIMAL" if gap <= float(run["tolerance"]) else "FEASIBLE"
        yield (
            "x, infeasible",
            run | own | _scalars(objective=after, gap=gap, status=status),
        )
