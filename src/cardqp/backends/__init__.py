"""Other mixed-integer solvers, one adapter each.

They get the problem as one mixed-integer program in units that suit them, and what they
say comes back as a :class:`Claim` that nobody has checked.  No solver is imported
before it is used.
"""

from cardqp.backends.catalogue import Backend, BackendInfo, find, installed
from cardqp.backends.cvxpy import Cvxpy
from cardqp.backends.gurobi import Gurobi
from cardqp.backends.scip import Scip
from cardqp.solution.claim import Claim, ClaimStatus

__all__ = [
    "Backend",
    "BackendInfo",
    "Claim",
    "ClaimStatus",
    "Cvxpy",
    "Gurobi",
    "Scip",
    "find",
    "installed",
]
