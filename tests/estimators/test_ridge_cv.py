"""Size and ridge by cross-validation."""

import re
import signal
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from cardqp import (
    NotSolvedError,
    ParameterError,
    SparseRidge,
    SparseRidgeCV,
    SparseRidgePath,
)
from cardqp._iterate import Stop
from cardqp.regression.design_settings import AUTOMATIC_ETAS
from tests.estimators.data import regression

pytestmark = pytest.mark.filterwarnings("ignore:the size that was chosen")

GRID = {"n_nonzero_coefs": [1, 3, 6], "eta": [0.1, 5.0]}


@pytest.mark.parametrize(
    ("shape", "prove"), [((80, 12), "final"), ((80, 12), "all"), ((20, 30), "all")]
)
@pytest.mark.parametrize("standardize", [True, False])
def test_results_are_those_of_a_grid_search(shape, standardize, prove):
    X, y = regression(*shape)
    folds = KFold(4, shuffle=True, random_state=0)
    settings = {"cv": folds, "standardize": standardize, "prove": prove}
    found = SparseRidgeCV(**GRID, **settings).fit(X, y)
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
    most = 1e-4 if prove == "all" else np.inf
    assert (table["largest_gap"] <= most).all()
    assert found.gap_ <= 1e-4
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
    best = SparseRidgeCV(cv=4, eta=20.0).fit(X, y)
    small = SparseRidgeCV(cv=4, eta=20.0, selection="one-standard-error").fit(X, y)
    table = best.cv_results_
    at = int(np.argmin(table["mean_error"]))
    most = table["mean_error"][at] + table["standard_error"][at]
    expected = table["n_nonzero_coefs"][table["mean_error"] <= most].min()
    assert small.n_nonzero_coefs_ == expected < best.n_nonzero_coefs_


@pytest.mark.slow
@pytest.mark.parametrize("prove", ["final", "all"])
def test_folds_in_processes_give_the_same(prove):
    X, y = regression()
    alone = SparseRidgeCV([1, 3, 5], cv=3, prove=prove).fit(X, y)
    together = SparseRidgeCV([1, 3, 5], cv=3, prove=prove, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        together.cv_results_["errors"], alone.cv_results_["errors"]
    )
    np.testing.assert_array_equal(together.coef_, alone.coef_)


def test_the_path_of_all_rows_comes_along():
    X, y = regression()
    found = SparseRidgeCV([1, 2, 3, 12], eta=9.0, cv=3, prove="all", time_limit=None)
    found.fit(X, y)
    assert found.path_.sparsities == (1, 2, 3, 12)
    position = found.path_.sparsities.index(found.n_nonzero_coefs_)
    assert found.path_.solutions[position] is found.solution_


def test_a_gap_in_any_fold_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 100)), rng.standard_normal(60)
    with pytest.warns(ConvergenceWarning, match="only up to a gap"):
        SparseRidgeCV([8], eta=1e4, cv=2, time_limit=0.1, prove="all").fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prove": "none"}, "`prove` must be one of final, all"),
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


def test_sizes_grow_while_larger_models_are_better():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 60))
    y = X[:, :35].sum(axis=1) + 0.1 * rng.standard_normal(300)
    found = SparseRidgeCV(eta=100.0, cv=3).fit(X, y)
    assert found.n_nonzero_coefs_ >= 35
    # Twice 20, and twice that, but no more than there are features.
    assert found.cv_results_["n_nonzero_coefs"].max() in (40, 60)


def test_few_rows_stop_the_growth():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((92, 60))
    y = X[:, :35].sum(axis=1) + 0.1 * rng.standard_normal(92)
    found = SparseRidgeCV(eta=100.0, cv=3, time_limit=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found.fit(X, y)
    assert found.cv_results_["n_nonzero_coefs"].max() <= 92 // 4


def test_the_end_of_the_range_is_said():
    X, y = regression()
    with pytest.warns(UserWarning, match="chosen, 2, is the largest that was tried"):
        model = SparseRidgeCV([1, 2], eta=20.0).fit(X, y)
    assert model.notes_[0].startswith("the size that was chosen, 2")


def test_the_ridge_is_one_of_a_grid():
    X, y = regression()
    found = SparseRidgeCV([1, 3, 12]).fit(X, y)
    assert set(found.cv_results_["eta"]) == set(AUTOMATIC_ETAS)
    assert found.eta_ in AUTOMATIC_ETAS


@pytest.mark.parametrize(("prove", "largest"), [("final", 4), ("all", 2)])
def test_certified_folds_do_not_grow(monkeypatch, prove, largest):
    monkeypatch.setattr("cardqp.regression.design_settings.LARGEST_SIZE", 2)
    found = SparseRidgeCV(eta=20.0, cv=2, prove=prove).fit(*regression())
    assert found.cv_results_["n_nonzero_coefs"].max() == largest


@pytest.mark.parametrize("prove", ["final", "all"])
def test_the_callback_ends_everything_and_is_remembered(prove):
    X, y = regression()
    calls = []

    def stop(progress):
        calls.append(progress)
        return len(calls) > 7

    settings = {"eta": [1.0, 5.0, 9.0], "cv": 4, "prove": prove}
    with pytest.warns(ConvergenceWarning, match="cross-validation ended early"):
        model = SparseRidgeCV([1, 2, 12], **settings).fit(X, y, callback=stop)
    assert model.solution_.stop is Stop.CALLBACK
    assert "pairs of eta and size were compared" in model.notes_[0]
    assert np.isnan(model.cv_results_["mean_error"]).any()


def test_one_process_is_no_pool(monkeypatch):
    def refuse(**settings):
        raise AssertionError(settings)

    monkeypatch.setattr("cardqp.estimators.ridge_cv.Parallel", refuse)
    X, y = regression()
    assert SparseRidgeCV([1, 3, 12], cv=3).fit(X, y).status_ == "OPTIMAL"
    with pytest.raises(AssertionError, match="n_jobs"):
        SparseRidgeCV([1, 3, 12], cv=3, n_jobs=2).fit(X, y)


def test_ctrl_c_before_anything_is_compared():
    def interrupt(_):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="before any models were compared"):
        SparseRidgeCV().fit(*regression(), callback=interrupt)


def test_stopped_before_anything_is_compared():
    with pytest.raises(NotSolvedError, match="Cross-validation has no model yet"):
        SparseRidgeCV().fit(*regression(), callback=lambda _: True)
