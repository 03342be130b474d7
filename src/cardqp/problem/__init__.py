"""The problem: data that is checked once and never changes."""

from cardqp.problem.changes import lift
from cardqp.problem.memory_copy import in_memory
from cardqp.problem.sparse_qp import SparseQP

__all__ = ["SparseQP", "in_memory", "lift"]
