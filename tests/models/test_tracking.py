import numpy as np
import pandas as pd
import pytest

from cardqp import ProblemError, Status
from cardqp.models import IndexTracking
from tests.models.truth import best_portfolio

N, SIZE, PERIODS = 7, 3, 40


def market(seed):
    rng = np.random.default_rng(seed)
    returns = rng.normal(0.002, 0.02, (PERIODS, 1)) + rng.normal(0, 0.02, (PERIODS, N))
    return returns, returns @ rng.dirichlet(np.ones(N))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "limits",
    [
        {"ridge": 0.0},
        {},
        {"minimum_position": 0.3},
        {"maximum_position": 0.4},
        {"long_only": False},
    ],
    ids=str,
)
def test_equals_enumeration(limits, seed):
    returns, index = market(seed)
    model = IndexTracking(returns, index, max_assets=SIZE, **limits)
    answer = model.solve(gap=1e-7)
    most = limits.get("maximum_position", np.inf)
    least = limits.get("minimum_position", 0.0)
    best = index @ index / PERIODS + best_portfolio(
        returns.T @ returns / PERIODS + model.ridge * np.eye(N),
        -2 * returns.T @ index / PERIODS,
        size=SIZE,
        lower=np.full(N, least if limits.get("long_only", True) else -most),
        upper=np.full(N, most),
    )
    assert answer.status is Status.OPTIMAL
    assert answer.objective == pytest.approx(best, rel=1e-6)
    assert answer.solution.verify().ok
    weights = answer.weights
    assert weights.sum() == pytest.approx(1.0)
    error = returns @ weights - index
    assert answer.tracking_error == pytest.approx(np.sqrt(np.mean(error**2)))
    assert answer.r_squared == pytest.approx(1 - np.mean(error**2) / index.var())
    assert answer.lower_bound <= answer.objective
    assert answer.gap <= 1e-7


def test_without_a_budget_the_sum_is_free():
    returns, index = market(0)
    half = IndexTracking(returns, 0.5 * index, max_assets=N, fully_invested=False)
    answer = half.solve()
    assert answer.weights.sum() == pytest.approx(0.5, abs=0.01)
    assert answer.r_squared > 0.999


def test_names_and_texts():
    returns, index = market(1)
    frame = pd.DataFrame(returns, columns=list("abcdefg"))
    model = IndexTracking(frame, pd.Series(index), max_assets=2)
    answer = model.solve()
    assert set(answer.named()) <= set("abcdefg")
    assert list(answer.to_series().index) == list("abcdefg")
    assert "tracking error" in str(answer)
    assert repr(answer).startswith("TrackingSolution(OPTIMAL, tracking_error=")
    assert repr(model) == "IndexTracking(n=7, periods=40, max_assets=2)"


def test_infeasible_is_a_status():
    returns, index = market(1)
    answer = IndexTracking(returns, index, max_assets=2, maximum_position=0.3).solve()
    assert answer.status is Status.INFEASIBLE
    assert answer.weights is None
    assert answer.reason == (
        "the sum of the weights is at most 0.6 (2 x 0.3) with at most 2 assets within "
        "the bounds, and must be 1; it takes 4 assets or more"
    )
    assert np.isnan(answer.tracking_error)
    assert np.isnan(answer.r_squared)
    assert np.isnan(IndexTracking(returns, 0 * index, max_assets=2).solve().r_squared)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"returns": np.ones(3)}, "`returns` must have 2 dimensions"),
        ({"index": np.ones(3)}, "`index` must have 40 entries, one per row of `retu"),
        ({"max_assets": 8}, "`max_assets` must be an integer between 1 and 7"),
        ({"fully_invested": 1}, "`fully_invested` must be True or False"),
        ({"ridge": -1.0}, "`ridge` must not be negative"),
        ({"long_only": False, "minimum_position": 1}, "is for long-only portfolios"),
    ],
)
def test_messages(change, message):
    returns, index = market(0)
    given = {"returns": returns, "index": index, "max_assets": 2} | change
    with pytest.raises(ProblemError, match=message):
        IndexTracking(**given)


def test_prices_are_refused():
    returns, index = market(0)
    prices = 100.0 * np.cumprod(1.0 + returns, axis=0)
    level = 4000.0 * np.cumprod(1.0 + index)
    with pytest.raises(ProblemError, match="`returns` must hold returns"):
        IndexTracking(prices, index, max_assets=2)
    with pytest.raises(ProblemError, match="`index` must hold returns"):
        IndexTracking(returns, pd.Series(level), max_assets=2)
