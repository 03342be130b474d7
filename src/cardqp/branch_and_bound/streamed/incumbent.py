"""A first support, and all exact swaps over all columns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.streamed.size import fewer
from cardqp.branch_and_bound.streamed.working_set import WorkingSet
from cardqp.heuristics.local_search import (
    IMPROVEMENT,
    SupportView,
    changes_seen,
    grow_greedily,
    improve,
)
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm
from cardqp.subproblems.support_qp import SupportFit, fit_support

FIRST = 1000
"""Columns among which a first support is looked for: those that gain most alone."""

PER_PLACE = 4
"""With many rows it is looked for among fewer, but so many for each nonzero."""

STEEPEST = 200
"""Columns that join them after a swap: those with the largest slopes."""

REPLACEMENTS = 20
"""The best replacements of each chosen column, which the working set starts with."""

ALONE, SLOPED = 200, 300
"""Columns that it starts with besides: for their gain alone, and for their slopes."""


@dataclass(frozen=True, slots=True, eq=False)
class SwapResult:
    """What a sweep of all swaps found around a support.

    Attributes
    ----------
    fit : SupportFit
        The best point so far, of the working set.
    improved : bool
        Whether a swap has improved it.
    replacements : int array
        Columns that could best replace the chosen ones.
    slope : (n,) array
        The slope of the objective at the point.
    """

    working: WorkingSet
    fit: SupportFit
    improved: bool
    replacements: IntArray
    slope: FloatArray


def initial_fit(
    problem: SparseQP,
    form: StreamedForm,
    start: FloatArray | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[WorkingSet, SupportFit]:
    """A good point on the columns that gain most alone, and those of a start."""
    known = np.zeros(0, dtype=np.intp) if start is None else np.flatnonzero(start)
    best = best_single_columns(problem, _initial_count(problem, form))
    ids = np.union1d(np.union1d(best, problem.forced_in), known)
    working = WorkingSet.of(problem, form, ids)
    reduced = working.reduced
    supports = [grow_greedily(reduced, reduced.forced_in, is_over)]
    if len(known):
        supports.append(np.flatnonzero(np.isin(ids, known)))
    fits = (fit_support(reduced, support) for support in supports)
    improved = (improve(reduced, fit, is_over) for fit in fits)
    return working, min(improved, key=lambda fit: fit.objective)


def _initial_count(problem: SparseQP, form: StreamedForm) -> int:
    """Columns for a first support: fewer with many rows, but some for each place."""
    least = 0 if problem.sparsity is None else PER_PLACE * problem.sparsity
    return min(FIRST, max(fewer(form, FIRST), least))


def best_single_columns(problem: SparseQP, count: int) -> IntArray:
    """Columns that gain most on their own, those excluded left out."""
    gain = problem.c**2 / (problem.quadratic.diagonal + problem.ridge)
    return largest(problem, gain, count)


def largest(problem: SparseQP, score: FloatArray, count: int) -> IntArray:
    """Columns with the largest scores, those excluded left out."""
    score = score.copy()
    score[problem.forced_out] = -1.0
    count = min(count, len(score) - len(problem.forced_out))
    if count <= 0:
        return np.zeros(0, dtype=np.intp)
    return np.sort(np.argpartition(-score, count - 1)[:count])


def try_swaps(
    problem: SparseQP,
    working: WorkingSet,
    fit: SupportFit,
    is_over: Callable[[], bool] = lambda: False,
) -> SwapResult | None:
    """All swaps with all columns, in one sweep; None if there is nothing to swap."""
    if fit.x is None or not fit.x.any():
        return None
    support = working.ids[np.flatnonzero(fit.x)]
    try:
        view = SupportView.of(problem, support)
    except np.linalg.LinAlgError:
        return None  # the ridge is lost in the rounding of Q
    change = changes_seen(problem, support, view)
    count = min(fewer(working.form, REPLACEMENTS), problem.n)
    near = np.argpartition(change, count - 1, axis=1)[:, :count]
    leaves, enters = np.unravel_index(int(change.argmin()), change.shape)
    improved = False
    if change[leaves, enters] < -IMPROVEMENT * abs(fit.objective):
        steep = largest(problem, np.abs(view.slope), fewer(working.form, STEEPEST))
        working = working.with_more(np.union1d(steep, [enters]))
        start = np.union1d(np.delete(support, leaves), [enters])
        places = np.sort([working.places[int(j)] for j in start])
        found = fit_support(working.reduced, places)
        found = improve(working.reduced, found, is_over)
        improved = found.objective < fit.objective - IMPROVEMENT * abs(fit.objective)
        fit = found if improved else _extended(fit, working)
    return SwapResult(working, fit, improved, np.unique(near), view.slope)


def _extended(fit: SupportFit, working: WorkingSet) -> SupportFit:
    """The same point on a larger working set."""
    if fit.x is None:
        return fit
    x = np.zeros(len(working.ids))
    x[: len(fit.x)] = fit.x
    return SupportFit(x, fit.beta, fit.objective)


def initial_columns(problem: SparseQP, found: SwapResult) -> IntArray:
    """What the working set of the search starts with."""
    form = found.working.form
    x = np.zeros(0) if found.fit.x is None else found.fit.x
    chosen = found.working.ids[np.flatnonzero(x)]
    parts = (
        chosen,
        problem.forced_in,
        best_single_columns(problem, fewer(form, ALONE)),
        largest(problem, np.abs(found.slope), fewer(form, SLOPED)),
        np.setdiff1d(found.replacements, problem.forced_out),
    )
    return np.unique(np.concatenate(parts))
