"""Size and ridge by cross-validation."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from cardqp import ParameterError, SparseRidge, SparseRidgeCV, SparseRidgePath
from tests.estimators.data import regression

GRID = {"n_nonzero_coefs": [1, 3, 6], "eta": [0.1, 5.0]}


@pytest.mark.parametrize("shape", [(80, 12), (20, 30)])
@pytest.mark.parametrize("standardize", [True, False])
def test_results_are_those_of_a_grid_search(shape, standardize):
    X, y = regression(*shape)
    folds = KFold(4, shuffle=True, random_state=0)
    found = SparseRidgeCV(**GRID, cv=folds, standardize=standardize).fit(X, y)
    slow = GridSearchCV(
        SparseRidge(standardize=standardize),
        GRID,
        cv=folds,
        scoring="neg_mean_squared_error",
    ).fit(X, y)
    errors = {
        (p["eta"], p["n_nonzero_coefs"]): -score
        for p, score in zip(
            slow.cv_results_["params"], slow.cv_results_["mean_test_score"], strict=True
        )
    }
    table = found.cv_results_
    for eta, size, error in zip(
        table["eta"], table["n_nonzero_coefs"], table["mean_error"], strict=True
    ):
        assert error == pytest.approx(errors[eta, size], rel=1e-8)
    assert found.eta_ == slow.best_params_["eta"]
    assert found.n_nonzero_coefs_ == slow.best_params_["n_nonzero_coefs"]
    np.testing.assert_allclose(found.coef_, slow.best_estimator_.coef_, rtol=1e-8)
    assert (table["largest_gap"] <= 1e-4).all()
    assert table["errors"].shape == (6, 4)


def test_weights_count_in_fits_and_errors():
    X, y = regression()
    weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    folds = list(KFold(4).split(X))
    found = SparseRidgeCV([3], eta=5.0, cv=folds).fit(X, y, sample_weight=weights)
    errors = []
    for train, test in folds:
        model = SparseRidge(3, eta=5.0).fit(X[train], y[train], weights[train])
        left = y[test] - model.predict(X[test])
        errors.append(np.average(left**2, weights=weights[test]))
    np.testing.assert_allclose(found.cv_results_["errors"][0], errors, rtol=1e-8)


def test_smallest_model_within_one_standard_error():
    X, y = regression()
    y = y + 2.0 * np.random.default_rng(1).standard_normal(len(y))
    best = SparseRidgeCV(cv=4).fit(X, y)
    small = SparseRidgeCV(cv=4, selection="one-standard-error").fit(X, y)
    table = best.cv_results_
    at = int(np.argmin(table["mean_error"]))
    most = table["mean_error"][at] + table["standard_error"][at]
    expected = table["n_nonzero_coefs"][table["mean_error"] <= most].min()
    assert small.n_nonzero_coefs_ == expected < best.n_nonzero_coefs_


@pytest.mark.slow
def test_folds_in_processes_give_the_same():
    X, y = regression()
    alone = SparseRidgeCV([1, 3], cv=3).fit(X, y)
    together = SparseRidgeCV([1, 3], cv=3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        together.cv_results_["errors"], alone.cv_results_["errors"]
    )
    np.testing.assert_array_equal(together.coef_, alone.coef_)


def test_the_path_of_all_rows_comes_along():
    X, y = regression()
    found = SparseRidgeCV([1, 2, 3], cv=3).fit(X, y)
    assert found.path_.sparsities == (1, 2, 3)
    position = found.path_.sparsities.index(found.n_nonzero_coefs_)
    assert found.path_.solutions[position] is found.solution_


def test_a_gap_in_any_fold_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 100)), rng.standard_normal(60)
    with pytest.warns(ConvergenceWarning, match="only up to a gap"):
        SparseRidgeCV([8], eta=1e4, cv=2, time_limit=0.1).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selection": "max"}, "`selection` must be one of min, one-standard-error"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "`cv` must have two folds or more"),
        ({"cv": []}, "`cv` must have two folds or more"),
        ({"eta": []}, "`eta` must name at least one number"),
    ],
)
def test_messages(settings, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        SparseRidgeCV(**settings).fit(*regression())


def test_splits_that_fit_to_fewer_rows_are_refused_in_one_line():
    X, y = regression()
    rows, half = np.arange(len(y)), len(y) // 2
    splits = [(rows[half + 3 :], rows[:half]), (rows[:half], rows[half:])]
    with pytest.raises(ParameterError, match="fit to all others") as err:
        SparseRidgeCV(cv=splits).fit(X, y)
    assert "\n" not in str(err.value)
    splits[0] = rows[half:], rows[:half]
    assert SparseRidgeCV(range(1, 3), cv=splits).fit(X, y).status_ == "OPTIMAL"


@pytest.mark.parametrize("n", [9, 60])
def test_every_fold_needs_weight(n):
    X, y = regression(40, n)
    weights = np.ones(40)
    weights[:10] = 0.0
    with pytest.raises(ParameterError, match="fold 1 of 4 has no weight"):
        SparseRidgeCV(range(1, 3), cv=4).fit(X, y, weights)
    weights[9] = 0.5
    model = SparseRidgeCV(range(1, 3), cv=4).fit(X, y, weights)
    assert np.isfinite(model.cv_results_["errors"]).all()


def test_no_ridge_is_one_of_several():
    X, y = regression()
    found = SparseRidgeCV([1, 3], eta=[None, 1e-3], cv=3).fit(X, y)
    assert found.eta_ == np.inf
    assert found.cv_results_["eta"].tolist() == [np.inf, np.inf, 1e-3, 1e-3]
    path = SparseRidgePath([1, 3], eta=None).fit(X, y)
    assert path.eta_ == np.inf
