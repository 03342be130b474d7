"""The exact optimum of a small problem, by trying every support.

A guess in floats comes first.  Its best support is solved in rational arithmetic; other
supports are left out if a dual point, evaluated without rounding, proves that they are
no better, and solved in rational arithmetic otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from benchmarks.soundness.active_set import LostError
from benchmarks.soundness.rational import ZERO, Exact, Vector
from benchmarks.soundness.scaled import Scaled, Support, column_units


@dataclass(frozen=True)
class Truth:
    """What is true of a problem.

    Attributes
    ----------
    is_convex : bool
        False if ``Q``, with the ridge, is not positive definite on some support: the
        rounding of ``Q`` is then larger than the ridge, and no optimum is known.
    value : Fraction or None
        The optimum; None if there is no point, or if it is not known.
    x : list of Fraction or None
        A point with that value.
    """

    is_convex: bool
    value: Fraction | None = None
    x: Vector | None = None

    @property
    def is_feasible(self) -> bool:
        """Whether the problem is known to have a point."""
        return self.x is not None

    @property
    def is_infeasible(self) -> bool:
        """Whether the problem is known to have none."""
        return self.is_convex and self.x is None


def find_truth(problem: Exact) -> Truth:
    """The exact optimum."""
    units = column_units(problem)
    scaled = Scaled(problem, units)
    best: tuple[Fraction, Support, Vector] | None = None
    try:
        guesses = sorted(map(scaled.guess, supports(problem)), key=lambda g: g.value)
        for guess in guesses:
            if best is not None and scaled.is_no_better(guess, best[0]):
                continue
            found = scaled.solve(guess)
            if found is not None and (best is None or found[0] < best[0]):
                best = found[0], guess.support, found[1]
    except LostError:
        return Truth(is_convex=False)
    if best is None:
        return Truth(is_convex=True)
    x = [ZERO] * problem.n
    for j, value in zip(best[1], best[2], strict=True):
        x[j] = value * units[j]
    return Truth(is_convex=True, value=best[0], x=x)


def supports(problem: Exact) -> Iterator[Support]:
    """Allowed supports; only those that are not part of others where that is enough."""
    always = {problem.blocks[j] for j in problem.inside}
    never = {problem.blocks[j] for j in problem.outside}
    free = sorted(set(problem.blocks) - always - never)
    is_monotone = problem.price == 0 and all(
        _holds_zero(problem, j) or j in problem.inside for j in range(problem.n)
    )
    seen: list[frozenset[int]] = []
    for count in reversed(range(len(free) + 1)):
        for some in combinations(free, count):
            on = always.union(some)
            support = frozenset(j for j in range(problem.n) if problem.blocks[j] in on)
            if problem.complaint(support):
                continue
            if is_monotone and any(support < other for other in seen):
                continue
            seen.append(support)
            yield tuple(sorted(support))


def _holds_zero(problem: Exact, j: int) -> bool:
    low, high = problem.lower[j], problem.upper[j]
    return (low is None or low <= 0) and (high is None or high >= 0)
