"""From a search to a solution: more is claimed only after it was recomputed."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from cardqp._iterate import Stop
from cardqp.certificate import Certificate, SweepCertificate
from cardqp.columns import Columns
from cardqp.gap import relative_gap
from cardqp.problem import SparseQP
from cardqp.run import Run
from cardqp.solution import Solution, Status

QUICK = 3000
"""A certificate with no more branches is replayed before any bound is reported; a
larger one only for a claim of optimality."""

QUICK_PRODUCTS = 2e11
"""The same for a certificate of sweeps: entries of the data times dual points."""


class Searched(Protocol):
    """What a search leaves behind."""

    n_nodes: int

    @property
    def lower_bound(self) -> float:
        """The bound proved."""

    @property
    def certificate(self) -> Certificate | SweepCertificate | None:
        """Its proof."""


def conclude(run: Run, tree: Searched, stop: Stop) -> Solution:
    """Assemble the solution; more is claimed only after it was recomputed."""
    problem, x = run.problem, run.x
    objective = np.inf if x is None else problem.objective(x)
    certificate = tree.certificate
    lower = min(tree.lower_bound, objective)
    gap = relative_gap(problem, x, objective, lower)
    status = Status.UNKNOWN if x is None else Status.FEASIBLE
    solution = Solution(
        x=x,
        support=np.zeros(0, dtype=np.intp) if x is None else np.flatnonzero(x),
        objective=objective,
        lower_bound=lower,
        gap=gap,
        status=status,
        stop=run.watch.stopped or stop,
        stages=tuple(run.stages),
        certificate=certificate,
        n_nodes=tree.n_nodes,
        tolerance=run.gap,
        problem=problem,
        claim=run.claim,
    )
    try:
        return _claim_more(solution, run.threads)
    except KeyboardInterrupt:  # the second one, with the answer at hand
        return replace(solution, stop=Stop.INTERRUPTED)


def _claim_more(solution: Solution, threads: int) -> Solution:
    """Call a solution optimal, or infeasible, if its own check confirms it."""
    if solution.x is None:
        better = replace(solution, status=Status.INFEASIBLE, stop=Stop.INFEASIBLE)
        is_proved = solution.lower_bound == np.inf
    else:
        better = replace(solution, status=Status.OPTIMAL, stop=Stop.GAP)
        is_proved = solution.gap <= solution.tolerance
    certificate = solution.certificate
    if certificate is None:
        return better if is_proved else solution  # the bound is the search's word
    if is_proved and (found := better.verify(threads=threads)).ok:
        return _claim_less(better, found.lower_bound)
    if is_proved or _is_quick(certificate, solution.problem):
        return _claim_less(solution, certificate.lower_bound(solution.problem))
    return solution


def _is_quick(certificate: Certificate | SweepCertificate, problem: SparseQP) -> bool:
    """Whether a replay hardly takes time."""
    form = problem.quadratic
    if isinstance(certificate, SweepCertificate) and isinstance(form, Columns):
        n_points = len(certificate.root) + len(certificate.leaves)
        return n_points * float(form.n) * form.n_samples <= QUICK_PRODUCTS
    return len(certificate) <= QUICK


def _claim_less(solution: Solution, proved: float) -> Solution:
    """The solution with no more of a bound than its certificate proves."""
    lower = min(solution.lower_bound, proved)
    gap = relative_gap(solution.problem, solution.x, solution.objective, lower)
    return replace(solution, lower_bound=lower, gap=gap)
