"""What is known about an answer, and where the time went."""

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """What is known about the answer."""

    OPTIMAL = "the gap to a proved lower bound is within tolerance, and at most 1 %"
    FEASIBLE = "a feasible point is known; its optimality is not proved"
    INFEASIBLE = "proved: no point meets the constraints at this sparsity"
    UNKNOWN = "stopped before finding a feasible point or a proof"

    @property
    def advice(self) -> str:
        """What to do next."""
        return _ADVICE[self]


_ADVICE = {
    Status.OPTIMAL: "nothing to do",
    Status.FEASIBLE: 'use method="exact" (the default), more time or a larger gap',
    Status.INFEASIBLE: "relax the rows or bounds, or raise the sparsity",
    Status.UNKNOWN: 'use method="exact" (the default) or more time',
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipe: its name, its time, and the variables before and after."""

    name: str
    seconds: float
    size_before: int
    size_after: int
    detail: str = ""
