"""Claims of solvers: answers without a proof that can be replayed."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from cardqp._typing import FloatArray
from cardqp.bounds.gap import finite


class ClaimStatus(Enum):
    """Outcome that a solver reports; nothing about it is proved here."""

    OPTIMAL = "the solver says that its point is optimal to the gap asked for"
    FEASIBLE = "the solver has a point and says nothing about its optimality"
    INFEASIBLE = "the solver says that no point meets the constraints"
    UNKNOWN = "the solver stopped without a point and without a proof"


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """The answer of a solver, of which nothing is proved by this library.

    It comes from another solver, or from our own search if its proof was not kept.

    Attributes
    ----------
    solver : str
        Its name and version.
    status : ClaimStatus
        How it ended.
    x : (n,) array or None
        Its point in the problem's units, exactly zero where it is switched off and
        otherwise as the solver gave it: feasible to the solver's tolerances only.
    objective : float
        The solver's own value of its point, constant included; infinite without one.
    bound : float
        Its lower bound, constant included; ``-inf`` if it gives none, and ``inf`` if
        it says that there is no point.
    gap : float
        Their relative difference (:mod:`cardqp.bounds.gap`); infinite without either.
    seconds : float
        From the call to the answer, writing the program included.
    n_nodes : int
        Branches that it processed, 0 if it does not say.
    message : str
        The solver's own word for how it ended.
    is_interrupted : bool
        Whether Ctrl-C ended it.
    """

    solver: str
    status: ClaimStatus
    x: FloatArray | None
    objective: float
    bound: float
    gap: float
    seconds: float
    n_nodes: int
    message: str
    is_interrupted: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the solver was done, in its own judgement."""
        return self.status in (ClaimStatus.OPTIMAL, ClaimStatus.INFEASIBLE)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings for JSON, without the point."""
        numbers = ("objective", "bound", "gap")
        return {
            "solver": self.solver,
            "status": self.status.name,
            **{name: finite(getattr(self, name)) for name in numbers},
            "seconds": self.seconds,
            "n_nodes": self.n_nodes,
            "message": self.message,
        }
