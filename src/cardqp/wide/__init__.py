"""Very many columns: a tree on a working set, whose leaves are certified by sweeps."""

from cardqp.wide.bound import SweepBound
from cardqp.wide.fold import settle
from cardqp.wide.search import SweepSearch
from cardqp.wide.size import (
    can_copy,
    has_swept_levels,
    is_for_sweeps,
    is_worth_sweeps,
)
from cardqp.wide.tree import SweepTree

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
