"""Coefficients without the ridge, against NumPy and SciPy."""

import numpy as np
import pytest
from scipy.optimize import nnls

from cardqp.gram import moments
from cardqp.regression import least_squares

FREE = np.full(5, -np.inf), np.full(5, np.inf)


def data(n_samples=40):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_samples, 5)) * [1, 10, 1e3, 1e-2, 1] + 4.0
    return X, rng.standard_normal(n_samples)


@pytest.mark.parametrize("n_samples", [40, 4])
def test_free_coefficients_are_those_of_numpy(n_samples):
    X, y = data(n_samples)
    support = np.array([0, 3])
    coef = least_squares(moments(X, y), support, *FREE)
    Z = np.column_stack([X[:, support], np.ones(n_samples)])
    expected = np.linalg.lstsq(Z, y, rcond=None)[0][:2]
    np.testing.assert_allclose(coef[support], expected, rtol=1e-8)
    assert np.count_nonzero(coef) == 2


def test_bounds_hold():
    X, y = data()
    rows = moments(X, y, centred=False)
    coef = least_squares(rows, np.arange(5), np.zeros(5), FREE[1])
    np.testing.assert_allclose(coef, nnls(X, y)[0], rtol=1e-6, atol=1e-9)


def test_equal_columns_share_the_load():
    X, y = data()
    X[:, 1] = X[:, 0]
    coef = least_squares(moments(X, y), np.array([0, 1]), *FREE)
    assert coef[0] == pytest.approx(coef[1])


def test_nothing_chosen():
    assert not least_squares(moments(*data()), np.zeros(0, dtype=int), *FREE).any()


def test_constant_column_gets_nothing():
    X, y = data()
    X[:, 2] = 0.0
    coef = least_squares(moments(X, y), np.array([0, 2]), *FREE)
    assert coef[2] == 0.0
    assert coef[0] != 0.0


def test_a_column_that_varies_by_rounding_only_gets_nothing():
    X, y = data()
    X[:, 2] = 0.1
    rows = moments(X, y)
    coef = least_squares(rows, np.array([0, 2]), *FREE)
    assert coef[2] == 0.0
    np.testing.assert_allclose(coef, least_squares(rows, np.array([0]), *FREE))


def test_fixed_coefficients_stay_and_others_answer():
    X, y = data()
    lower, upper = FREE[0].copy(), FREE[1].copy()
    lower[1] = upper[1] = 0.25
    coef = least_squares(moments(X, y), np.array([0, 1]), lower, upper)
    Z = np.column_stack([X[:, 0], np.ones(len(y))])
    expected = np.linalg.lstsq(Z, y - 0.25 * X[:, 1], rcond=None)[0]
    assert coef[1] == 0.25
    assert coef[0] == pytest.approx(expected[0], rel=1e-9)
