"""Very many columns: a tree on a working set, whose leaves are certified by sweeps."""

from cardqp.branch_and_bound.streamed.bound import StreamedBound
from cardqp.branch_and_bound.streamed.coarsen import bound_open_nodes
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.size import (
    can_copy,
    has_streamed_levels,
    is_streamed,
    is_worth_streaming,
)
from cardqp.branch_and_bound.streamed.tree import StreamedTree

__all__ = [
    "StreamedBound",
    "StreamedSearch",
    "StreamedTree",
    "bound_open_nodes",
    "can_copy",
    "has_streamed_levels",
    "is_streamed",
    "is_worth_streaming",
]
