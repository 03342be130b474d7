"""A first support, and exact swaps with all columns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.streamed.settings import StreamedSettings
from cardqp.branch_and_bound.streamed.size import scaled_count
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


@dataclass(frozen=True, slots=True, eq=False)
class SwapResult:
    """The outcome of trying all swaps of a support in one pass.

    Attributes
    ----------
    working : WorkingSet
        The working set, with the columns of a swap that helps.
    fit : SupportFit
        The best point so far, on the working set.
    improved : bool
        Whether a swap has improved it.
    replacements : int array
        Columns that could best replace the chosen ones.
    slope : (n,) array
        The derivative of the objective at the point before the swap.
    """

    working: WorkingSet
    fit: SupportFit
    improved: bool
    replacements: IntArray
    slope: FloatArray


def initial_fit(
    problem: SparseQP,
    form: StreamedForm,
    settings: StreamedSettings,
    start: FloatArray | None,
    is_over: Callable[[], bool],
) -> tuple[WorkingSet, SupportFit]:
    """Find a good point on the columns that gain most alone and those of a start.

    Returned are these columns, and the better of a greedy support and that of the
    start, after swaps within the working set.
    """
    known = np.zeros(0, dtype=np.intp) if start is None else np.flatnonzero(start)
    best = best_single_columns(problem, _initial_count(problem, form, settings))
    columns = np.union1d(np.union1d(best, problem.forced_in), known)
    working = WorkingSet.of(problem, form, columns, settings.max_dense_bytes)
    reduced = working.reduced
    supports = [grow_greedily(reduced, reduced.forced_in, is_over)]
    if len(known):
        supports.append(np.flatnonzero(np.isin(columns, known)))
    fits = (fit_support(reduced, support) for support in supports)
    improved = (improve(reduced, fit, is_over) for fit in fits)
    return working, min(improved, key=lambda fit: fit.objective)


def _initial_count(
    problem: SparseQP, form: StreamedForm, settings: StreamedSettings
) -> int:
    """The number of columns among which a first support is searched for."""
    least = 0
    if problem.sparsity is not None:
        least = settings.columns_per_nonzero * problem.sparsity
    most = settings.initial_columns
    return min(most, max(scaled_count(form, most, settings), least))


def best_single_columns(problem: SparseQP, count: int) -> IntArray:
    """Columns with the largest gains on their own, those forced out excepted."""
    gain = problem.c**2 / (problem.quadratic.diagonal + problem.ridge)
    return largest_scores(problem, gain, count)


def largest_scores(problem: SparseQP, score: FloatArray, count: int) -> IntArray:
    """Columns with the largest scores, those forced out excepted."""
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
    settings: StreamedSettings,
    is_over: Callable[[], bool],
) -> SwapResult | None:
    """Evaluate the swaps of a support with all columns, and take the best if it helps.

    One pass over the data suffices: the exact change of the objective follows from the
    products of all columns with those of the support.  None if the support is empty, or
    its block of ``Q`` is numerically singular.
    """
    if fit.x is None or not fit.x.any():
        return None
    support = working.columns[np.flatnonzero(fit.x)]
    try:
        view = SupportView.of(problem, support)
    except np.linalg.LinAlgError:
        return None  # the ridge is lost in the rounding of Q
    change = changes_seen(problem, support, view)
    count = min(scaled_count(working.form, settings.replacements, settings), problem.n)
    near = np.argpartition(change, count - 1, axis=1)[:, :count]
    leaves, enters = np.unravel_index(int(change.argmin()), change.shape)
    improved = False
    if change[leaves, enters] < -IMPROVEMENT * abs(fit.objective):
        # More than the one column joins: further swaps within the working set cost no
        # pass, and steep columns are the likely ones.
        count = scaled_count(working.form, settings.steepest_columns, settings)
        steep = largest_scores(problem, np.abs(view.slope), count)
        working = working.extend(np.union1d(steep, [enters]))
        swapped = np.union1d(np.delete(support, leaves), [enters])
        found = _improved_fit(working, swapped, is_over)
        improved = found.objective < fit.objective - IMPROVEMENT * abs(fit.objective)
        fit = found if improved else _extended(fit, working)
    return SwapResult(working, fit, improved, np.unique(near), view.slope)


def _improved_fit(
    working: WorkingSet, support: IntArray, is_over: Callable[[], bool]
) -> SupportFit:
    """The fit on a support of the working set, after swaps within that."""
    positions = np.sort([working.position_of[int(column)] for column in support])
    return improve(working.reduced, fit_support(working.reduced, positions), is_over)


def _extended(fit: SupportFit, working: WorkingSet) -> SupportFit:
    """The fit with zeros for the columns by which the working set was extended."""
    if fit.x is None:
        return fit
    x = np.zeros(len(working.columns))
    x[: len(fit.x)] = fit.x
    return SupportFit(x, fit.beta, fit.objective)


def root_columns(
    problem: SparseQP, found: SwapResult, settings: StreamedSettings
) -> IntArray:
    """Columns that the working set of the root relaxation starts with.

    A good start saves passes at the root; these are columns that the relaxation is
    likely to switch on at least in part.
    """
    form = found.working.form
    x = np.zeros(0) if found.fit.x is None else found.fit.x
    single = scaled_count(form, settings.single_columns, settings)
    steep = scaled_count(form, settings.derivative_columns, settings)
    parts = (
        found.working.columns[np.flatnonzero(x)],
        problem.forced_in,
        best_single_columns(problem, single),
        largest_scores(problem, np.abs(found.slope), steep),
        np.setdiff1d(found.replacements, problem.forced_out),
    )
    return np.unique(np.concatenate(parts))
