"""Very many columns: a tree on a working set, whose leaves are certified by sweeps."""

from cardqp.wide.fold import settle
from cardqp.wide.search import SweepSearch
from cardqp.wide.size import in_memory, is_for_sweeps
from cardqp.wide.tree import SweepTree

__all__ = ["SweepSearch", "SweepTree", "in_memory", "is_for_sweeps", "settle"]
