"""A solution is recomputed from the data, and held against what it claims."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cardqp.exceptions import ProblemError
from cardqp.feasibility import Feasibility
from cardqp.gap import gap_unit, relative_gap
from cardqp.solution.status import Status

if TYPE_CHECKING:
    from cardqp.solution.solution import Solution

SLACK = 1e-12
"""A recomputed number may differ this much, relative to its terms, when sums are taken
in another order."""

CLAIM_SLACK = 1e-5
"""How far, relatively, another solver's bound may be above an objective: its points
meet constraints to tolerances of its own."""


@dataclass(frozen=True, slots=True)
class Verification:
    """A solution recomputed from the problem's data alone.

    Attributes
    ----------
    objective, lower_bound, gap : float
        Recomputed; the bound comes from the certificate.
    feasibility : Feasibility or None
        None when there is no point.
    complaints : tuple of str
        Where the solution claims more than was found; empty if it is sound.
    """

    objective: float
    lower_bound: float
    gap: float
    feasibility: Feasibility | None
    complaints: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every claim was confirmed."""
        return not self.complaints


def verify(solution: "Solution", threads: int) -> Verification:
    """Recompute a solution, replaying its certificate in so many threads."""
    problem, x, certificate = solution.problem, solution.x, solution.certificate
    lower = -np.inf
    if certificate is not None:
        lower = certificate.lower_bound(problem, threads)
    if x is None:
        feasibility, objective = None, np.inf
    elif x.shape != (problem.n,) or not np.isfinite(x).all():
        complaint = (f"x must be {problem.n} finite numbers",)
        return Verification(np.inf, lower, np.inf, None, complaint)
    else:
        try:
            feasibility, objective = problem.feasibility(x), problem.objective(x)
        except ProblemError as err:
            return Verification(np.inf, lower, np.inf, None, (str(err),))
    gap = relative_gap(problem, x, objective, lower)
    complaints = (
        *_complaints_about_x(solution, objective, feasibility),
        *_complaints_about_bound(solution, lower, gap),
        *_complaints_about_claim(solution, objective),
    )
    return Verification(objective, lower, gap, feasibility, complaints)


def _complaints_about_x(
    solution: "Solution", objective: float, feasibility: Feasibility | None
) -> Iterator[str]:
    if feasibility is not None and not feasibility.holds():
        yield f"x is not feasible: {feasibility}"
    if not np.isclose(objective, solution.objective, rtol=SLACK, atol=0.0):
        yield f"the objective is {objective}, not {solution.objective}"
    support = np.flatnonzero(np.zeros(0) if solution.x is None else solution.x)
    if not np.array_equal(support, solution.support):
        yield f"the support is {support.tolist()}, not {list(solution.support)}"


def _complaints_about_bound(
    solution: "Solution", lower: float, gap: float
) -> Iterator[str]:
    terms = abs(lower) + abs(solution.problem.constant)
    slack = SLACK * terms if np.isfinite(lower) else 0.0
    if not solution.lower_bound <= lower + slack:
        if solution.certificate is None:
            yield "no certificate was kept, so the bound cannot be checked"
        else:
            yield f"the certificate proves {lower}, not {solution.lower_bound}"
    claimed = relative_gap(
        solution.problem, solution.x, solution.objective, solution.lower_bound
    )
    if not np.isclose(solution.gap, claimed, rtol=1e-6, atol=SLACK):
        yield f"the gap is {claimed}, not {solution.gap}"
    if solution.status is Status.OPTIMAL and not gap <= solution.tolerance < 1.0:
        yield f"the gap is {gap:.2e}, not within {solution.tolerance:.2e}"
    if solution.status is Status.INFEASIBLE and lower != np.inf:
        yield "the certificate does not prove infeasibility"


def _complaints_about_claim(solution: "Solution", objective: float) -> Iterator[str]:
    """Where its point contradicts what another solver says."""
    claim = solution.claim
    if claim is None or solution.x is None:
        return
    unit = gap_unit(solution.problem, solution.x, objective)
    if claim.bound > objective + CLAIM_SLACK * unit:
        yield (
            f"{claim.solver} says that nothing is below {claim.bound}, but x has "
            f"the objective {objective}"
        )
