"""Very many columns: a tree on a working set, whose leaves are certified by sweeps."""

from cardqp.branch_and_bound.streamed.bound import SweepBound
from cardqp.branch_and_bound.streamed.coarsen import settle
from cardqp.branch_and_bound.streamed.search import SweepSearch
from cardqp.branch_and_bound.streamed.size import (
    can_copy,
    has_swept_levels,
    is_for_sweeps,
    is_worth_sweeps,
)
from cardqp.branch_and_bound.streamed.tree import SweepTree

__all__ = [
    "SweepBound",
    "SweepSearch",
    "SweepTree",
    "can_copy",
    "has_swept_levels",
    "is_for_sweeps",
    "is_worth_sweeps",
    "settle",
]
