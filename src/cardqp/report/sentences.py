"""Sentences on the choice and its proof, which claim nothing more."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from cardqp.problem import SparseQP
from cardqp.report.contents import ReportData
from cardqp.solution import Solution, Status

SQUARED = "mean squared error"

PROVED = (Status.OPTIMAL, Status.INFEASIBLE)

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


def error_of(problem: SparseQP) -> str:
    """What is minimised: without a ridge there is nothing to penalise."""
    return "penalised mean squared error" if problem.ridge.any() else SQUARED


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


def has_bound(solution: Solution) -> bool:
    """Whether more is proved than that no error is negative, a gap of 1."""
    return solution.gap < 1.0


def gap_of(solution: Solution) -> str:
    """Upper bound on the relative gap as text, or "not known"."""
    return f"≤ {at_most(solution.gap)}" if has_bound(solution) else "not known"


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
    """The answer in one sentence: what it is worth on other rows, if that is known."""
    solution = data.solution
    if solution.x is None:
        return f"No {choices(solution.problem)} was found."
    subject = f"{len(data.features)} of {plural(data.n_features, 'feature')}"
    r2 = data.r2_out_of_sample
    verb, were = ("explains", "was") if len(data.features) == 1 else ("explain", "were")
    start = f"{subject} {were} chosen to predict {data.target}"
    if r2 is not None and 0 < r2 <= 1:
        start = (
            f"{subject} {verb} {100 * r2:.3g} % of the variation of {data.target} in "
            f"data that was left out ({data.judged_by})"
        )
    elif r2 is not None and r2 <= 0:
        start += (
            "; in data that was left out none of its variation is explained "
            f"({data.judged_by})"
        )
    return f"{start}{_outlook(solution)}."


def _outlook(solution: Solution) -> str:
    """End of a sentence: by how much another choice could lower the error at most."""
    if not has_bound(solution):
        return "; how good other choices could be is not known"
    less, error = at_most(solution.gap), error_of(solution.problem)
    if solution.status is Status.OPTIMAL:
        return f", and no other choice has a {error} more than {less} smaller"
    return f"; another choice could have a {error} up to {less} smaller"


def objective(data: ReportData) -> str:
    """What is minimised, in words, with the numbers of the ridge."""
    among = f"minimised over every {choices(data.solution.problem)}"
    if data.solution.problem.penalty:
        among += f", with {data.solution.problem.penalty:g} added for each feature"
    if not math.isfinite(data.eta):
        return f"The {SQUARED}, without a ridge, is {among}."
    scaled = ", features being scaled to unit variance" if data.is_standardized else ""
    by_data = ", chosen by these data" if data.is_automatic else ""
    return (
        f"The penalised {SQUARED} is {among}: the mean of the squared residuals plus "
        f"{1.0 / data.eta:.4g} times the sum of the squared coefficients (eta is "
        f"{data.eta:.4g}{by_data}, and the factor 1/eta{scaled})."
    )


def about_refit() -> str:
    """What is not proved of coefficients that were fitted again."""
    return (
        "The proof is about the penalised error. The coefficients and R² on this page "
        "are those of a fit without the ridge on the features that were chosen with "
        "it: another choice may have a smaller squared error. With `--no-ridge` "
        "(`eta=None` in Python) the choice itself is made, and proved, without a ridge."
    )


def certificate(solution: Solution) -> list[str]:
    """Sentences on what is proved."""
    end = f"What could help: {solution.advice}."
    if solution.status in PROVED:
        end = how(solution)
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
    if not has_bound(solution):
        return [
            f"This choice has a {error_of(solution.problem)} of "
            f"{objective_of(solution)}.",
            "How far it is from the best possible is not known: no bound was proved "
            f"but that no error is negative. It ended early: {stopped}.",
        ]
    return [*_between(solution), f"It is not proved to be the best: {stopped}."]


def _between(solution: Solution) -> list[str]:
    """The bound and the objective."""
    priced = ""
    if solution.problem.penalty:
        priced = f", with {solution.problem.penalty:g} added for each feature,"
    below = f": the best possible is at most {at_most(solution.gap)} lower"
    return [
        f"No {choices(solution.problem)} has a {error_of(solution.problem)}{priced} "
        f"below {bound_of(solution)}.",
        f"This one has {objective_of(solution)}{below}.",
    ]


def how(solution: Solution) -> str:
    """A sentence on the cost of the proof, and whether it was checked."""
    took = seconds(solution.seconds)
    branches = plural(solution.n_nodes, "branch", "es")
    return (
        f"Proved by {branches} in {took}; replayed from the data before it was claimed."
    )
