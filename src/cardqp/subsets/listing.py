"""The best supports of one size, by a search that looks at all that may be among them.

A support gains ``c'G^{-1}c / 4``; one that is larger gains no less.  Supports of a size
are those of all parts of the problem in which no columns depend
(docs/theory.md#circuits), and the search drops variables from each part until what is
left gains too little (docs/theory.md#dropping).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

import numpy as np
import scipy.linalg

from cardqp._iterate import Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import COMPLETION_UNIT, elimination_unit
from cardqp.bounds.circuits import Part, independent_parts
from cardqp.branch_and_bound.dropping import PartSearch
from cardqp.certificate.completions import gain_condition
from cardqp.certificate.dropping_kernel import Inside, Nodes
from cardqp.certificate.full_gain import MOST_VARIABLES, FullGain
from cardqp.problem import SparseQP
from cardqp.problem.independence import is_independent
from cardqp.subsets.kernel import DONE, PAUSED, ROOT, Best, list_best
from cardqp.subsets.known import Pool, Support

LARGEST_ERROR = 1e-4
"""The largest relative error of gains with which supports are listed: a bound of
rounding, and of gaps that are far smaller than what branch and bound leaves then."""

SLICE = 50_000
"""Steps between two looks at the clock."""

FIRST = 2_000
"""Steps before the whole search is estimated, which costs as much."""

MOST_EXPECTED = 1e7
"""The most steps that a search may be expected to take, some ten seconds."""

MOST_COLUMNS = 2 * MOST_VARIABLES
"""With more columns, parts that are small enough to be searched are far too many."""

DIVES = 64
"""Random dives by which steps are estimated."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The best supports of one size, best first.

    Attributes
    ----------
    supports : tuple of int arrays
        The supports.
    objective, lower_bound : arrays
        Their objectives, and bounds for all supports of this size that are not before
        them.
    stop : Stop or None
        Why there may be more of them than are known; None if there are not.
    """

    supports: tuple[IntArray, ...]
    objective: FloatArray
    lower_bound: FloatArray
    stop: Stop | None = None

    def take(self, kept: list[int]) -> "Ranked":
        """Some of them."""
        return replace(
            self,
            supports=tuple(self.supports[k] for k in kept),
            objective=self.objective[kept],
            lower_bound=self.lower_bound[kept],
        )


@dataclass(frozen=True, slots=True, eq=False)
class ListedPart:
    """A part of the supports in which no columns depend.

    Attributes
    ----------
    problem : SparseQP
        The problem on the variables of the part.
    part : Part
        These.
    full : FullGain
        All of them together: where the search begins.
    condition : float
        That of the matrix, for rounding.
    """

    problem: SparseQP
    part: Part
    full: FullGain
    condition: float

    @classmethod
    def of(cls, problem: SparseQP, part: Part) -> "ListedPart | None":
        """Prepare a part of a problem; None if digits are lost."""
        full = FullGain.of(problem, part.index)
        if full is None:
            return None
        own = problem.restrict(part.index)
        return cls(own, part, full, gain_condition(own))

    @property
    def fixed_in(self) -> IntArray:
        """The variables in all supports of the part."""
        return self.part.fixed_in

    @property
    def index(self) -> IntArray:
        """All of its variables."""
        return self.part.index

    def error(self, size: int) -> float:
        """By what share a gain may exceed the computed one."""
        return elimination_unit(size, self.problem.quadratic.formed) * self.condition

    def expected(self, size: int, least: float) -> float:
        """How many steps to expect for supports that gain more than a number."""
        search = PartSearch(self.part, self.full, size)
        return search.expected(self.full.threshold(least), DIVES)

    def fill(
        self, best: Best, most: float, is_over: Callable[[], bool]
    ) -> float | None:
        """Put supports into a list, in numbers of the part.

        Returns what is left of the steps that may be expected of all parts; None if
        they are too many, time is up, or digits are lost.
        """
        full, n_inside, size = self.full, len(self.fixed_in), best.member.shape[1]
        nodes = Nodes.start(full, n_inside)
        inside = Inside.start(full, n_inside, size)
        share, error = full.share, full.error
        code, at, _ = list_best(nodes, inside, best, ROOT, share, error, FIRST)
        if code == PAUSED:
            most -= self.expected(size, float(best.gain[-1]))
        while code == PAUSED and most >= 0.0 and not is_over():
            code, at, _ = list_best(nodes, inside, best, at, share, error, SLICE)
        return most if code == DONE else None


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """A problem whose supports are listed, and what is computed once for all sizes.

    Attributes
    ----------
    problem : SparseQP
        The problem, with the rule which points count; its sparsity is of no account.
    G, c : arrays
        Its matrix with the ridge, and its linear cost.
    parts : list of ListedPart
        Parts in which no columns depend.
    """

    problem: SparseQP
    G: FloatArray
    c: FloatArray
    parts: list[ListedPart]

    @classmethod
    def of(cls, problem: SparseQP) -> "Listing | None":
        """Prepare a problem; None if it is not for this search, or digits are lost."""
        if not problem.is_unconstrained or problem.rule.penalty:
            return None
        if problem.n > MOST_COLUMNS:
            return None
        is_out = np.isin(np.arange(problem.n), problem.forced_out)
        fixed_in = np.asarray(problem.forced_in, dtype=np.intp)
        free = np.setdiff1d(np.flatnonzero(~is_out), fixed_in)
        found = []
        for each in independent_parts(problem, fixed_in, free) or ():
            part = ListedPart.of(problem, each)
            if part is None:
                return None
            found.append(part)
        G = problem.quadratic.dense() + np.diag(problem.ridge)
        return cls(problem, G, problem.c, found) if found else None

    def best(
        self, size: int, count: int, known: Pool, is_over: Callable[[], bool]
    ) -> Ranked | None:
        """List the best supports of a size; None if that takes too long.

        Parts may have supports that are nearly dependent and do not count: as many more
        are listed then, and these are left out.

        Parameters
        ----------
        size, count : int
            How many variables, and how many supports.
        known : dict
            Supports of this size, with about what they gain: the more that is, the
            shorter the search.
        is_over : callable
            Whether time is up.
        """
        ordered = sorted(known, key=known.__getitem__, reverse=True)
        gains = (self.gain(support) for support in ordered if self.counts(support))
        wanted, good = count, list(islice(gains, count))
        while (found := self._best(size, wanted, good, is_over)) is not None:
            kept = [k for k, s in enumerate(found.supports) if self.counts(s)]
            if len(kept) >= count or len(found.supports) < wanted:
                return found.take(kept[:count])
            good += islice(gains, wanted)
            wanted *= 2
        return None

    def gain(self, support: Support) -> float:
        """What a support gains, by elimination; 0 if it has lost its digits."""
        index = np.array(support, np.intp)
        c = self.c[index]
        _, solved, failed = scipy.linalg.lapack.dposv(self.G[np.ix_(index, index)], c)
        return float(c @ solved) if failed == 0 else 0.0

    def counts(self, support: Sequence[int] | IntArray) -> bool:
        """Whether a support may be listed: its columns are independent, and not out."""
        least, index = self.problem.independence, np.array(support, np.intp)
        if np.isin(index, self.problem.forced_out).any():
            return False
        return least == 0.0 or is_independent(self.G[np.ix_(index, index)], least)

    def _best(
        self, size: int, count: int, gains: list[float], is_over: Callable[[], bool]
    ) -> Ranked | None:
        """List the best supports of all parts, as many of which gain what is known."""
        parts = [
            part for part in self.parts if len(part.fixed_in) <= size <= len(part.index)
        ]
        error = max((part.error(size) for part in parts), default=0.0)
        if not error < LARGEST_ERROR:
            return None
        # Known gains are added up in another order, and are to be found again.
        is_known = len(gains) >= count
        least = min(gains[:count]) * (1.0 - 4.0 * error) if is_known else -1.0
        best, left = Best.above(least, count, size), MOST_EXPECTED
        for part in parts:
            own = Best(best.gain.copy(), np.full_like(best.member, -1))
            after = part.fill(own, left, is_over)
            if after is None:
                return None
            best, left = _merged(best, own, part.index), after
        return self._ranked(best, error)

    def _ranked(self, best: Best, error: float) -> Ranked:
        """The list with objectives and bounds; shorter where there are no more."""
        is_found = best.member[:, 0] >= 0
        gain, constant = 0.25 * best.gain[is_found], self.problem.constant
        # Listed gains are off by the error, and others may exceed the last by it.
        most = gain * (1.0 + 2.0 * error)
        bound = constant - most - COMPLETION_UNIT * (abs(constant) + np.abs(most))
        supports = tuple(np.sort(row) for row in best.member[is_found])
        return Ranked(supports, constant - gain, bound)


def _merged(best: Best, own: Best, index: IntArray) -> Best:
    """A list in which those of a part have their places among those before."""
    before = iter(best.member)
    member = [next(before) if row[0] < 0 else index[row] for row in own.member]
    return Best(own.gain, np.array(member))


@cache
def load_listing() -> None:
    """Compile the search, or load it from disk, before the clock starts."""
    problem = SparseQP(np.eye(5), -np.ones(5), eta=1.0, sparsity=3)
    listing = Listing.of(problem)
    assert listing is not None
    listing.best(3, 2, {}, lambda: False)
