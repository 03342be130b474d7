"""The page about a portfolio."""

import html
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cardqp import ParameterError, Status, Stop, Trace
from cardqp.models import Portfolio, frontier
from cardqp.report import PortfolioData, portfolio_report
from cardqp.report.portfolio_page import plot_weights
from cardqp.report.portfolio_sentences import (
    certificate,
    frontier_costs,
    headline,
    objective,
    percent,
)
from tests.report.examples import ATTACK


@cache
def data(**settings):
    rng = np.random.default_rng(2)
    returns = rng.normal(0.002, 0.02, (60, 8)) + rng.normal(0, 0.01, (60, 1))
    names = (ATTACK, *(f"asset {j}" for j in range(1, 8)))
    portfolio = Portfolio(returns=returns, max_assets=3, names=names, **settings)
    trace = Trace()
    answer = portfolio.solve(callback=trace)
    trace.close(answer.solution)
    curve = frontier(portfolio.with_goal(), 4)
    free = frontier(portfolio.with_any_count(), targets=curve.targets)
    return PortfolioData(
        title="My portfolio",
        source="prices.csv",
        command="cardqp portfolio prices.csv",
        date="1 January 2030",
        answer=answer,
        n_periods=60,
        frontier=curve,
        free_frontier=free,
        trace=trace,
    )


def plain(page):
    return html.unescape(re.sub(r"<[^>]*>", "", page.split("</style>")[1]))


def test_all_that_is_there_is_told():
    page = portfolio_report(data())
    assert re.findall(r"<section id='(\w+)'>", page) == [
        *("weights", "frontier", "data", "proof", "reproduce")
    ]
    said, answer = plain(page), data().answer
    for words in (
        "My portfolio",
        "3 of 8 assets",
        percent(answer.risk),
        *answer.named(),
        "Weights sum to one; at most 3 assets.",
        "No such portfolio has an objective below",
        "replayed from the data before it was claimed",
        "Holding at most 3 assets costs",
        "8 assets over 60 periods",
        "cardqp portfolio prices.csv",
    ):
        assert words in said
    assert "<script" not in re.sub(r"base64,[^']*", "", page)


def test_the_same_data_gives_the_same_page():
    assert portfolio_report(data()) == portfolio_report(data())


def test_what_is_not_there_is_left_out():
    bare = replace(data(), frontier=None, free_frontier=None, trace=None)
    page = portfolio_report(replace(bare, n_periods=None))
    assert "Risk and return" not in page
    assert "against time" not in page
    assert "8 assets; risk and return" in plain(page)


def test_shares_of_the_variance_sum_to_one():
    answer = data(risk_aversion=2.0).answer
    shares = answer.risk_contributions
    assert shares.sum() == pytest.approx(1.0)
    covariance = answer.portfolio.risk_model.form.dense()
    expected = answer.weights * (covariance @ answer.weights) / answer.variance
    np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-12)
    without = replace(answer.solution, x=None)
    assert replace(answer, solution=without).risk_contributions is None


def test_without_a_limit_the_risk_is_no_larger():
    pairs = zip(data().frontier.points, data().free_frontier.points, strict=True)
    assert all(free.risk <= own.risk * (1 + 1e-6) for own, free in pairs)
    few = Portfolio(covariance=np.eye(4), max_assets=2, minimum_position=0.3)
    assert few.solve().variance == pytest.approx(0.5)
    assert few.with_any_count().solve().variance == pytest.approx(0.25)


def test_what_the_limit_costs_is_the_ratio_of_risks():
    curve, free = data().frontier, data().free_frontier
    pairs = zip(curve.points, free.points, strict=True)
    ratios = [own.risk / other.risk - 1 for own, other in pairs]
    assert f"to {percent(max(ratios))} more risk" in frontier_costs(curve, free)


def test_bars_are_percent():
    ax = plot_weights(["a", "b"], [0.6, 0.4], [1.2, -0.2])
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == pytest.approx([60.0, 40.0, 120.0, -20.0])


def test_the_headline_says_what_is_proved():
    answer = data().answer
    assert headline(answer).endswith("has a variance more than 0.01 % smaller.")
    open_ = replace(answer.solution, status=Status.FEASIBLE, gap=0.2)
    assert headline(replace(answer, solution=open_)).endswith(
        "; another one could have a variance up to 20 % smaller."
    )
    unknown = replace(answer.solution, status=Status.FEASIBLE, gap=np.inf)
    assert headline(replace(answer, solution=unknown)).endswith("is not known.")
    gone = replace(answer.solution, x=None, status=Status.UNKNOWN)
    assert headline(replace(answer, solution=gone)) == (
        "No portfolio of at most 3 assets that meets the limits was found."
    )


def test_no_portfolio_is_told():
    never = Portfolio(covariance=np.eye(4), max_assets=2, maximum_position=0.3).solve()
    assert certificate(never.solution)[0] == "No portfolio meets the limits."
    page = plain(portfolio_report(replace(data(), answer=never, frontier=None)))
    assert "There is no portfolio." in page


def test_limits_that_nothing_meets_are_named():
    answer = Portfolio(covariance=np.eye(8), max_assets=2, maximum_position=0.4).solve()
    assert headline(answer) == (
        "No portfolio of at most 2 assets meets the limits: the sum of the weights is "
        "at most 0.8 (2 x 0.4) with at most 2 assets within the bounds, and must be 1; "
        "it takes 3 assets or more."
    )


def test_what_is_not_proved_is_said():
    solution = replace(
        data().answer.solution, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT, gap=0.2
    )
    said = " ".join(certificate(solution))
    assert "It is not proved to be the best: the time limit was reached." in said
    assert "What could help" in said
    unknown = replace(solution, lower_bound=-np.inf)
    assert "is not known." in certificate(unknown)[0]


def test_goals_and_limits_are_said():
    said = objective(
        Portfolio(
            [0.1, 0.2],
            np.eye(2),
            max_assets=1,
            risk_aversion=4.0,
            target_return=0.15,
            long_only=False,
            ridge=0.5,
        )
    )
    assert "(2 × variance − expected return), with 0.500 added to every" in said
    assert "short sales are allowed" in said
    assert "the expected return is 15.0 % or more" in said
    plain_one = Portfolio(covariance=np.eye(2), max_assets=1, minimum_position=0.1)
    assert "added" not in objective(plain_one)
    assert "what is held has a least weight" in objective(plain_one)


def test_bad_arguments():
    with pytest.raises(ParameterError, match="`answer` must be a PortfolioSolution"):
        replace(data(), answer=3)
    with pytest.raises(ParameterError, match="`data` must be a PortfolioData"):
        portfolio_report("page")
