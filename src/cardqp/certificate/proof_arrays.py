"""Checks of the arrays of a proof: what is read from a file may be anything."""

import numpy as np

from cardqp._typing import IntArray
from cardqp.certificate.dropping import MOST_STEPS
from cardqp.certificate.dual_point import is_array
from cardqp.certificate.proof_tree import WITH_RECORD, Kind, ProofTree
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP


def check_arrays(
    tree: ProofTree, problem: SparseQP, *, is_streamed: bool = False
) -> None:
    """Raise unless all lengths match and every number is within its range."""
    if not (
        _have_lengths(tree, problem)
        and _have_ranges(tree, problem, is_streamed=is_streamed)
    ):
        raise ProblemError("The arrays of a proof do not fit together.")


def have_kinds(tree: ProofTree) -> bool:
    """Return whether the arrays hold numbers of the right kinds and dimensions."""
    kinds = {"value": ("f", 1), "beta": ("f", 2), "scale": ("f", 1)}
    return all(
        is_array(array, *kinds.get(name, ("i", 1)))
        for name, array in tree.arrays().items()
    )


def _have_lengths(tree: ProofTree, problem: SparseQP) -> bool:
    n_records = len(tree.point_end)
    return (
        len(tree.branch) == len(tree.child) == len(tree.record) == len(tree)
        and tree.beta.shape == (n_records, len(problem.rows))
        and len(tree.scale) == len(tree.fixed_end) == n_records
        and len(tree.index) == len(tree.value)
        and _is_cumulative(tree.point_end, len(tree.index))
        and _is_cumulative(tree.fixed_end, len(tree.fixed))
        and _is_cumulative(tree.cluster_end, len(tree.cluster))
    )


def _have_ranges(tree: ProofTree, problem: SparseQP, *, is_streamed: bool) -> bool:
    # In 64 bits: child + 1 and -fixed may overflow in the stored types.
    first, fixed = tree.child.astype(np.int64), tree.fixed.astype(np.int64)
    second = first + (tree.branch != -1)
    has_record = np.isin(tree.kind, WITH_RECORD)
    rules = (
        np.isin(tree.kind, list(Kind)),
        (tree.branch < problem.n) & (tree.branch >= -1 - len(tree.cluster_end)),
        (first == 0) | (first > np.arange(len(tree))),
        second < len(tree),
        (tree.record >= 0) | ~has_record,
        tree.record < len(tree.point_end),
        (tree.index >= 0) & (tree.index < problem.n),
        (fixed != 0) & (fixed >= -problem.n) & (fixed <= problem.n),
        np.isfinite(tree.value),
        np.isfinite(tree.beta),
        # Residuals have a scale, and only streamed data are bounded by residuals.
        np.isfinite(tree.scale) & (tree.scale >= 0) if is_streamed else tree.scale == 1,
        (tree.cluster >= 0) & (tree.cluster < problem.n),
    )
    is_right = all(bool(rule.all()) for rule in rules)
    has_numbers = is_right and _have_searches(tree) and _have_cutoffs(tree)
    return has_numbers and _have_clusters(tree, problem)


def _have_clusters(tree: ProofTree, problem: SparseQP) -> bool:
    """Return whether clusters are increasing sets, in a problem that may have any."""
    if len(tree.cluster_end) == 0:
        return True
    rule, sizes = problem.rule, np.diff(tree.cluster_end, prepend=0)
    if rule.groups is not None or rule.blocks is not None or not (sizes > 0).all():
        return False
    increases = np.diff(tree.cluster.astype(np.int64)) > 0
    increases[tree.cluster_end[:-1] - 1] = True
    return bool(increases.all())


def _have_searches(tree: ProofTree) -> bool:
    """Whether searches have a cutoff and a number of steps, and these are not too many.

    Records may be shared; each node that refers to one is searched.
    """
    records = tree.record[tree.kind == Kind.SEARCHED].astype(np.int64)
    row, at = entries(tree.point_end, records)
    if len(records) == 0 or (np.bincount(row, minlength=len(records)) != 2).any():
        return len(records) == 0
    n_steps = tree.value[at[1::2]].astype(np.float64)
    return bool((n_steps >= 0).all() and n_steps.sum() <= MOST_STEPS)


def _have_cutoffs(tree: ProofTree) -> bool:
    """Whether nodes that are cut off have one number, the cutoff."""
    records = tree.record[tree.kind == Kind.CUT_OFF].astype(np.int64)
    row, _ = entries(tree.point_end, records)
    return bool((np.bincount(row, minlength=len(records)) == 1).all())


def _is_cumulative(ends: IntArray, total: int) -> bool:
    if len(ends) == 0:
        return total == 0
    return bool((np.diff(ends) >= 0).all() and ends[0] >= 0 and ends[-1] == total)


def entries(ends: IntArray, records: IntArray) -> tuple[IntArray, IntArray]:
    """Return the number of the record, and the position, of each of their entries.

    The entries of all records lie one after the other and end at ``ends``.
    """
    start = np.where(records > 0, ends[records - 1], 0)
    count = ends[records] - start
    row = np.repeat(np.arange(len(records)), count)
    before = np.cumsum(count) - count
    return row, np.arange(len(row)) - before[row] + start[row]
