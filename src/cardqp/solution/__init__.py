"""The answer, what is proved about it, and how to check it."""

from cardqp.solution.solution import Solution
from cardqp.solution.status import Stage, Status
from cardqp.solution.verification import Verification

__all__ = ["Solution", "Stage", "Status", "Verification"]
