"""The problem: data that is checked once and never changes."""

from cardqp.problem.changes import lift
from cardqp.problem.sparse_qp import SparseQP

__all__ = ["SparseQP", "lift"]
