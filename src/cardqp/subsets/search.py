"""From moments to the table of best subsets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Stop, Watch
from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.dependence import describe
from cardqp.bounds.positive_ridge import counted
from cardqp.exceptions import NotSolvedError, ParameterError
from cardqp.gram import Moments, is_constant
from cardqp.problem import SparseQP
from cardqp.regression.design import Design, ScaledProblem
from cardqp.subsets.measures import MeasureName, Rows
from cardqp.subsets.result import Subset, Subsets
from cardqp.subsets.sizes import SizeSearch

NEARLY = 1e-6
"""Gaps are relative to the sum of squared residuals, or to this share of the total if
that is more: fits are nearly perfect then."""


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
        Sizes in increasing order.
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
        When time is up before the first size is searched.
    ParameterError
        When Mallows' Cp is to choose, and is not known.
    """
    scaled = design.scaled(rows, np.inf, sizes[-1])
    names = design.names or tuple(f"x{j}" for j in range(scaled.problem.n))
    fits = Fits(scaled, design, names, _rows(rows, design), gap)
    if criterion == "cp" and not fits.rows.variance > 0:
        raise ParameterError(
            "criterion",
            "must be another than cp",
            given="Cp needs more rows than features, and a fit with errors",
        )
    found: list[Subset] = []
    ruled = counted(scaled.problem)
    search = SizeSearch.of(scaled.problem, ruled, n_best, gap, watch)
    for size, ranked in search.run(sizes):
        pairs = zip(ranked.supports, ranked.lower_bound.tolist(), strict=True)
        found += [fits.subset(size, k, *pair) for k, pair in enumerate(pairs, start=1)]
    if not found:
        reason = "" if watch.stopped is None else f": {watch.stopped.value}"
        raise NotSolvedError(f"No subset was found{reason}.")
    stop = watch.stopped or Stop.COMPLETED
    notes = tuple(_notes(ruled, sizes, found[-1].size, stop))
    return Subsets(tuple(found), names, rows.n_samples, criterion, notes, stop)


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Least-squares fits of subsets, and what is said of them.

    Attributes
    ----------
    scaled, design : ScaledProblem, Design
        The problem.
    names : tuple of str
        Names of the features.
    rows : Rows
        The rows, as far as measures go.
    gap : float
        The gap at which a subset counts as the best.
    """

    scaled: ScaledProblem
    design: Design
    names: tuple[str, ...]
    rows: Rows
    gap: float

    def subset(self, size: int, rank: int, support: IntArray, bound: float) -> Subset:
        """The fit of a support, with a bound on mean squares."""
        moments = self.scaled.rows
        coef = self.design.refitted(moments, support)
        rss = moments.weight * moments.mean_square(coef)
        lower = max(moments.weight * bound, 0.0)
        gap = max(rss - lower, 0.0) / (max(rss, NEARLY * self.rows.total) or 1.0)
        return Subset(
            size=size,
            rank=rank,
            features=tuple(self.names[j] for j in support),
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
    if left > 0:
        rss = rows.weight * rows.mean_square(design.refitted(rows, np.arange(n)))
        variance = rss / (left + _n_dependent(rows))
    total = rows.weight * rows.power
    return Rows(rows.weight, total, intercepts, design.n_units, variance)


def _n_dependent(rows: Moments) -> int:
    """How many features are explained by the others, or do not vary."""
    varied = np.flatnonzero(~is_constant(rows))
    scale = np.sqrt(rows.variance[varied])
    block: FloatArray = rows.block(varied) / np.multiply.outer(scale, scale)
    n_constant = len(rows.mean) - len(varied)
    return n_constant + len(varied) - int(np.linalg.matrix_rank(block, hermitian=True))


def _notes(
    ruled: SparseQP, sizes: Sequence[int], last: int, stop: Stop
) -> Iterator[str]:
    """What people should know."""
    if ruled.independence > 0.0:
        yield f"Linearly dependent, and not chosen together: {describe(ruled)}."
    if last < sizes[-1]:
        reason = stop.value if stop.is_early else "no subset was found"
        yield f"Sizes above {last} are missing: {reason}."
