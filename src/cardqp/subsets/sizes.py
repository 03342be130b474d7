"""The best supports of several sizes, one size after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cardqp._iterate import Callback, Progress, Stop, Watch
from cardqp._typing import IntArray
from cardqp.branch_and_bound.precompile import load_for, load_tree_for
from cardqp.exceptions import NotSolvedError
from cardqp.pipeline.alternatives import Alternatives, alternatives
from cardqp.problem import SparseQP
from cardqp.subsets.known import Pool, good_supports
from cardqp.subsets.listing import Listing, Ranked, load_listing

SHARPER = 0.01
"""Branch and bound closes the gap to this share, so that ranks are right."""


@dataclass(slots=True, eq=False)
class SizeSearch:
    """A search of all supports, by size.

    Attributes
    ----------
    problem : SparseQP
        The problem; its sparsity is of no account.
    n_best : int
        How many supports are wanted of each size.
    gap : float
        Relative gap at which branch and bound takes a support for the best.
    watch : Watch
        The clock.
    listing : Listing or None
        The search by dropping, where it is of use; None once a size took too long.
    """

    problem: SparseQP
    n_best: int
    gap: float
    watch: Watch
    listing: Listing | None

    @classmethod
    def of(
        cls, problem: SparseQP, ruled: SparseQP, n_best: int, gap: float, watch: Watch
    ) -> "SizeSearch":
        """Prepare a problem, also given with the rule which points count."""
        listing = Listing.of(ruled)
        if listing is not None:
            with watch.paused():
                load_listing()
        return cls(problem, n_best, gap, watch, listing)

    def run(self, sizes: Sequence[int]) -> Iterator[tuple[int, Ranked]]:
        """Yield the best supports of sizes, in increasing order, until time is up."""
        smaller: tuple[IntArray, ...] = (np.asarray(self.problem.forced_in, np.intp),)
        for size in sizes:
            if self._ends(size):
                return
            found = self._listed(size, smaller)
            if found is None and not self.watch.is_over:
                found = self._branched(size)
            if found is None or not found.supports:
                return
            smaller = found.supports
            yield size, found

    def _listed(self, size: int, smaller: tuple[IntArray, ...]) -> Ranked | None:
        """By dropping variables; None if that takes too long."""
        if self.listing is None:
            return None
        known = self._known(self.listing, size, smaller)
        found = self.listing.best(size, self.n_best, known, partial(self._ends, size))
        if found is None:
            self.listing = None
        return found

    def _ends(self, size: int) -> bool:
        """Whether to stop, once it was told how far the search has come."""
        return self.watch.check(partial(_progress, size)) is not None

    def _known(
        self, listing: Listing, size: int, smaller: tuple[IntArray, ...]
    ) -> Pool:
        """Good supports of a size, with about what they gain."""
        inside, pool = np.asarray(self.problem.forced_in, np.intp), Pool()
        while smaller and len(smaller[0]) < size:
            pool = good_supports(listing.G, listing.c, smaller, inside, self.n_best)
            best = sorted(pool, key=pool.__getitem__, reverse=True)[: self.n_best]
            smaller = tuple(np.array(support, np.intp) for support in best)
        return pool

    def _branched(self, size: int) -> Ranked | None:
        """By branch and bound, each support in what those before it leave.

        Supports that are smaller are listed, too, and are passed over: as they are no
        better than those that include them, none of these is missed by that.
        """
        with self.watch.paused():
            load_for(self.problem)
            load_tree_for(self.problem)
        count, gap = self.n_best, SHARPER * self.gap
        while (found := self._alternatives(size, count, gap)) is not None:
            kept = [k for k, s in enumerate(found.supports) if self._size(s) == size]
            if found.stop is Stop.STALLED and gap < self.gap:
                # Rounding exceeds the sharper gap; ranks are right up to the other.
                gap = self.gap
                continue
            if len(kept) >= self.n_best or found.stop is not Stop.MAX_COUNT:
                return _ranked(found, kept[: self.n_best])
            count *= 2
        return None

    def _alternatives(self, size: int, count: int, gap: float) -> Alternatives | None:
        try:
            return alternatives(
                self.problem.with_limits(sparsity=size),
                np.inf,
                max_count=count,
                gap=gap,
                time_limit=self.watch.seconds_left,
                callback=self._callback(size),
            )
        except NotSolvedError:
            return None
        finally:
            self.watch.notice()

    def _callback(self, size: int) -> Callback | None:
        """Tells of branch and bound as a part of the search, and ends all of it."""
        watch = self.watch
        if watch.callback is None:
            return None

        def tell(progress: Progress) -> bool:
            stage = f"subsets of {size}, {progress.stage}"
            renamed = partial(replace, progress, stage=stage)
            return watch.check(lambda seconds: renamed(seconds=seconds)) is not None

        return tell

    def _size(self, support: IntArray) -> int:
        """How many variables, or blocks of them, a support has."""
        blocks = self.problem.blocks
        return len(support) if blocks is None else len(np.unique(blocks[support]))


def _ranked(found: Alternatives, kept: list[int]) -> Ranked:
    """Some of the alternatives; all that follow one bound what is not before it."""
    bounds = [found.lower_bound, *(s.lower_bound for s in reversed(found.solutions))]
    least = np.minimum.accumulate(bounds)[:0:-1]
    objective = np.array([solution.objective for solution in found])
    stop = None if found.is_complete else found.stop
    return Ranked(found.supports, objective, least, stop).take(kept)


def _progress(size: int, seconds: float) -> Progress:
    return Progress(f"subsets of {size}", size, seconds)
