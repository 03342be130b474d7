"""The exact optimum of a small problem, by trying every support.

Floats come first: bounds of all supports without rows (:mod:`.many`), whose rounding is
accounted for, and guesses at the optima on those that these leave.  The best support is
solved in rational arithmetic; other supports are left out if a dual point, evaluated
without rounding, proves that they are no better, and solved likewise otherwise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from benchmarks.soundness.active_set import LostError, Number
from benchmarks.soundness.many import lower_bounds
from benchmarks.soundness.rational import ZERO, Exact, Vector
from benchmarks.soundness.scaled import (
    Guess,
    Scaled,
    Solved,
    Support,
    column_units,
    plain,
    rational,
)
from benchmarks.soundness.without_ridge import (
    LEAST,
    add_tiny,
    is_boxed,
    is_cone,
    lacks_ridge,
    move_form,
    move_least,
)


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
    """The exact optimum; unknown where no rule says which points count."""
    scaled = Scaled(problem, column_units(problem))
    some = list(supports(problem))
    if lacks_ridge(problem) and not move_form(scaled):
        if is_boxed(problem):
            add_tiny(scaled)
        elif is_cone(problem):
            every = supports(problem, has_all_sizes=True)
            some = [support for support in every if scaled.is_counted(support, LEAST)]
            move_least(scaled)
        else:
            return Truth(is_convex=False)
    try:
        best = _best(scaled, some)
    except LostError:
        return Truth(is_convex=False)
    return _truth(scaled, best)


def _truth(scaled: Scaled, best: Solved | None) -> Truth:
    if best is None:
        return Truth(is_convex=True)
    if not scaled.is_counted(best.support, scaled.clear):
        return Truth(is_convex=False)
    x = [ZERO] * scaled.problem.n
    value = best.value
    for j, v in zip(best.support, best.x, strict=True):
        x[j] = plain(v) * scaled.units[j]
        value -= scaled.added[j] * v * v
    return Truth(is_convex=True, value=plain(value), x=x)


def _best(problem: Scaled, all_supports: Sequence[Support]) -> Solved | None:
    """The best support, or None if there is no point."""
    best: Solved | None = None
    left = sorted(
        zip(lower_bounds(problem, all_supports).tolist(), all_supports, strict=True)
    )
    while left:
        guesses, left = _guess_some(problem, left)
        for guess in sorted(guesses, key=lambda g: g.value):
            if best is not None and problem.is_no_better(guess, best.value):
                continue
            found = problem.solve(guess)
            if found is not None and (best is None or found.value < best.value):
                best = found
        if best is not None:
            left = [pair for pair in left if _is_below(pair[0], best.value)]
    return best


def _guess_some(
    problem: Scaled, left: Sequence[tuple[float, Support]]
) -> tuple[list[Guess], list[tuple[float, Support]]]:
    """Guesses, until bounds say that supports are no better than the best guess."""
    guesses: list[Guess] = []
    least = np.inf
    for k, (bound, support) in enumerate(left):
        if bound > least:
            return guesses, list(left[k:])
        guesses.append(problem.guess(support))
        least = min(least, guesses[-1].value)
    return guesses, []


def _is_below(bound: float, value: Number) -> bool:
    return bound == -np.inf or rational(bound) < value


def supports(problem: Exact, *, has_all_sizes: bool = False) -> Iterator[Support]:
    """Allowed supports; only those that are not part of others where that is enough.

    With ``has_all_sizes`` it never is.
    """
    always = {problem.blocks[j] for j in problem.inside}
    never = {problem.blocks[j] for j in problem.outside}
    free = sorted(set(problem.blocks) - always - never)
    is_monotone = problem.price == 0 and not has_all_sizes
    is_monotone = is_monotone and all(
        _holds_zero(problem, j) or j in problem.inside for j in range(problem.n)
    )
    counts = list(reversed(range(min(len(free), problem.limit - len(always)) + 1)))
    # Supports with as many switches are not part of each other.
    if is_monotone and not problem.group_limits:
        counts = counts[:1]
    seen: list[frozenset[int]] = []
    for count in counts:
        for some in combinations(free, count):
            on = always.union(some)
            support = frozenset(j for j in range(problem.n) if problem.blocks[j] in on)
            if problem.complaint(support):
                continue
            if is_monotone and any(support < other for other in seen):
                continue
            if is_monotone and len(counts) > 1:
                seen.append(support)
            yield tuple(sorted(support))


def _holds_zero(problem: Exact, j: int) -> bool:
    low, high = problem.lower[j], problem.upper[j]
    return (low is None or low <= 0) and (high is None or high >= 0)
