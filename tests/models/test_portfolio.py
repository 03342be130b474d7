from functools import cache

import numpy as np
import pandas as pd
import pytest

from cardqp import ProblemError, Status
from cardqp.models import Portfolio
from tests.models.truth import best_portfolio

N, SIZE, RIDGE = 7, 3, 0.003

TIGHT = 1e-7
"""The gap that is asked for; truth and answer may differ by a little more."""

TRUTH = 1e-7
"""How well the interior point method knows the truth, which it may undercut."""

ROUNDING = 1e-12

KINDS = {
    "least variance": {},
    "utility": {"risk_aversion": 4.0},
    "target": {"target_return": 0.07},
    "utility and target": {"risk_aversion": 6.0, "target_return": 0.07},
    "positions": {"minimum_position": 0.25, "maximum_position": 0.45},
    "short": {"long_only": False, "risk_aversion": 3.0},
    "short, limited": {"long_only": False, "maximum_position": 0.6},
    "sectors": {"sector_limits": {"a": 0.3, "b": (0.3, 0.6)}},
    "turnover": {"max_turnover": 0.7},
    "turnover of few": {"max_turnover": 1.2, "target_return": 0.07},
    "turnover, cash": {"max_turnover": 0.9, "cash": 0.3},
    "turnover, debt": {"max_turnover": 0.9, "cash": -0.4},
    "turnover, short": {"max_turnover": 1.0, "long_only": False, "short": 0.2},
    "turnover, positions": {"max_turnover": 1.0, "minimum_position": 0.2},
    "everything": {
        "max_turnover": 1.3,
        "minimum_position": 0.1,
        "maximum_position": 0.7,
        "sector_limits": {"a": (0.1, 0.8)},
        "target_return": 0.05,
        "risk_aversion": 5.0,
    },
}


def market(seed):
    rng = np.random.default_rng(seed)
    loadings = 0.2 * rng.standard_normal((2, N))
    return {
        "mean": rng.uniform(0.0, 0.12, N),
        "loadings": loadings,
        "specific_variance": rng.uniform(0.01, 0.08, N),
    }


def covariance_of(data):
    loadings = data["loadings"]
    return loadings.T @ loadings + np.diag(data["specific_variance"])


def limits(kind, seed):
    """The arguments for a kind, with sectors and holdings where they are needed."""
    rng = np.random.default_rng([5, seed])
    given = dict(KINDS[kind])
    if "sector_limits" in given:
        given["sectors"] = ["a", "b", "c", "a", "b", "c", "a"]
    if "max_turnover" in given:
        held = np.zeros(N)
        held[:4] = rng.dirichlet(np.ones(4)) * (1.0 - given.pop("cash", 0.0))
        short = given.pop("short", 0.0)
        held[5] -= short
        held[0] += short
        given["holdings"] = held
    return given


@cache
def truth(kind, seed):
    data, given = market(seed), limits(kind, seed)
    scale = 0.5 * given.get("risk_aversion", 2.0)
    c = -data["mean"] if "risk_aversion" in given else np.zeros(N)
    most = np.full(N, given.get("maximum_position", np.inf))
    least = np.full(N, given.get("minimum_position", 0.0))
    rows = []
    if "target_return" in given:
        rows.append((-data["mean"], -given["target_return"]))
    for label, limit in given.get("sector_limits", {}).items():
        members = np.array([own == label for own in given["sectors"]], dtype=float)
        low, high = limit if isinstance(limit, tuple) else (-10.0, limit)
        rows += [(members, high), (-members, -low)]
    return best_portfolio(
        scale * (covariance_of(data) + RIDGE * np.eye(N)),
        c,
        size=SIZE,
        lower=least if given.get("long_only", True) else -most,
        upper=most,
        rows=rows,
        holdings=given.get("holdings"),
        turnover=given.get("max_turnover"),
    )


def check_limits(weights, data, given):
    assert np.count_nonzero(weights) <= SIZE
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    held = weights[weights != 0]
    if given.get("long_only", True):
        assert (held >= given.get("minimum_position", 0.0) - 1e-9).all()
    assert (np.abs(held) <= given.get("maximum_position", np.inf) + 1e-9).all()
    if "target_return" in given:
        assert data["mean"] @ weights >= given["target_return"] - 1e-9
    if "max_turnover" in given:
        traded = np.abs(weights - given["holdings"]).sum()
        assert traded <= given["max_turnover"] + 1e-9


def price_of_sales(scale, data, given):
    """The most that sales pay for their squares, as documented."""
    if "max_turnover" not in given:
        return 0.0
    most = 0.5 * (given["max_turnover"] - 1.0 + given["holdings"].sum())
    return 1e-6 * scale * covariance_of(data).diagonal().mean() * most**2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_equals_enumeration(kind, seed):
    data, given = market(seed), limits(kind, seed)
    portfolio = Portfolio(**data, **given, max_assets=SIZE, ridge=RIDGE)
    best = truth(kind, seed)
    answer = portfolio.solve(gap=TIGHT, time_limit=10)
    if best == np.inf:
        assert answer.status is Status.INFEASIBLE
        assert answer.weights is None
        return
    assert answer.status is Status.OPTIMAL
    assert answer.solution.verify().ok
    weights = answer.weights
    check_limits(weights, data, given)
    scale = 0.5 * given.get("risk_aversion", 2.0)
    value = scale * (answer.variance + RIDGE * weights @ weights)
    value -= answer.expected_return if "risk_aversion" in given else 0.0
    price = price_of_sales(scale, data, given)
    assert value <= best + TRUTH * abs(best) + price + TIGHT * abs(answer.objective)
    assert value >= best - TRUTH * abs(best)
    assert 0.0 <= answer.objective - value + ROUNDING <= price + 2 * ROUNDING
    assert answer.lower_bound <= best + TRUTH * abs(best) + price
    assert answer.variance == pytest.approx(weights @ covariance_of(data) @ weights)


def test_kinds_are_neither_all_feasible_nor_all_infeasible():
    found = {kind: [np.isfinite(truth(kind, s)) for s in range(4)] for kind in KINDS}
    assert all(any(feasible) for feasible in found.values()), found
    assert not all(map(all, found.values()))


@pytest.mark.parametrize("ridge", [0.0, 1e-12])
@pytest.mark.parametrize("kind", KINDS)
def test_factor_model_equals_its_covariance(kind, ridge):
    data, given = market(8), limits(kind, 8)
    by_factors = Portfolio(**data, **given, max_assets=SIZE)
    by_matrix = Portfolio(
        data["mean"], covariance_of(data), **given, max_assets=SIZE, ridge=ridge
    )
    one, other = by_factors.solve(gap=TIGHT), by_matrix.solve(gap=TIGHT)
    assert one.status is other.status
    assert by_factors.ridge == 0.0
    if one.weights is not None:
        assert one.objective == pytest.approx(other.objective, rel=2 * TIGHT)


@pytest.mark.parametrize("periods", [5, 60])
def test_returns_give_mean_and_sample_covariance(periods):
    rng = np.random.default_rng(3)
    returns = rng.normal(0.01, 0.05, (periods, N))
    settings = {"max_assets": 2, "risk_aversion": 3.0, "ridge": 1e-4}
    one = Portfolio(returns=returns, **settings).solve(gap=TIGHT)
    two = Portfolio(returns.mean(axis=0), np.cov(returns.T), **settings)
    assert one.objective == pytest.approx(two.solve(gap=TIGHT).objective, rel=2 * TIGHT)
    forecast = Portfolio(np.arange(N), returns=returns, **settings)
    assert forecast.solve().expected_return > 5


def test_turnover_is_exact_and_binds():
    data = market(1)
    held = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0])
    for turnover in (0.2, 0.5, 0.8):
        answer = Portfolio(
            **data, max_assets=6, holdings=held, max_turnover=turnover
        ).solve()
        assert answer.turnover == pytest.approx(turnover, abs=1e-9)
    free = Portfolio(**data, max_assets=6).solve()
    loose = Portfolio(**data, max_assets=6, holdings=held, max_turnover=2.0).solve()
    np.testing.assert_allclose(loose.weights, free.weights, atol=1e-5)


def test_no_turnover_keeps_the_holdings():
    held = np.array([0.1, 0.2, 0.7, 0.0, 0.0, 0.0, 0.0])
    answer = Portfolio(**market(1), max_assets=3, holdings=held, max_turnover=0.0)
    np.testing.assert_allclose(answer.solve().weights, held, atol=1e-9)


@pytest.mark.parametrize(
    ("held", "turnover"),
    [
        ([0.25, 0.25, 0.25, 0.25, 0, 0, 0], 0.4),  # one of four must be sold
        ([0.2, 0.2, 0.1, 0.0, 0, 0, 0], 0.4),  # half is cash and must be invested
    ],
)
def test_too_little_turnover_is_proved_infeasible(held, turnover):
    portfolio = Portfolio(
        **market(1), max_assets=3, holdings=held, max_turnover=turnover
    )
    answer = portfolio.solve()
    assert answer.status is Status.INFEASIBLE
    assert answer.solution.verify().ok
    more = Portfolio(
        **market(1), max_assets=3, holdings=held, max_turnover=turnover + 0.2
    )
    assert more.solve().status is Status.OPTIMAL


def test_infeasible_target_is_a_status():
    answer = Portfolio(**market(0), max_assets=3, target_return=0.5).solve()
    assert answer.status is Status.INFEASIBLE
    assert answer.weights is None
    assert answer.named() == {}
    assert answer.objective == np.inf
    for name in ("risk", "variance", "expected_return", "turnover"):
        assert np.isnan(getattr(answer, name))
    assert answer.summary().startswith("INFEASIBLE: proved")
    assert "INFEASIBLE" in repr(answer)
    assert answer.to_series().isna().all()


def test_sales_take_no_place_and_have_names():
    held = np.array([0.4, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0])
    portfolio = Portfolio(**market(1), max_assets=3, holdings=held, max_turnover=0.5)
    assert portfolio.problem.n == N + 3
    assert portfolio.problem.sparsity == 6
    assert portfolio.problem.name_of(N) == "sales of asset 0"


def test_names_are_carried_through():
    data = market(2)
    assets = [f"S{j}" for j in range(N)]
    frame = pd.DataFrame(covariance_of(data), index=assets, columns=assets)
    mean = pd.Series(data["mean"], index=assets)
    answer = Portfolio(
        mean,
        frame,
        max_assets=3,
        risk_aversion=5.0,
        holdings={"S1": 0.5, "S2": 0.5},
        max_turnover=1.5,
        sectors=dict.fromkeys(assets[:3], "old"),
        sector_limits={"old": (0.3, 0.9)},
    ).solve()
    named = answer.named()
    assert set(named) <= set(assets)
    assert list(named.values()) == sorted(named.values(), reverse=True)
    series = answer.to_series()
    assert list(series.index) == assets
    assert series[named.keys()].to_dict() == named
    assert answer.solution.problem.names[N:] == ("sales of S1", "sales of S2")
    assert sum(named.get(name, 0.0) for name in assets[:3]) >= 0.3 - 1e-9
    assert all(name in str(answer) for name in named)
    assert "turnover" in answer.summary()


def test_answers_do_not_share_their_arrays():
    answer = Portfolio(**market(2), max_assets=3).solve()
    answer.weights[:] = 7.0
    assert answer.weights.sum() == pytest.approx(1.0)
    for name in ("mean", "lower", "upper"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(answer.portfolio, name)[0] = 7.0
    assert repr(answer.portfolio) == "Portfolio(n=7, max_assets=3)"


HALVES = {"sectors": ["a"] * 3 + ["b"] * 4}
EVEN = np.full(N, 1.0 / N)
RISING = {"covariance": np.eye(N), "mean": np.linspace(0.01, 0.07, N)}


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (
            {"maximum_position": 0.2},
            "the sum of the weights is at most 0.6 (3 x 0.2) with at most 3 assets "
            "within the bounds, and must be 1; it takes 5 assets or more",
        ),
        (
            {"maximum_position": 0.1},
            "the sum of the weights is at most 0.7 (7 x 0.1) within the bounds, and "
            "must be 1",
        ),
        (
            {"minimum_position": 0.6, "maximum_position": 0.9},
            "the sum of the weights is at most 0.9 with 1 asset and at least 1.2 with "
            "more, and must be 1",
        ),
        (
            {"minimum_position": 1.5},
            "the sum of the weights is at least 1.5 with any asset, and must be 1",
        ),
        (
            {"target_return": 0.08},
            "the expected return is at most 0.07 within the bounds where the sum of "
            "the weights is 1, and must be at least 0.08",
        ),
        (
            {**HALVES, "sector_limits": {"a": 0.3, "b": 0.6}},
            "the weight of sector 'a' is at least 0.4 within the bounds where the "
            "weight of sector 'b' is at most 0.6 and the sum of the weights is 1, and "
            "must be at most 0.3",
        ),
        (
            {"holdings": EVEN, "max_turnover": 0.5},
            "the turnover is at least 1.142, and must be at most 0.5",
        ),
        (
            {"holdings": EVEN[::-1] * [0, 0, 0, 0, 0, 0, 7], "max_turnover": 0.5}
            | {"maximum_position": 0.6},
            "asset 6 with its sales is at most 0.85 within the bounds, and must be at "
            "least 1",
        ),
    ],
)
def test_infeasible_limits_are_named(limits, reason):
    answer = Portfolio(**RISING, max_assets=3, **limits).solve()
    assert answer.status is Status.INFEASIBLE
    assert answer.reason == reason
    assert answer.summary().splitlines()[1] == f"reason: {reason}"


def test_feasible_limits_have_no_reason():
    answer = Portfolio(**RISING, max_assets=3).solve()
    assert answer.reason == ""
    assert "reason" not in str(answer)


def test_without_variance_there_is_still_a_portfolio():
    answer = Portfolio(covariance=np.zeros((3, 3)), max_assets=2).solve()
    assert answer.status is Status.OPTIMAL
    assert answer.variance == 0.0


SIX = np.eye(6)
LABELLED = pd.DataFrame(SIX, columns=list("abcdef"), index=list("abcdef"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give exactly one of them"),
        ({"covariance": SIX, "returns": SIX}, "give exactly one of them"),
        (
            {"loadings": SIX},
            "`loadings` and `specific_variance` must be given together",
        ),
        (
            {"covariance": SIX, "specific_variance": np.ones(6)},
            "`loadings` and `specific_variance` must be given together",
        ),
        ({"loadings": np.ones((2, 0)), "specific_variance": []}, "must have columns"),
        (
            {"loadings": SIX, "specific_variance": -np.ones(6)},
            "`specific_variance` must not be negative",
        ),
        ({"loadings": SIX, "specific_variance": [1.0]}, "must have 6 entries"),
        ({"covariance": SIX[:3]}, "`covariance` must be square"),
        ({"covariance": np.triu(np.ones((6, 6)))}, "`covariance` must be symmetric"),
        ({"covariance": -SIX}, "`covariance` must be positive semidefinite"),
        ({"returns": SIX[:1]}, "`returns` must have at least two rows"),
        ({"returns": SIX * np.nan}, "`returns` must be finite"),
        ({"covariance": SIX, "mean": [1.0]}, "`mean` must have 6 entries"),
        ({"covariance": SIX, "risk_aversion": 1.0}, "`mean` is missing"),
        ({"covariance": SIX, "target_return": 1.0}, "`mean` is missing"),
        ({"returns": SIX, "risk_aversion": 0.0}, "`risk_aversion` must be positive"),
        ({"returns": SIX, "target_return": np.inf}, "`target_return` must be finite"),
        ({"covariance": SIX, "max_assets": 0}, "`max_assets` must be an integer betw"),
        ({"covariance": SIX, "max_assets": 7}, "between 1 and 6, the number of assets"),
        ({"covariance": SIX, "max_assets": 2.5}, "`max_assets` must be an integer"),
        ({"covariance": SIX, "long_only": 1}, "`long_only` must be True or False"),
        (
            {"covariance": SIX, "long_only": False, "minimum_position": 0.1},
            "`minimum_position` is for long-only portfolios",
        ),
        (
            {"covariance": SIX, "minimum_position": 0.0},
            "`minimum_position` must be positive",
        ),
        (
            {"covariance": SIX, "maximum_position": [1, 1, 1, 1, 1, -1]},
            "`maximum_position` must be positive",
        ),
        (
            {"covariance": SIX, "maximum_position": 0.1, "minimum_position": 0.2},
            "`minimum_position` must not exceed `maximum_position`: for asset 0",
        ),
        ({"covariance": SIX, "sectors": "aabbcc"}, "`sector_limits` is missing"),
        ({"covariance": SIX, "sector_limits": {"a": 1}}, "`sectors` is missing"),
        (
            {"covariance": SIX, "sectors": list("aabbcc"), "sector_limits": [1]},
            "`sector_limits` must be a dictionary",
        ),
        (
            {"covariance": SIX, "sectors": list("aabbcc"), "sector_limits": {"d": 1}},
            "no asset is in 'd'",
        ),
        (
            {
                "covariance": SIX,
                "sectors": list("aabbcc"),
                "sector_limits": {"a": (0.5, 0.2)},
            },
            "must leave room: for 'a' the minimum is 0.5 and the maximum 0.2",
        ),
        (
            {
                "covariance": SIX,
                "sectors": list("aabbcc"),
                "sector_limits": {"a": (np.inf, np.inf)},
            },
            "must leave room: for 'a' the minimum is inf",
        ),
        (
            {
                "covariance": SIX,
                "sectors": list("aabbcc"),
                "sector_limits": {"a": (1, 2, 3)},
            },
            "must hold a maximum or \\(minimum, maximum\\) per sector",
        ),
        (
            {"covariance": SIX, "sectors": list("ab"), "sector_limits": {"a": 1}},
            "`sectors` must have 6 entries, one per asset",
        ),
        (
            {"covariance": SIX, "sectors": "aabbcc", "sector_limits": {"a": 1}},
            "`sectors` must be a list or a dictionary by name",
        ),
        ({"covariance": SIX, "max_turnover": 1.0}, "`holdings` is missing"),
        ({"covariance": SIX, "holdings": [1.0]}, "`holdings` must have 6 entries"),
        ({"covariance": SIX, "holdings": {"x": 1.0}}, "'x' is none of them"),
        (
            {"covariance": SIX, "holdings": np.zeros(6), "max_turnover": -1.0},
            "`max_turnover` must not be negative",
        ),
        ({"covariance": SIX, "ridge": -1.0}, "`ridge` must not be negative"),
        ({"covariance": SIX, "names": ["a"] * 6}, "`names` must be distinct"),
        (
            {
                "covariance": SIX,
                "sectors": np.ma.masked_equal(list("aabbcc"), "a"),
                "sector_limits": {"a": 0.5},
            },
            "`sectors` must not be masked",
        ),
        (
            {"covariance": LABELLED, "mean": pd.Series(range(6), list("abcdfe"))},
            "`mean` must name the assets as the other data do: entry 4 is 'f'",
        ),
        (
            {"covariance": LABELLED, "holdings": pd.Series([1.0], ["a"])},
            "there are 1 names, not 6",
        ),
    ],
)
def test_messages(given, message):
    with pytest.raises(ProblemError, match=message):
        Portfolio(**{"max_assets": 2} | given)


def walk(seed, scale, *, start=100.0, periods=60):
    """Prices of four assets, whose returns are independent."""
    rng = np.random.default_rng(seed)
    returns = np.maximum(rng.normal(0.3 * scale, scale, (periods, 4)), -0.9)
    return start * np.cumprod(np.vstack([np.ones(4), 1.0 + returns]), axis=0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [1e-5, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("start", [1.0, 100.0, np.array([0.02, 0.1, 3.0, 4e4])])
def test_prices_are_refused(start, scale, seed):
    prices = walk(seed, scale, start=start)
    with pytest.raises(ProblemError, match="are these prices") as caught:
        Portfolio(returns=prices, max_assets=2)
    assert "pass `prices[1:] / prices[:-1] - 1`" in caught.value.remedy
    with pytest.raises(ProblemError) as caught:
        Portfolio(returns=pd.DataFrame(prices), max_assets=2)
    assert "pass `prices.pct_change().dropna()`" in caught.value.remedy
    changes = pd.DataFrame(prices).pct_change().dropna()
    assert Portfolio(returns=changes, max_assets=2).n == 4


@pytest.mark.parametrize(
    "returns",
    [
        np.full((30, 3), 1e-4),  # interest, day by day
        np.abs(np.random.default_rng(0).normal(0.0, 0.3, (60, 4))),
        np.random.default_rng(0).uniform(0.0, 10.0, (60, 4)),
        np.random.default_rng(0).normal(0.5, 1.0, (60, 4)),  # in percent
        np.random.default_rng(0).normal(0.5, 1.0, (2, 40)),
    ],
    ids=["interest", "positive", "uniform", "percent", "two periods"],
)
def test_returns_are_not_taken_for_prices(returns):
    assert Portfolio(returns=returns, max_assets=2).n == returns.shape[1]
