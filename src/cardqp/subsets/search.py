"""From moments to the table of best subsets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Stop, Watch
from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.positive_ridge import counted
from cardqp.exceptions import NotSolvedError, ParameterError
from cardqp.gram import Moments, is_constant, is_target_constant
from cardqp.regression.criteria import PERFECT
from cardqp.regression.design import Design, ScaledProblem
from cardqp.subsets.listing import Ranked
from cardqp.subsets.measures import MeasureName, Rows, gap_of
from cardqp.subsets.notes import (
    dependence,
    missing_ranks,
    missing_sizes,
    reason_of,
)
from cardqp.subsets.result import Subset, Subsets
from cardqp.subsets.sizes import SizeSearch
from cardqp.subsets.units import unit_names


def best_subsets(
    rows: Moments,
    design: Design,
    sizes: Sequence[int],
    *,
    n_best: int,
    criterion: MeasureName,
    gap: float,
    watch: Watch,
) -> Subsets:
    """Find the best subsets of some sizes.

    Parameters
    ----------
    rows : Moments
        Features and target.
    design : Design
        Which features are chosen in any case, or together.
    sizes : sequence of int
        Sizes in increasing order; 0 is the null model.
    n_best : int
        How many of each size.
    criterion : str
        What chooses among them.
    gap : float
        Relative gap at which a subset counts as the best.
    watch : Watch
        The clock.

    Raises
    ------
    NotSolvedError
        When time is up before the first size is searched, or there is no subset.
    ParameterError
        When Mallows' Cp is to choose, and is not known.
    """
    scaled = design.scaled(rows, np.inf, sizes[-1])
    names = design.names or tuple(f"x{j}" for j in range(scaled.problem.n))
    units = unit_names(names, design.blocks)
    fits = Fits(scaled, design, names, units, _rows(rows, design), gap)
    if criterion == "cp" and not fits.rows.variance > 0:
        raise ParameterError(
            "criterion",
            "must be another than cp",
            given="Cp needs more rows than features, and a fit with errors",
        )
    ruled = counted(scaled.problem)
    found = [fits.null_model()] if sizes[0] == 0 else []
    short: dict[tuple[int, Stop], list[int]] = {}
    if not is_target_constant(rows):
        search = SizeSearch.of(scaled.problem, ruled, n_best, gap, watch)
        for size, ranked in search.run(sizes[len(found) :]):
            found += fits.subsets(size, ranked)
            if (count := len(ranked.supports)) < n_best and ranked.stop is not None:
                short.setdefault((count, ranked.stop), []).append(size)
    stop = watch.stopped or Stop.COMPLETED
    reason = reason_of(rows, stop)
    if not found or (found[-1].size == 0 and stop.is_early):
        raise NotSolvedError(f"No subset was found: {reason}.")
    notes = (
        *dependence(ruled, names),
        *missing_ranks(short, n_best),
        *missing_sizes(sizes, found[-1].size, reason),
    )
    return Subsets(tuple(found), names, units, rows.n_samples, criterion, notes, stop)


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Least-squares fits of subsets, and what is said of them.

    Attributes
    ----------
    scaled, design : ScaledProblem, Design
        The problem.
    names, units : tuple of str
        Names of the features, and of what they are chosen with.
    rows : Rows
        The rows, as far as measures go.
    gap : float
        The gap at which a subset counts as the best.
    """

    scaled: ScaledProblem
    design: Design
    names: tuple[str, ...]
    units: tuple[str, ...]
    rows: Rows
    gap: float

    def null_model(self) -> Subset:
        """The fit without any feature."""
        return self._subset(0, 1, np.zeros(0, np.intp), self.scaled.rows.power)

    def subsets(self, size: int, ranked: Ranked) -> Iterator[Subset]:
        """The fits of supports of one size."""
        pairs = zip(ranked.supports, ranked.lower_bound.tolist(), strict=True)
        for rank, (support, bound) in enumerate(pairs, start=1):
            yield self._subset(size, rank, support, bound)

    def _subset(self, size: int, rank: int, support: IntArray, bound: float) -> Subset:
        """The fit of a support, with a bound on mean squares."""
        moments = self.scaled.rows
        coef = self.design.refitted(moments, support)
        rss = moments.weight * moments.mean_square(coef)
        lower = min(max(moments.weight * bound, 0.0), rss)
        gap = gap_of(rss, lower, self.rows.total)
        return Subset(
            size=size,
            rank=rank,
            features=tuple(self.names[j] for j in support),
            units=tuple(dict.fromkeys(self.units[j] for j in support)),
            support=support,
            coef=coef,
            intercept=self.scaled.intercept(coef),
            rss=rss,
            lower_bound=lower,
            gap=gap,
            status="OPTIMAL" if gap <= self.gap else "FEASIBLE",
            measures=self.rows.measures(rss, len(support), size),
        )


def _rows(rows: Moments, design: Design) -> Rows:
    """What measures need to know; the variance is that of the fit of all features.

    Weights count as repeated rows.
    """
    n, intercepts = len(rows.mean), int(rows.is_centred)
    left, variance = rows.weight - n - intercepts, np.nan
    total = 0.0 if is_target_constant(rows) else rows.weight * rows.power
    if left > 0:
        rss = rows.weight * rows.mean_square(design.refitted(rows, np.arange(n)))
        if rss > PERFECT * total:
            variance = rss / (left + _n_dependent(rows))
    return Rows(rows.weight, total, intercepts, design.n_units, variance)


def _n_dependent(rows: Moments) -> int:
    """How many features are explained by the others, or do not vary."""
    varied = np.flatnonzero(~is_constant(rows))
    scale = np.sqrt(rows.variance[varied])
    block: FloatArray = rows.block(varied) / np.multiply.outer(scale, scale)
    n_constant = len(rows.mean) - len(varied)
    return n_constant + len(varied) - int(np.linalg.matrix_rank(block, hermitian=True))
