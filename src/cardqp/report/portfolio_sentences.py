"""Sentences on a portfolio and its proof, which claim nothing more."""

import math

from cardqp.models.efficient_frontier import Frontier
from cardqp.models.portfolio import Portfolio, PortfolioSolution
from cardqp.report.sentences import (
    PROVED,
    at_most,
    bound_of,
    has_bound,
    how,
    number,
    objective_of,
    plural,
)
from cardqp.solution import Solution, Status

FAINT = 1e-8
"""A ridge that is a smaller share of the mean variance changes no digit on a page."""


def percent(value: float | None) -> str:
    """A share of one in percent; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return number(None)
    return f"{number(100.0 * value, 3)} %"


def goal(portfolio: Portfolio) -> str:
    """What is minimised, in a few words."""
    if portfolio.risk_aversion is None:
        return "variance"
    return f"objective ({portfolio.risk_aversion / 2:g} × variance − expected return)"


def allowed(portfolio: Portfolio) -> str:
    """The set of portfolios that the bound is about."""
    return f"portfolio of at most {plural(portfolio.max_assets, 'asset')}"


def headline(answer: PortfolioSolution) -> str:
    """The answer in one sentence."""
    portfolio, solution = answer.portfolio, answer.solution
    if answer.weights is None:
        if reason := answer.reason:
            return f"No {allowed(portfolio)} meets the limits: {reason}."
        return f"No {allowed(portfolio)} that meets the limits was found."
    held = f"{len(answer.named())} of {plural(portfolio.n, 'asset')}"
    start = f"{held}, with a risk of {percent(answer.risk)} per period"
    if not math.isnan(answer.expected_return):
        start += f" and an expected return of {percent(answer.expected_return)}"
    if not _is_known(solution):
        return f"{start}; how good other choices could be is not known."
    less, what = at_most(solution.gap), goal(portfolio).split(" (")[0]
    if solution.status is Status.OPTIMAL:
        others = f"no other {allowed(portfolio)}"
        return f"{start}, and {others} has {_a(what)} more than {less} smaller."
    return f"{start}; another one could have {_a(what)} up to {less} smaller."


def objective(portfolio: Portfolio) -> str:
    """What is minimised, and under which conditions."""
    said = [f"Weights sum to one; at most {plural(portfolio.max_assets, 'asset')}"]
    if (portfolio.lower < 0).any():
        said.append("short sales are allowed")
    if (portfolio.lower > 0).any():
        said.append("what is held has a least weight")
    if portfolio.target_return is not None:
        wanted = percent(portfolio.target_return)
        said.append(f"the expected return is {wanted} or more")
    if portfolio.max_turnover is not None:
        most = percent(portfolio.max_turnover)
        said.append(f"purchases and sales are at most {most}")
    ridge = ""
    if portfolio.ridge > FAINT * float(portfolio.risk_model.variances.mean()):
        ridge = f", with {number(portfolio.ridge, 3)} added to every variance"
    return f"Minimised is the {goal(portfolio)}{ridge}. {'; '.join(said)}."


def certificate(solution: Solution) -> list[str]:
    """Sentences on what is proved."""
    if solution.status is Status.INFEASIBLE:
        return ["No portfolio meets the limits.", how(solution)]
    if solution.x is None:
        return [f"No portfolio was found: {solution.stop.value}.", _advice(solution)]
    if not math.isfinite(solution.lower_bound):
        return ["How far it is from the best possible is not known.", _advice(solution)]
    said = [
        f"No such portfolio has an objective below {bound_of(solution)}.",
        f"This one has {objective_of(solution)}.",
    ]
    if solution.status in PROVED:
        return [*said, how(solution)]
    stopped = f"It is not proved to be the best: {solution.stop.value}."
    return [*said, stopped, _advice(solution)]


def frontier_costs(curve: Frontier, free: Frontier) -> str:
    """What the limit on the number of assets costs, where it costs most."""
    least_risk = {
        target: point.risk
        for target, point in zip(free.targets, free.points, strict=True)
        if point.weights is not None and point.risk > 0
    }
    pairs = [
        (point.risk / least_risk[target] - 1.0, target, point.portfolio.max_assets)
        for target, point in zip(curve.targets, curve.points, strict=True)
        if point.weights is not None and target in least_risk
    ]
    if not pairs:
        return ""
    least, (most, target, count) = min(pairs)[0], max(pairs)
    return (
        f"Holding at most {plural(count, 'asset')} costs {percent(max(least, 0.0))} to "
        f"{percent(most)} more risk than any number of them, most at an expected "
        f"return of {percent(target)}."
    )


def _is_known(solution: Solution) -> bool:
    """Whether more is proved than that a variance is not negative."""
    return has_bound(solution) or (
        solution.objective < 0 and math.isfinite(solution.gap)
    )


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _advice(solution: Solution) -> str:
    return f"What could help: {solution.advice}."
