"""Verification: a solution is recomputed from the data and compared to its claims."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cardqp._typing import FloatArray
from cardqp.bounds.gap import gap_unit, relative_gap
from cardqp.bounds.positive_ridge import is_counted
from cardqp.bounds.start import has_ridge
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, in_memory
from cardqp.problem.feasibility import SOLVED_TOLERANCE, Feasibility
from cardqp.solution.status import Status

if TYPE_CHECKING:
    from cardqp.solution.solution import Solution

SLACK = 1e-12
"""How much a recomputed number may differ, relative to its terms: sums are taken in
another order."""

MOST_SLACK = 1e-9
"""The most that the rows' part of a bound may add to the slack, in units of the gap."""

TOO_GOOD = 1e-6
"""How far, relatively, an objective may be below a proved bound: points meet their
rows up to tolerances."""

LARGEST_GAP = 0.01
"""The largest tolerance at which a solution may be called optimal."""

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
    tolerance : float
        The gap that was asked for, now or when the problem was solved.
    """

    objective: float
    lower_bound: float
    gap: float
    feasibility: Feasibility | None
    complaints: tuple[str, ...]
    tolerance: float = np.inf

    @property
    def ok(self) -> bool:
        """Whether every claim was confirmed."""
        return not self.complaints

    @property
    def verdict(self) -> str:
        """The result of the verification in a sentence."""
        if not self.ok:
            return "Not every claim is confirmed."
        if self.lower_bound == np.inf:
            return "Every claim is confirmed: there is no feasible point."
        if self.feasibility is None:
            return "Every claim is confirmed: no feasible point is known."
        side = "within" if self.gap <= self.tolerance else "beyond"
        return (
            f"Every claim is confirmed: the gap is {self.gap:.2e}, {side} the "
            f"tolerance of {self.tolerance:.2e}."
        )


def verify(
    solution: "Solution", threads: int = 1, asked: float | None = None
) -> Verification:
    """Recompute a solution and replay its certificate.

    Parameters
    ----------
    solution : Solution
        The solution.
    threads : int
        How many threads replay the certificate.
    asked : float, optional
        The gap that must be proved, in place of the solution's own tolerance.
    """
    lower = -np.inf
    if solution.certificate is not None:
        lower = solution.certificate.lower_bound(solution.problem, threads)
    return compare(solution, lower, asked)


def compare(
    solution: "Solution", lower: float, asked: float | None = None
) -> Verification:
    """Compare a solution to its recomputed point and to a proved lower bound."""
    problem, x = solution.problem, solution.x
    if x is None:
        feasibility, objective = None, np.inf
    elif x.shape != (problem.n,) or not np.isfinite(x).all():
        complaint = (f"x must be {problem.n} finite numbers",)
        return Verification(np.inf, lower, np.inf, None, complaint)
    else:
        try:
            feasibility, objective = problem.feasibility(x), problem.objective(x)
            if not (has_ridge(problem) or is_counted(in_memory(problem), x)):
                feasibility = replace(feasibility, is_independent=False)
        except ProblemError as err:
            return Verification(np.inf, lower, np.inf, None, (str(err),))
    gap = relative_gap(problem, x, objective, lower)
    complaints = (
        *_complaints_about_x(solution, objective, feasibility),
        *_complaints_about_bound(solution, objective, lower),
        *_complaints_about_gap(solution, lower, gap, asked),
        *_complaints_about_claim(solution, objective),
    )
    tolerance = solution.tolerance if asked is None else asked
    return Verification(objective, lower, gap, feasibility, complaints, tolerance)


def _complaints_about_x(
    solution: "Solution", objective: float, feasibility: Feasibility | None
) -> Iterator[str]:
    if feasibility is not None and not feasibility.holds():
        yield f"x is not feasible: {feasibility}"
    if (feasibility is None) == (solution.status in (Status.OPTIMAL, Status.FEASIBLE)):
        has = "no point" if feasibility is None else "a point"
        yield f"the status is {solution.status.name}, but there is {has}"
    terms = 0.0 if solution.x is None else solution.problem.terms_at(solution.x)
    if not np.isclose(objective, solution.objective, rtol=0.0, atol=SLACK * terms):
        yield f"the objective is {objective}, not {solution.objective}"
    support = np.flatnonzero(np.zeros(0) if solution.x is None else solution.x)
    if not np.array_equal(support, solution.support):
        yield f"the support is {support.tolist()}, not {list(solution.support)}"


def _complaints_about_bound(
    solution: "Solution", objective: float, lower: float
) -> Iterator[str]:
    problem, x, certificate = solution.problem, solution.x, solution.certificate
    slack = _slack_of_bound(solution, lower)
    if not solution.lower_bound <= lower + slack:
        if certificate is None:
            yield "no certificate was kept, so the bound cannot be checked"
        else:
            yield f"the certificate proves {lower}, not {solution.lower_bound}"
    if x is not None and is_out_of_reach(problem, x, objective, lower, slack):
        yield (
            f"the objective {objective} is below {lower}, which the certificate "
            "proves to be out of reach"
        )
    if solution.status is Status.INFEASIBLE and lower != np.inf:
        yield "the certificate does not prove infeasibility"


def _slack_of_bound(solution: "Solution", lower: float) -> float:
    """Return by how much a bound may differ when sums are taken in another order."""
    problem, x, certificate = solution.problem, solution.x, solution.certificate
    if not np.isfinite(lower):
        return 0.0
    unit = terms = abs(lower) + abs(problem.constant)
    if x is not None:
        unit = gap_unit(problem, x, solution.objective)
        terms += problem.terms_at(x)
    by_rows = 0.0 if certificate is None else certificate.magnitude(problem)
    # The rows' part is capped: a certificate with huge multipliers, which prove
    # nothing, must not earn a larger slack.
    return SLACK * terms + min(SLACK * by_rows, MOST_SLACK * unit)


def is_out_of_reach(
    problem: SparseQP, x: FloatArray, objective: float, lower: float, slack: float = 0.0
) -> bool:
    """Return whether an objective is below a bound by more than tolerances explain."""
    if objective >= lower:
        return False
    room = TOO_GOOD * gap_unit(problem, x, objective)
    room += SOLVED_TOLERANCE * problem.terms_at(x)
    return objective < lower - room - slack


def _complaints_about_gap(
    solution: "Solution", lower: float, gap: float, asked: float | None
) -> Iterator[str]:
    claimed = relative_gap(
        solution.problem, solution.x, solution.objective, solution.lower_bound
    )
    if not np.isclose(solution.gap, claimed, rtol=1e-6, atol=SLACK):
        yield f"the gap is {claimed}, not {solution.gap}"
    if asked is not None:
        if not (gap <= asked or lower == np.inf):
            yield f"the gap is {gap:.2e}, not within {asked:.2e}, which was asked for"
    elif solution.status is Status.OPTIMAL and not gap <= solution.tolerance:
        yield f"the gap is {gap:.2e}, not within {solution.tolerance:.2e}"
    if solution.status is Status.OPTIMAL and not solution.tolerance <= LARGEST_GAP:
        yield (
            f"nothing is optimal to a tolerance of {solution.tolerance:.2e}: it must "
            f"be at most {LARGEST_GAP:g}"
        )


def _complaints_about_claim(solution: "Solution", objective: float) -> Iterator[str]:
    """Yield a complaint if the point contradicts another solver's bound."""
    claim = solution.claim
    if claim is None or solution.x is None:
        return
    unit = gap_unit(solution.problem, solution.x, objective)
    if claim.bound > objective + CLAIM_SLACK * unit:
        yield (
            f"{claim.solver} says that nothing is below {claim.bound}, but x has "
            f"the objective {objective}"
        )
