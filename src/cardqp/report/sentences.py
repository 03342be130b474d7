"""Sentences on the choice and its proof, which claim nothing more."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from cardqp.problem import SparseQP
from cardqp.report.contents import ReportData
from cardqp.solution import Solution, Status

PROVED = (Status.OPTIMAL, Status.INFEASIBLE)

ERROR = "penalised mean squared error"

FINEST = 0.01
"""Smaller gaps, in percent, are not told apart."""


def number(value: float | None, digits: int = 4) -> str:
    """A number for people; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if size == 0:
        return "0"
    if not 1e-4 <= size < 1e7:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    decimals = max(digits - 1 - math.floor(math.log10(size)), 0)
    return f"{value:,.{decimals}f}".replace("-", "−")


def rounded(value: float, rounding: str, digits: int = 6) -> str:
    """A number rounded to one side, so that what is said about it stays true."""
    if not math.isfinite(value) or value == 0:
        return number(value)
    exact = Decimal(value)
    unit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    plain = float(exact.quantize(unit, rounding=rounding))
    return f"{plain:#.{digits}g}".rstrip(".").replace("-", "−")


def at_most(share: float) -> str:
    """A share in percent that is not exceeded."""
    if 100 * share <= FINEST:
        return f"{FINEST} %"
    return f"{rounded(100 * share, ROUND_CEILING, 2)} %"


def objective_of(solution: Solution) -> str:
    """The objective, rounded up."""
    return rounded(solution.objective, ROUND_CEILING)


def bound_of(solution: Solution) -> str:
    """The proved bound, rounded down."""
    return rounded(solution.lower_bound, ROUND_FLOOR)


def gap_of(solution: Solution) -> str:
    """Upper bound on the relative gap as text, or "not known"."""
    is_known = math.isfinite(solution.gap)
    return f"≤ {at_most(solution.gap)}" if is_known else "not known"


def plural(count: int, singular: str, ending: str = "s") -> str:
    """A count with its noun."""
    return f"{count:,} {singular}{ending if count != 1 else ''}"


def seconds(value: float) -> str:
    """A time for people."""
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"


def choices(problem: SparseQP) -> str:
    """The set of choices that the bound is about, in words."""
    what = "choice of features"
    if problem.sparsity is not None:
        what = f"choice of at most {plural(problem.sparsity, 'feature')}"
    if problem.blocks is not None:
        what += " (columns that belong together count as one)"
    is_bounded = np.isfinite([problem.lower, problem.upper]).any()
    n_forced = len(problem.forced_in) + len(problem.forced_out)
    if is_bounded or n_forced or problem.groups is not None or len(problem.rows):
        what += " that meets the constraints"
    return what


def headline(data: ReportData) -> str:
    """The answer in one sentence."""
    solution = data.solution
    if solution.x is None:
        return f"No {choices(solution.problem)} was found."
    known = data.r2_out_of_sample
    r2 = data.r2_in_sample if known is None else known
    subject = f"{len(data.features)} of {plural(data.n_features, 'feature')}"
    if not 0 <= r2 <= 1:
        start = f"{subject} were chosen to predict {data.target}"
    else:
        verb = "explains" if len(data.features) == 1 else "explain"
        start = f"{subject} {verb} {100 * r2:.3g} % of the variation of {data.target}"
        start += "" if known is None else " in data that was left out"
    return f"{start}{_outlook(solution)}."


def _outlook(solution: Solution) -> str:
    """End of a sentence: by how much another choice could lower the error at most."""
    if not math.isfinite(solution.gap):
        return "; how good other choices could be is not known"
    less = at_most(solution.gap)
    if solution.status is Status.OPTIMAL:
        return f", and no other choice has a {ERROR} more than {less} smaller"
    return f"; another choice could have a {ERROR} up to {less} smaller"


def certificate(solution: Solution) -> list[str]:
    """Sentences on what is proved."""
    end = f"What could help: {solution.advice}."
    if solution.status in PROVED:
        end = _how(solution)
    said = [*_known(solution), end]
    claim = solution.claim
    if claim is not None:
        said.append(f"{claim.solver}: {claim.status.value}; that is not proved here.")
    return said


def _known(solution: Solution) -> list[str]:
    stopped = solution.stop.value
    if solution.status is Status.OPTIMAL:
        return _between(solution)
    if solution.status is Status.INFEASIBLE:
        reason = solution.reason
        why = [f"{reason[0].upper()}{reason[1:]}."] if reason else []
        return [f"No {choices(solution.problem)} exists.", *why]
    if solution.status is Status.UNKNOWN:
        return [
            f"No {choices(solution.problem)} was found, and it is not proved that "
            f"there is none: {stopped}."
        ]
    if solution.lower_bound == -np.inf:
        return [
            f"This choice has a {ERROR} of {objective_of(solution)}.",
            "How far it is from the best possible is not known: no bound was proved.",
        ]
    return [*_between(solution), f"It is not proved to be the best: {stopped}."]


def _between(solution: Solution) -> list[str]:
    """The bound and the objective."""
    priced = ""
    if solution.problem.penalty:
        priced = f", with {solution.problem.penalty:g} added for each feature,"
    below = ""
    if math.isfinite(solution.gap):
        below = f": the best possible is at most {at_most(solution.gap)} lower"
    return [
        f"No {choices(solution.problem)} has a {ERROR}{priced} "
        f"below {bound_of(solution)}.",
        f"This one has {objective_of(solution)}{below}.",
    ]


def _how(solution: Solution) -> str:
    """A sentence on the cost of the proof, and whether it was checked."""
    took = seconds(solution.seconds)
    branches = plural(solution.n_nodes, "branch", "es")
    return (
        f"Proved by {branches} in {took}; replayed from the data before it was claimed."
    )
