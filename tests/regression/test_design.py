"""Problems in scaled units, and back."""

import numpy as np
import pytest

from cardqp import solve
from cardqp.gram import is_constant, mean_squared_error, moments
from cardqp.regression import Design


def design(n, **changes):
    settings = {
        "standardize": False,
        "lower": np.full(n, -np.inf),
        "upper": np.full(n, np.inf),
        "forced_in": np.zeros(0, dtype=np.intp),
        "blocks": None,
        "names": None,
    }
    return Design(**settings | changes)


def data(seed=0, n=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, n)) * 10.0 ** np.arange(n) + 5.0
    return X, X @ (rng.standard_normal(n) / 10.0 ** np.arange(n)) + 2.0


@pytest.mark.parametrize("standardize", [True, False])
def test_objective_is_the_penalised_error_in_data_units(standardize):
    X, y = data()
    rows = moments(X, y)
    scaled = design(6, standardize=standardize).scaled(rows, 10.0, 2)
    x = solve(scaled.problem).x
    coef = scaled.coefficients(x)
    error = mean_squared_error(rows, coef, scaled.intercept(coef))
    scale = X.std(axis=0) if standardize else 1.0
    ridge = np.sum((coef * scale) ** 2) / 10.0
    assert scaled.problem.objective(x) == pytest.approx(error + ridge, rel=1e-10)


def test_bounds_are_in_data_units():
    X, y = data()
    tight = design(6, standardize=True, lower=np.full(6, -1e-6), upper=np.full(6, 1e-6))
    scaled = tight.scaled(moments(X, y), 10.0, 3)
    coef = scaled.coefficients(solve(scaled.problem).x)
    # One rounding by the division through the scale.
    assert np.abs(coef).max() == pytest.approx(1e-6, rel=1e-14)


def test_another_ridge_needs_no_new_form():
    X, y = data()
    first = design(6).scaled(moments(X, y), 10.0, 2)
    other = first.with_eta(2.0)
    assert other.problem.quadratic is first.problem.quadratic
    np.testing.assert_array_equal(other.problem.ridge, 0.5)


def test_constant_columns_are_not_blown_up():
    X, y = data()
    X[:, 1], X[:, 4] = 0.1, 0.0  # 0.1 has rounding in its mean
    rows = moments(X, y)
    assert is_constant(rows).tolist() == [False, True, False, False, True, False]
    scaled = design(6, standardize=True).scaled(rows, 10.0, 6)
    assert scaled.scale[1] == scaled.scale[4] == 1.0
    coef = scaled.coefficients(solve(scaled.problem).x)
    assert np.abs(coef[[1, 4]]).max() < 1e-12


def test_blocks_are_counted_once():
    blocked = design(4, blocks=np.array([0, 1, 1, 2]))
    assert blocked.n_units == 3
    assert blocked.n_chosen(np.array([1, 2, 3])) == 2
    assert design(4).n_chosen(np.array([1, 2, 3])) == 3
