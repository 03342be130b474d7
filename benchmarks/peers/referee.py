"""The referee: what a peer's claim is worth on the problem as given."""

import math
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.peers.runner import Claim
from benchmarks.peers.tasks import Reference
from cardqp import SparseQP
from cardqp.bounds.gap import relative_gap
from cardqp.subproblems.support_qp import fit_support

TOLERANCE = 1e-4
"""The relative gap of a proof, for us and for peers, and the agreement of optima."""

ROUNDING = 1e-6
"""Relative allowance for a peer that stops exactly at its tolerance."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A peer's result after the check.

    Attributes
    ----------
    status : str
        ``proved``; ``open`` (no proof within the limit); ``wrong`` (it claims a proof
        or a bound that a known point refutes); ``sparsity`` (it has too many
        nonzeros, or the optimum of fewer); ``BELOW`` (its point refutes our own bound).
    seconds : float
        The time of its solve.
    objective : float
        The better of its point and of the refit on its support.  With rows, only the
        refit: its point may break them by its tolerance.
    gap : float
        To its own bound; NaN without one.
    certified_gap : float
        To our proved bound.
    bound : float
        Its own bound.
    cpu_seconds : float
        Our own time of the processor, which other programs do not slow down.
    """

    status: str
    seconds: float = math.nan
    objective: float = math.nan
    gap: float = math.nan
    certified_gap: float = math.nan
    bound: float = math.nan
    cpu_seconds: float = math.nan


def judge(
    problem: SparseQP, reference: Reference, claim: Claim, time_limit: float
) -> Verdict:
    """Recompute a peer's objective and gaps, and decide what it has proved."""
    support = np.flatnonzero(claim.x)
    if len(support) > problem.rule.limit:
        status = "sparsity" if claim.claims_optimal else "open"
        return Verdict(status, claim.seconds, bound=claim.bound)
    objective = fit_support(problem, support).objective
    if problem.is_unconstrained:
        objective = min(objective, problem.objective(claim.x))
    if not math.isfinite(objective):
        status = "wrong" if claim.claims_optimal else "open"
        return Verdict(status, claim.seconds, bound=claim.bound)

    def gap_to(bound: float) -> float:
        return relative_gap(problem, claim.x, objective, bound)

    verdict = Verdict(
        status="open",
        seconds=claim.seconds,
        objective=objective,
        gap=gap_to(claim.bound) if math.isfinite(claim.bound) else math.nan,
        certified_gap=gap_to(reference.lower_bound),
        bound=claim.bound,
    )
    is_full = len(support) == problem.rule.limit
    return replace(
        verdict, status=_status(verdict, reference, claim, time_limit, is_full)
    )


def _status(
    verdict: Verdict,
    reference: Reference,
    claim: Claim,
    time_limit: float,
    is_full: bool,
) -> str:
    unit = abs(reference.objective)
    if verdict.objective < reference.lower_bound - ROUNDING * unit:
        return "BELOW"
    if claim.bound > reference.objective + TOLERANCE * unit:
        return "wrong"
    if not claim.claims_optimal:
        return "open"
    if verdict.objective > reference.objective + TOLERANCE * unit:
        return "wrong" if is_full else "sparsity"
    is_closed = verdict.gap <= TOLERANCE * (1 + ROUNDING)
    return "proved" if is_closed and claim.seconds <= time_limit else "open"
