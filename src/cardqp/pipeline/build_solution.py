"""From a search to a solution: more is claimed only after it was recomputed."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from cardqp import __version__
from cardqp._iterate import Stop
from cardqp.bounds.gap import gap_unit, relative_gap
from cardqp.bounds.positive_ridge import find_start
from cardqp.bounds.start import has_ridge
from cardqp.certificate import Certificate
from cardqp.methods.context import SolveContext
from cardqp.pipeline.dense_bound import with_dense_bound
from cardqp.problem import SparseQP, in_memory
from cardqp.problem.streamed_form import StreamedForm
from cardqp.solution import Solution, Status
from cardqp.solution.claim import Claim, ClaimStatus
from cardqp.solution.verification import LARGEST_GAP, compare, is_out_of_reach

QUICK = 3000
"""A certificate with no more branches is replayed before any bound is reported; a
larger one only for a claim of optimality."""

UNCHECKED = 1e-9
"""The share of the objective by which a bound is lowered that is not replayed."""

QUICK_PRODUCTS = 2e11
"""The limit for streamed certificates: entries of the data times dual points."""


class Searched(Protocol):
    """The result of a search: its bound, and the certificate for it."""

    n_nodes: int

    @property
    def lower_bound(self) -> float:
        """The bound that the search arrived at."""

    @property
    def certificate(self) -> Certificate:
        """The proof of that bound, or of a part of it."""

    @property
    def is_recorded(self) -> bool:
        """Whether the certificate proves all of the bound."""


def build_solution(context: SolveContext, tree: Searched, stop: Stop) -> Solution:
    """Assemble the solution; more is claimed only after it was recomputed."""
    problem, x = context.given or context.problem, context.x
    objective = np.inf if x is None else problem.objective(x)
    certificate, bound = _about(problem, tree.certificate), tree.lower_bound
    if not tree.is_recorded:
        # What cannot be replayed is the search's word, not a proof.
        bound = certificate.lower_bound(problem, context.threads)
    if relative_gap(problem, x, objective, bound) > context.gap:
        certificate, bound = with_dense_bound(problem, certificate, bound)
    lower = min(bound, objective)
    gap = relative_gap(problem, x, objective, lower)
    status = Status.UNKNOWN if x is None else Status.FEASIBLE
    solution = Solution(
        x=x,
        support=np.zeros(0, dtype=np.intp) if x is None else np.flatnonzero(x),
        objective=objective,
        lower_bound=lower,
        gap=gap,
        status=status,
        stop=context.watch.stopped or stop,
        stages=tuple(context.stages),
        certificate=certificate,
        n_nodes=tree.n_nodes,
        tolerance=context.gap,
        problem=problem,
        claim=context.claim if tree.is_recorded else _own_claim(context, tree, stop),
    )
    try:
        solution = _promote(solution, context.threads)
    except KeyboardInterrupt:  # the second one, with the answer at hand
        return replace(solution, stop=Stop.INTERRUPTED)
    if solution.stop is Stop.GAP and not solution.has_gap:
        # The gap holds for a better point than the method's own, or up to rounding.
        return replace(solution, stop=Stop.COMPLETED)
    return solution


def _about(problem: SparseQP, certificate: Certificate) -> Certificate:
    """The certificate for the problem as given, which may have no ridge.

    Most methods search a view of it that has one.
    """
    if certificate.ridge_start is not None or has_ridge(problem):
        return certificate
    return replace(certificate, ridge_start=find_start(in_memory(problem)))


def _promote(solution: Solution, threads: int) -> Solution:
    """Call a solution optimal, or infeasible, if its own check confirms it.

    First its bound is lowered to what its certificate proves.
    """
    certificate = solution.certificate
    if certificate is None:
        return solution
    if not (_is_proved(solution) or _is_quick(certificate, solution.problem)):
        return _cap(solution, solution.lower_bound - _unchecked(solution))
    proved = certificate.lower_bound(solution.problem, threads)
    solution = _cap(solution, proved)
    problem, x = solution.problem, solution.x
    if x is not None and is_out_of_reach(problem, x, solution.objective, proved):
        # It is below the proved bound by the tolerance of rows only.
        solution = _without_point(solution, proved)
    better = _judged(solution)
    return better if compare(better, proved).ok else solution


def _unchecked(solution: Solution) -> float:
    """What is taken off a bound that is not replayed at once.

    Search and replay round differently, the more so the weaker a ridge is.
    """
    if solution.x is None:
        return 0.0
    return UNCHECKED * gap_unit(solution.problem, solution.x, solution.objective)


def _own_claim(context: SolveContext, tree: Searched, stop: Stop) -> Claim:
    """The claim of a search whose proof was not kept."""
    x = context.x
    objective = np.inf if x is None else context.problem.objective(x)
    gap = relative_gap(context.problem, x, objective, min(tree.lower_bound, objective))
    if gap <= context.gap:
        status = ClaimStatus.OPTIMAL
    elif tree.lower_bound == np.inf:
        status = ClaimStatus.INFEASIBLE
    else:
        status = ClaimStatus.UNKNOWN if x is None else ClaimStatus.FEASIBLE
    return Claim(
        solver=f"cardqp {__version__}",
        status=status,
        x=x,
        objective=objective,
        bound=tree.lower_bound,
        gap=gap,
        seconds=context.watch.seconds,
        n_nodes=tree.n_nodes,
        message=f"{stop.value}; the proof was not kept",
    )


def _is_proved(solution: Solution) -> bool:
    """Whether the gap that was asked for is reached, or there is no feasible point."""
    return solution.has_gap or solution.lower_bound == np.inf


def _judged(solution: Solution) -> Solution:
    """The solution with the status that its bound deserves."""
    if not _is_proved(solution):
        return solution
    if solution.x is None:
        return replace(solution, status=Status.INFEASIBLE, stop=Stop.INFEASIBLE)
    is_optimal = solution.tolerance <= LARGEST_GAP
    status = Status.OPTIMAL if is_optimal else Status.FEASIBLE
    return replace(solution, status=status, stop=_unless_stopped(solution, Stop.GAP))


def _unless_stopped(solution: Solution, stop: Stop) -> Stop:
    """Why the computation ended: somebody's wish to end everything is not forgotten."""
    return solution.stop if solution.stop.is_wish else stop


def _is_quick(certificate: Certificate, problem: SparseQP) -> bool:
    """Whether replaying a certificate takes little time."""
    form = problem.quadratic
    if isinstance(form, StreamedForm) and certificate.is_streamed(problem):
        products = certificate.n_points * float(form.n) * form.n_samples
        return products <= QUICK_PRODUCTS
    return len(certificate) <= QUICK


def _without_point(solution: Solution, proved: float) -> Solution:
    """The solution with what is proved about all points, and no point."""
    return replace(
        solution,
        x=None,
        support=np.zeros(0, dtype=np.intp),
        objective=np.inf,
        lower_bound=proved,
        gap=np.inf,
        status=Status.UNKNOWN,
    )


def _cap(solution: Solution, proved: float) -> Solution:
    """The solution with no more of a bound than its certificate proves."""
    lower = min(solution.lower_bound, proved)
    gap = relative_gap(solution.problem, solution.x, solution.objective, lower)
    return replace(solution, lower_bound=lower, gap=gap)
