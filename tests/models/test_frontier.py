import numpy as np
import pytest

import cardqp.models.efficient_frontier as module
from cardqp import ParameterError, ProblemError, Status
from cardqp.models import Portfolio, frontier
from tests.models.truth import best_portfolio

N, SIZE = 8, 3


def portfolio(**settings):
    rng = np.random.default_rng(4)
    loadings = 0.2 * rng.standard_normal((2, N))
    return Portfolio(
        rng.uniform(0.0, 0.1, N),
        loadings.T @ loadings + np.diag(rng.uniform(0.01, 0.08, N)),
        max_assets=SIZE,
        **settings,
    )


def least_variance(model, target):
    return best_portfolio(
        model.problem.Q + model.ridge * np.eye(N),
        np.zeros(N),
        size=SIZE,
        lower=np.zeros(N),
        upper=np.full(N, 0.6),
        rows=[(-model.mean, -target)],
    )


def test_each_point_equals_enumeration():
    model = portfolio(maximum_position=0.6)
    found = frontier(model, 6, gap=1e-7)
    assert len(found) == 6
    for target, point in zip(found.targets, found.points, strict=True):
        assert point.status is Status.OPTIMAL
        best = least_variance(model, target)
        assert point.objective == pytest.approx(best, rel=1e-6)
        assert point.lower_bound <= best * (1 + 1e-7)
        assert point.expected_return >= target - 1e-9
    risks = found.to_dict()["risk"]
    assert risks == sorted(risks)
    free = model.solve(gap=1e-7)
    assert risks[0] == pytest.approx(free.risk, rel=1e-6)
    top = np.sort(model.mean)[-2:]
    assert found.targets[-1] == pytest.approx(0.6 * top[1] + 0.4 * top[0], rel=1e-4)


def test_own_goal_of_the_portfolio_is_ignored():
    one = frontier(portfolio(), targets=[0.05, 0.07])
    other = frontier(
        portfolio(risk_aversion=3.0, target_return=0.09), targets=[0.07, 0.05]
    )
    assert one.targets == other.targets == (0.05, 0.07)
    assert one.to_dict()["variance"] == other.to_dict()["variance"]


def test_targets_out_of_reach_are_marked():
    found = frontier(portfolio(), targets=[0.05, 0.9])
    assert found.to_dict()["status"] == ["OPTIMAL", "INFEASIBLE"]
    assert found.points[1].weights is None
    assert len(str(found).splitlines()) == 3
    assert repr(found) == "Frontier(2 points, 1 with weights)"


def test_points_start_from_the_point_above(monkeypatch):
    starts = []

    def spy(self, *, start, **settings):
        starts.append(start)
        return original(self, start=start, **settings)

    original = Portfolio.solve
    monkeypatch.setattr(Portfolio, "solve", spy)
    found = frontier(portfolio(), targets=[0.05, 0.06, 0.07])
    assert starts[0] is None
    np.testing.assert_array_equal(starts[1], found.points[2].solution.x)


def test_callback_keeps_the_points_done():
    found = frontier(portfolio(), targets=[0.05, 0.06, 0.07], callback=lambda _: True)
    assert found.targets[-1] == 0.07


def test_interrupt_between_points_keeps_those_done(monkeypatch):
    def two_points(*arguments):
        yield from list(original(*arguments))[:2]
        raise KeyboardInterrupt

    original = module._trace
    monkeypatch.setattr(module, "_trace", two_points)
    found = frontier(portfolio(), targets=[0.05, 0.06, 0.07])
    assert found.targets == (0.06, 0.07)


def test_plot_draws_risk_and_return(tmp_path):
    found = frontier(portfolio(), targets=[0.05, 0.06, 0.9])
    path = tmp_path / "frontier.png"
    ax = found.plot(path)
    assert path.stat().st_size > 0
    bound, points = ax.get_lines()
    np.testing.assert_array_equal(points.get_xdata(), found.to_dict()["risk"][:2])
    objective = np.array(found.to_dict()["objective"][:2])
    assert (bound.get_xdata() <= np.sqrt(objective)).all()
    assert found.plot(ax=ax) is ax


def test_messages():
    with pytest.raises(ParameterError, match="`portfolio` must be a Portfolio"):
        frontier(3)
    with pytest.raises(ParameterError, match="`n_points` must be an integer"):
        frontier(portfolio(), 0)
    with pytest.raises(ParameterError, match="`start` is set along the frontier"):
        frontier(portfolio(), start=np.ones(N))
    with pytest.raises(ParameterError, match="`targets` must hold at least one"):
        frontier(portfolio(), targets=[])
    with pytest.raises(ProblemError, match="`portfolio` must be feasible"):
        frontier(portfolio(maximum_position=0.2))
    with pytest.raises(ProblemError, match="`mean` is missing"):
        frontier(Portfolio(covariance=np.eye(3), max_assets=1))


def test_limits_that_nothing_meets_are_named():
    portfolio = Portfolio([0.1, 0.2], np.eye(2), max_assets=2, maximum_position=0.4)
    with pytest.raises(
        ProblemError, match=r"at most 0.8 \(2 x 0.4\) within the bounds"
    ):
        frontier(portfolio, 3)
