"""The status of a solution, and the stages that led to it."""

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """Status by what is proved of a solution; each value is a sentence that says it."""

    OPTIMAL = "the gap to a proved lower bound is within tolerance, and at most 1 %"
    FEASIBLE = "a feasible point is known; its optimality is not proved"
    INFEASIBLE = "proved: no point meets the constraints at this sparsity"
    UNKNOWN = "stopped before finding a feasible point or a proof"

    @property
    def advice(self) -> str:
        """A hint at what to change or to do next."""
        return _ADVICE[self]


_ADVICE = {
    Status.OPTIMAL: "nothing to do",
    Status.FEASIBLE: 'use method="exact" (the default), more time or a larger gap',
    Status.INFEASIBLE: "relax the rows one by one, the bounds or the sparsity",
    Status.UNKNOWN: 'use method="exact" (the default) or more time',
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a computation.

    Attributes
    ----------
    name : str
        Its name.
    seconds : float
        How long it took.
    size_before, size_after : int
        How many variables were undecided before and after it.
    detail : str
        Further results, in words.
    """

    name: str
    seconds: float
    size_before: int
    size_after: int
    detail: str = ""
