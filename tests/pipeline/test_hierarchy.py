import numpy as np
import pytest

import cardqp.plot
from cardqp import ParameterError, hierarchy, solve, spectrum
from tests.problems import enumerate_optimum, random_problem


@pytest.mark.parametrize("method", ["best-response", "dual-program"])
def test_each_level_bounds_the_optimum_from_both_sides(method):
    problem = random_problem("free", 6)
    optimum, _ = enumerate_optimum(problem)
    steps = hierarchy(problem, method=method, spectrum=spectrum(problem))
    assert [result.level for result in steps.levels] == list(range(1, problem.n + 1))
    for result in steps.levels:
        assert result.lower_bound <= optimum + 1e-9
        assert result.objective >= optimum - 1e-9
    lines = str(steps).splitlines()
    assert len(lines) == len(steps) + 1
    assert set(steps.to_dict()) >= {"level", "lower_bound", "objective"}


def test_chosen_levels():
    steps = hierarchy(random_problem("free", 6), levels=[2, 1, 2])
    assert [result.level for result in steps.levels] == [1, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"levels": []}, "`levels` must not be empty"),
        ({"levels": [0]}, "`level` must lie between 1"),
        ({"method": "exact"}, "`method` must work at one level"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ParameterError, match=message):
        hierarchy(random_problem("free", 0), **settings)


def test_time_limit_keeps_the_first_level():
    steps = hierarchy(random_problem("free", 6), time_limit=0.0)
    assert len(steps) == 1


@pytest.mark.parametrize("kind", ["free", "infeasible"])
def test_plot_draws_what_the_table_says(kind):
    steps = hierarchy(random_problem(kind, 6))
    ax = steps.plot()
    bounds = ax.get_lines()[0]
    np.testing.assert_array_equal(bounds.get_ydata(), steps.to_dict()["lower_bound"])
    assert "level" in ax.get_xlabel()
    assert steps.plot(ax=ax) is ax


def test_plot_without_matplotlib(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'cardqp\[plot\]'"):
        cardqp.plot.new_axes()


def test_reduced_optimum_at_the_full_level_matches_solve():
    problem = random_problem("free", 6)
    top = hierarchy(problem, levels=[problem.n], method="best-response").levels[0]
    other = solve(problem, method="best-response", level=problem.n)
    assert top.objective == pytest.approx(other.objective)
