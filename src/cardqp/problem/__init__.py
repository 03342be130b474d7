"""The problem: data that is checked once and never changes."""

from cardqp.problem.changes import lift
from cardqp.problem.in_memory import in_memory
from cardqp.problem.sparse_qp import SparseQP

__all__ = ["SparseQP", "in_memory", "lift"]
