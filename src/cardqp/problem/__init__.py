"""The problem: data that is checked once and never changes."""

from cardqp.problem.changes import lift
from cardqp.problem.memory_copy import in_memory
from cardqp.problem.sparse_qp import SparseQP, check_problem

__all__ = ["SparseQP", "check_problem", "in_memory", "lift"]
