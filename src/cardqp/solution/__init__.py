"""Solutions: the point, the proved bound, the status, and their verification."""

from cardqp.solution.solution import Solution
from cardqp.solution.status import Stage, Status
from cardqp.solution.verification import Verification

__all__ = ["Solution", "Stage", "Status", "Verification"]
