"""Bounds of estimators are those of a squared error."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cardqp import SparseRidge
from cardqp.regression import about_error


def wide(seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 150)) + rng.standard_normal((40, 1))
    return X, X[:, :6].sum(axis=1) + rng.standard_normal(40)


@pytest.mark.parametrize("eta", [None, 1e8, 100.0, "auto"])
def test_no_bound_is_negative_and_no_gap_beyond_one(eta):
    X, y = wide()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = SparseRidge(6, eta=eta, standardize=True, time_limit=0.0).fit(X, y)
    assert model.status_ == "FEASIBLE"
    assert model.lower_bound_ >= 0
    assert model.lower_bound_ >= model.solution_.lower_bound
    assert 0 < model.gap_ <= 1
    expected = (model.objective_ - model.lower_bound_) / model.objective_
    assert model.gap_ == pytest.approx(expected)
    assert f"a gap of {model.gap_:.2e}" in str(caught[0].message)
    # What the certificate proves is still what a replay finds.
    assert model.solution_.verify().ok


def test_a_bound_of_the_certificate_that_is_negative_is_told_as_zero():
    X, y = wide()
    solution = SparseRidge(2).fit(X[:, :10], y).solution_
    open_ = replace(solution, lower_bound=-3.0, gap=678.0)
    told = about_error(open_)
    assert (told.lower_bound, told.gap) == (0.0, 1.0)
    assert about_error(replace(solution, lower_bound=-np.inf)).gap == 1.0
    assert about_error(solution) is solution
