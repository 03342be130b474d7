"""A sparse point with a proof, and how both are kept in files."""

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from cardqp import storage
from cardqp._iterate import Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.gap import finite
from cardqp.certificate import Certificate
from cardqp.certificate.archive import from_arrays, to_arrays
from cardqp.exceptions import NotSolvedError, ProblemError
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Factor
from cardqp.solution.claim import Claim
from cardqp.solution.reason import why_infeasible
from cardqp.solution.status import Stage, Status
from cardqp.solution.stored import (
    point_from,
    stages_from_text,
    stages_to_text,
    support_from,
)
from cardqp.solution.verification import Verification, verify

FORMAT = "cardqp-solution-2"
"""The format of stored solutions, which docs/certificate.md describes."""

_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "support": support_from,
    "objective": float,
    "lower_bound": float,
    "gap": float,
    "n_nodes": int,
    "tolerance": float,
}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Solution:
    """A sparse point with a proof of how good it is.

    Attributes
    ----------
    x : (n,) array or None
        The best point found.
    support : int array
        Its nonzeros.
    objective : float
        The objective at ``x``, constant included; infinite without a point.
    lower_bound : float
        No feasible point has a smaller objective.  It refers to the problem as given,
        not to a reduced one.
    gap : float
        ``(objective - lower_bound) / |objective|``, not below 0; where the terms of the
        objective cancel almost, relative to 1e-8 of their size, and near zero to 1e-12
        of what a single variable could gain within its bounds.
    status, stop : Status and Stop
        What is proved about ``x``, and why the computation ended.
    stages : tuple of Stage
        Where the time went.
    certificate : Certificate or None
        The proof of ``lower_bound``; None if no record was kept.
    n_nodes : int
        Branches processed on the problem as given.
    tolerance : float
        The gap that was asked for.  If it is beyond 1 %, the solution is never called
        optimal.
    problem : SparseQP
        What was solved.
    claim : Claim or None
        The answer of another solver, if one was used; it is not proved here, and not
        stored by :meth:`save`.
    """

    x: FloatArray | None
    support: IntArray
    objective: float
    lower_bound: float
    gap: float
    status: Status
    stop: Stop
    stages: tuple[Stage, ...]
    certificate: Certificate | None
    n_nodes: int
    tolerance: float
    problem: SparseQP
    claim: Claim | None = None

    @property
    def seconds(self) -> float:
        """Total time of all stages."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def advice(self) -> str:
        """A hint at what to change or to do next."""
        if self.status is Status.FEASIBLE and self.lower_bound == -np.inf:
            if not (self.problem.ridge > 0).all():
                return (
                    "use a weak ridge, such as eta=1e6, without which nothing is proved"
                )
            is_factor = isinstance(self.problem.quadratic, Factor)
            other = "" if is_factor else ", or SparseQP.from_factor"
            return (
                "the ridge 1/eta is lost in the rounding of Q, so nothing can be "
                f"proved: use a smaller eta{other}"
            )
        claim = self.claim
        if claim is not None and claim.solver.startswith("cardqp "):
            return "raise `proof_memory`, so that the proof is kept and can be replayed"
        return self.status.advice

    @property
    def reason(self) -> str:
        """A clause that says why there is no feasible point, where that is simple.

        It is looked for when it is asked for; "" if there is none, or if it takes many
        rows, or branches, to prove that there is no point.
        """
        is_empty = self.status is Status.INFEASIBLE
        return why_infeasible(self.problem) if is_empty else ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables in the support."""
        return tuple(self.problem.name_of(int(j)) for j in self.support)

    @property
    def has_gap(self) -> bool:
        """Whether the gap is within the tolerance, however large that is."""
        return self.x is not None and self.gap <= self.tolerance

    def verify(self, *, threads: int = 1, gap: float | None = None) -> Verification:
        """Recompute feasibility, cardinality, objective and bound from the data.

        Parameters
        ----------
        threads : int
            How many threads replay a long proof.
        gap : float, optional
            The gap that must be proved; by default the solution's own tolerance, if it
            is called optimal.

        Returns
        -------
        Verification
            The recomputed numbers, and every claim that they do not confirm.
        """
        check.count("threads", threads)
        if gap is not None:
            check.at_least("gap", gap, 0.0)
        return verify(self, threads, gap)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the solution and its certificate to a ``.npz`` archive.

        The problem is not part of it, but named by its digest: see
        :meth:`cardqp.SparseQP.save`.  The page docs/certificate.md says what is in the
        archive.
        """
        arrays = {name: getattr(self, name) for name in ("x", *_NUMBERS)}
        arrays |= {"format": FORMAT, "problem_digest": self.problem.digest}
        arrays |= {"status": self.status.name, "stop": self.stop.name}
        arrays["stages"] = stages_to_text(self.stages)
        if self.certificate is not None:
            arrays |= to_arrays(self.certificate)
        storage.write_arrays(path, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str], problem: SparseQP) -> "Solution":
        """Read a solution of a problem; nothing in it is proved before :meth:`verify`.

        Raises
        ------
        ProblemError
            When the file is not a solution, or one of another problem.
        """
        data = storage.read_arrays(path)
        if str(data.get("format")) != FORMAT:
            raise ProblemError(
                "path", f"must be a solution in the format {FORMAT}", given=f"{path}"
            )
        if str(data.get("problem_digest")) != problem.digest:
            raise ProblemError(
                "problem",
                "must be the one that was solved",
                given=f"{path} is about a problem with other numbers",
                remedy="save the problem beside its solution, and load both",
            )
        try:
            numbers = {name: kind(data[name]) for name, kind in _NUMBERS.items()}
            x = point_from(data["x"]) if "x" in data else None
            status, stop = Status[data["status"]], Stop[data["stop"]]
            stages = stages_from_text(data["stages"])
        except (KeyError, TypeError, ValueError, OverflowError) as err:
            raise ProblemError(
                "path", "must be a solution", given=f"{path} is not, for {err}"
            ) from None
        return cls(
            x=x,
            status=status,
            stop=stop,
            stages=stages,
            certificate=from_arrays(data),
            problem=problem,
            **numbers,
        )

    def raise_for_status(self) -> None:
        """Raise unless the solution is proved optimal.

        Raises
        ------
        NotSolvedError
            With the status, the reason and the advice.
        """
        if self.status is not Status.OPTIMAL:
            status = f"{self.status.name}: {self.status.value} ({self.stop.value})"
            parts = (status, self.reason, self.advice)
            raise NotSolvedError(f"{'; '.join(filter(None, parts))}.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings for JSON; infinities become None."""
        values = np.zeros(0) if self.x is None else self.x[self.support]
        claim = {} if self.claim is None else {"claim": self.claim.to_dict()}
        reason = {"reason": self.reason} if self.status is Status.INFEASIBLE else {}
        return {
            **claim,
            **reason,
            "status": self.status.name,
            "stop": self.stop.name,
            "objective": finite(self.objective),
            "lower_bound": finite(self.lower_bound),
            "gap": finite(self.gap),
            "support": [int(j) for j in self.support],
            "names": list(self.names),
            "values": [float(v) for v in values],
            "n_nodes": self.n_nodes,
            "seconds": self.seconds,
            "stages": [
                {
                    "name": stage.name,
                    "seconds": stage.seconds,
                    "size_before": stage.size_before,
                    "size_after": stage.size_after,
                    "detail": stage.detail,
                }
                for stage in self.stages
            ],
        }

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name}, objective={self.objective:.6g}, "
            f"lower_bound={self.lower_bound:.6g}, gap={self.gap:.2e}, "
            f"support={self.support.tolist()})"
        )
