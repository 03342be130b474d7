"""Growth, exchanges and the way back, against enumeration and direct formulas."""

import itertools

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.datasets import make_regression
from cardqp.gram import moments
from cardqp.heuristics.local_search import swap_changes
from cardqp.heuristics.support_path import SweptSupport, point_path
from cardqp.regression.design_settings import read_design
from cardqp.subproblems.support_qp import fit_support


def regression(n=9, seed=0, eta=20.0, **settings):
    data = make_regression(60, n, sparsity=4, correlation=0.7, snr=2.0, seed=seed)
    return SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=2, **settings)


def optimum(problem, size):
    """The best of all supports of a size."""
    supports = [
        np.array(chosen, dtype=np.intp)
        for chosen in itertools.combinations(range(problem.n), size)
        if set(problem.forced_in) <= set(chosen)
    ]
    limited = problem.with_limits(sparsity=size)
    return min(fit_support(limited, support).objective for support in supports)


@pytest.mark.parametrize("eta", [0.5, 20.0, None])
@pytest.mark.parametrize("seed", range(4))
def test_points_of_small_problems_are_the_best(eta, seed):
    problem = regression(seed=seed, eta=eta)
    found = point_path(problem, 5)
    assert list(found) == [1, 2, 3, 4, 5]
    for size, x in found.items():
        assert np.count_nonzero(x) == size
        assert problem.objective(x) == pytest.approx(optimum(problem, size), rel=1e-9)


@pytest.mark.parametrize(
    "settings", [{"lower": 0.0}, {"lower": -0.5, "upper": 0.5}, {"forced_in": [2, 6]}]
)
def test_bounds_and_forced_variables_are_held(settings):
    problem = regression(**settings)
    found = point_path(problem, 4)
    for size, x in found.items():
        assert problem.with_limits(sparsity=size).feasibility(x).holds()
        assert problem.objective(x) == pytest.approx(optimum(problem, size), rel=1e-6)
    assert min(found) == max(1, len(problem.forced_in))


def test_blocks_count_once():
    blocks = [0, 0, 1, 1, 2, 2, 3, 3, 3]
    found = point_path(regression(blocks=blocks), 3)
    for size, x in found.items():
        assert len({blocks[j] for j in np.flatnonzero(x)}) <= size


def test_variables_that_depend_on_others_do_not_enter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.zeros(50)])
    y = X[:, 0] + 2.0 * X[:, 1] - X[:, 2]
    problem = SparseQP.from_regression(X, y, eta=None, sparsity=1)
    assert list(point_path(problem, 5)) == [1, 2, 3]


def test_wide_tables_are_not_squared():
    data = make_regression(20, 300, sparsity=3, snr=9.0, seed=1)
    design = read_design(300, None, always_include=None, blocks=None)
    problem = design.scaled(moments(data.X, data.y), 10.0, 1).problem
    assert problem.quadratic.array.shape == (20, 300)
    dense = SparseQP(problem.quadratic.dense(), problem.c, eta=10.0, sparsity=1)
    for size, x in point_path(problem, 6).items():
        np.testing.assert_allclose(x, point_path(dense, 6)[size], atol=1e-8)


def test_a_state_after_many_changes_is_that_of_its_support():
    problem, rng = regression(12, seed=3), np.random.default_rng(0)
    swept = SweptSupport.of(problem, 12)
    for _ in range(300):
        outside = np.flatnonzero(swept.state.is_free)
        if swept.count == 0 or (len(outside) and rng.random() < 0.55):
            swept.enter(int(rng.choice(outside)))
        else:
            swept.leave(int(rng.integers(swept.count)))
    fit = fit_support(problem, swept.support)
    point = np.zeros(problem.n)
    point[swept.state.inside[: swept.count]] = swept.state.x[: swept.count]
    np.testing.assert_allclose(point, fit.x, atol=1e-9)
    gain = problem.constant - fit.objective
    assert swept.gain == pytest.approx(gain, rel=1e-9)


def test_nothing_is_left_to_exchange():
    problem = regression(30, seed=2)
    for size, x in point_path(problem, 8).items():
        changes = swap_changes(problem, np.flatnonzero(x))
        assert changes.min() >= -1e-8 * problem.constant, size


def test_once_time_is_up_there_is_what_was_found():
    calls = iter([False, False, False, True])
    found = point_path(regression(), 6, lambda: next(calls))
    assert list(found) == [1, 2]
