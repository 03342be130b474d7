"""Settings of SparseRidge, what it reports, and what it refuses."""

import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import r2_score

from cardqp import (
    ParameterError,
    ProblemError,
    SparseRidge,
    SparseRidgeCV,
    SparseRidgePath,
)
from cardqp.regression.design_settings import AUTOMATIC_ETAS
from tests.estimators.data import regression


def best_by_enumeration(X, y, size, alpha):
    """The least objective over all choices, by scikit-learn's ridge."""
    best = np.inf
    for support in itertools.combinations(range(X.shape[1]), size):
        Z = X[:, support]
        ridge = Ridge(alpha=alpha * len(y)).fit(Z, y)
        value = np.mean((y - ridge.predict(Z)) ** 2) + alpha * ridge.coef_ @ ridge.coef_
        best = min(best, value)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_no_choice_is_better(seed):
    X, y = regression(20 if seed else 6, 8, seed)
    y = y + np.random.default_rng(seed).standard_normal(len(y)) * 5
    model = SparseRidge(3, eta=2.0).fit(X, y)
    best = best_by_enumeration(X, y, 3, 0.5)
    assert model.lower_bound_ <= best * (1 + 1e-9)
    assert best <= model.objective_ * (1 + 1e-9) <= best * (1 + 1.1e-4)


def least_error(X, y, size):
    """The least mean squared error of all choices, without a ridge."""
    X, y = X - X.mean(axis=0), y - y.mean()
    errors = [np.mean(y**2)]
    for support in itertools.combinations(range(X.shape[1]), size):
        part = X[:, support]
        coef = np.linalg.lstsq(part, y, rcond=1e-9)[0]
        errors.append(np.mean((y - part @ coef) ** 2))
    return min(errors)


@pytest.mark.parametrize("eta", [None, np.inf])
@pytest.mark.parametrize("kind", ["plain", "dependent", "constant", "wide"])
def test_no_ridge_is_best_subset_selection(kind, eta):
    X, y = regression(6 if kind == "wide" else 30, 8, 1)
    y = y + np.random.default_rng(1).standard_normal(len(y))
    if kind == "dependent":
        X[:, 7] = X[:, 0] - X[:, 1]
    if kind == "constant":
        X[:, 6], X[:, 7] = 0.1, 3.0
    model = SparseRidge(3, eta=eta).fit(X, y)
    best = least_error(X, y, 3)
    assert model.status_ == "OPTIMAL"
    assert model.eta_ == np.inf
    assert model.lower_bound_ <= best * (1 + 1e-9)
    assert model.objective_ == pytest.approx(best, rel=1.1e-4)
    error = np.mean((y - model.predict(X)) ** 2)
    assert error == pytest.approx(best, rel=1.1e-4)


def test_no_ridge_with_the_dummies_of_a_category():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 3, 60)
    X = np.column_stack([np.eye(3)[levels], rng.standard_normal((60, 3))])
    y = 2.0 * (levels == 1) + X[:, 3] + 0.1 * rng.standard_normal(60)
    blocks = [0, 0, 0, 1, 2, 3]
    model = SparseRidge(2, eta=None, blocks=blocks).fit(X, y)
    weak = SparseRidge(2, eta=1e9, blocks=blocks).fit(X, y)
    assert model.status_ == "OPTIMAL"
    assert model.support_.tolist() == weak.support_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(model.predict(X), weak.predict(X), rtol=1e-5, atol=1e-5)


def test_automatic_ridge_does_not_depend_on_units():
    X, y = regression()
    factors = np.logspace(-6, 6, 12)
    for standardize in (True, False):
        model = SparseRidge(3, standardize=standardize).fit(X * factors, y)
        assert model.eta_ in AUTOMATIC_ETAS
        plain = SparseRidge(3, eta=model.eta_, standardize=True).fit(X, y)
        np.testing.assert_allclose(model.coef_ * factors, plain.coef_, rtol=1e-8)


def test_more_features_than_there_are():
    X, y = regression()
    model = SparseRidge(50).fit(X, y)
    assert len(model.support_) == 12


def test_units_of_features_do_not_matter_if_standardised():
    X, y = regression()
    factors = np.logspace(-6, 6, 12)
    plain = SparseRidge(3, standardize=True).fit(X, y)
    other = SparseRidge(3, standardize=True).fit(X * factors, y)
    np.testing.assert_allclose(other.coef_ * factors, plain.coef_, rtol=1e-8)


def test_positive_coefficients():
    X, y = regression()
    model = SparseRidge(3, positive=True).fit(X, y)
    assert (model.coef_ >= 0).all()
    assert 4 not in model.support_


def test_thresholds_and_bounds():
    X, y = regression()
    model = SparseRidge(3, coef_bounds=(None, 0.5)).fit(X, y)
    assert model.coef_.max() == 0.5
    apart = SparseRidge(5, coef_bounds=(0.7, None)).fit(X, y)
    assert (apart.coef_[apart.support_] >= 0.7).all()


@pytest.mark.parametrize(
    "given", [[0, 11], ["a", "l"], np.isin(np.arange(12), [0, 11])]
)
def test_always_include(given):
    import pandas as pd

    X, y = regression()
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    model = SparseRidge(3, always_include=given).fit(frame, y)
    assert model.support_.tolist() == [0, 1, 11]


def test_included_features_count_even_if_they_do_nothing():
    X, y = regression()
    X[:, 0] = 5.0
    model = SparseRidge(2, always_include=[0]).fit(X, y)
    assert model.get_support(indices=True).tolist() == [0, 1]


@pytest.mark.parametrize(
    "blocks", [[0, 1, 1, *range(2, 11)], [None, "b", "b", *[None] * 9]]
)
def test_blocks_are_chosen_together(blocks):
    X, y = regression()
    model = SparseRidge(1, blocks=blocks).fit(X, y)
    assert model.support_.tolist() == [1, 2]


def test_refit_is_least_squares_on_the_chosen():
    X, y = regression()
    model = SparseRidge(3, refit=True).fit(X, y)
    plain = LinearRegression().fit(X[:, model.support_], y)
    np.testing.assert_allclose(model.coef_[model.support_], plain.coef_, rtol=1e-8)
    assert model.intercept_ == pytest.approx(plain.intercept_)
    assert model.objective_ == pytest.approx(SparseRidge(3).fit(X, y).objective_)


def test_refit_keeps_bounds():
    X, y = regression()
    model = SparseRidge(3, refit=True, positive=True, fit_intercept=False).fit(X, y)
    expected = nnls(X[:, model.support_], y)[0]
    np.testing.assert_allclose(model.coef_[model.support_], expected, rtol=1e-6)


def test_summary():
    X, y = regression()
    model = SparseRidge(3).fit(X, y)
    X_test, y_test = regression(seed=1)
    found = model.summary(X_test, y_test)
    chosen = model.support_
    plain = LinearRegression().fit(X[:, chosen], y)
    np.testing.assert_allclose(found.coef, model.coef_[chosen])
    np.testing.assert_allclose(found.coef_refit, plain.coef_, rtol=1e-8)
    assert found.r2 == pytest.approx(model.score(X, y))
    assert found.r2_test == pytest.approx(model.score(X_test, y_test))
    assert found.r2_refit == pytest.approx(plain.score(X[:, chosen], y))
    assert found.r2_refit_test == pytest.approx(
        r2_score(y_test, plain.predict(X_test[:, chosen]))
    )
    without = LinearRegression().fit(X[:, chosen[1:]], y).score(X[:, chosen[1:]], y)
    assert found.worth[0] == pytest.approx(found.r2_refit - without)
    text = str(found)
    assert "x1" in text
    assert "R2, test" in text
    assert "R2, test" not in str(model.summary())


def test_worth_of_a_group_is_that_of_all_its_members():
    X, y = regression()
    model = SparseRidge(2, blocks=[0, 1, 1, *range(2, 11)]).fit(X, y)
    found = model.summary()
    assert model.support_.tolist() == [1, 2, 7]
    alone = LinearRegression().fit(X[:, [7]], y).score(X[:, [7]], y)
    assert found.worth[0] == found.worth[1] == pytest.approx(found.r2_refit - alone)


def test_alternatives_are_those_of_the_problem():
    X, y = regression()
    model = SparseRidge(3).fit(X, y)
    found = model.alternatives(30.0, max_count=4)
    assert found.solutions[0].support.tolist() == model.support_.tolist()
    assert len(found) > 1
    for excess, support in zip(found.excess, found.supports, strict=True):
        other = SparseRidge(3, always_include=support).fit(X, y)
        expected = other.objective_ / model.objective_ - 1.0
        assert excess == pytest.approx(expected, abs=1e-9)


def test_score_without_intercept_is_about_the_mean():
    X, y = regression()
    model = SparseRidge(3, fit_intercept=False).fit(X, y)
    assert model.summary().r2 == pytest.approx(model.score(X, y))


def test_what_is_not_proved_is_said_with_its_gap():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 200))
    y = rng.standard_normal(60)
    with pytest.warns(
        ConvergenceWarning, match=r"only up to a gap of \d\.\d\de[+-]\d\d"
    ):
        model = SparseRidge(10, eta=50.0, time_limit=0.05).fit(X, y)
    assert model.status_ == "FEASIBLE"
    assert 1e-4 < model.gap_ <= 1.0


def test_the_same_seed_gives_the_same_blocks():
    X, y = regression(40, 30)
    models = [
        SparseRidge(3, method="block-decomposition", random_state=3, gap=0.9).fit(X, y)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_callback_sees_the_work_and_may_stop_it():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 100)), rng.standard_normal(60)
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) > 3

    with pytest.warns(ConvergenceWarning):
        model = SparseRidge(8, eta=1e4).fit(X, y, callback=stop)
    assert len(seen) == 4
    assert np.count_nonzero(model.coef_) <= 8


def test_not_fitted():
    with pytest.raises(NotFittedError):
        SparseRidge().predict(np.ones((2, 2)))
    with pytest.raises(NotFittedError):
        SparseRidge().summary()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_nonzero_coefs": 0}, "`n_nonzero_coefs` must be an integer, at least 1"),
        ({"n_nonzero_coefs": 2.5}, "`n_nonzero_coefs` must be an integer"),
        ({"n_nonzero_coefs": range(3)}, "`n_nonzero_coefs` must be an integer"),
        ({"eta": "best"}, '`eta` must be "auto", a positive number, or None'),
        ({"eta": 0.0}, "`eta` must be a positive number"),
        ({"eta": [1.0, 2.0]}, "`eta` must be a positive number"),
        ({"blocks": 3}, "`blocks` must have one label for each of the"),
        ({"coef_bounds": 3.0}, "`coef_bounds` must be a pair (lower, upper)"),
        ({"coef_bounds": (2.0, 1.0)}, "`coef_bounds lower` must not exceed"),
        (
            {"coef_bounds": (None, -1.0), "positive": True},
            "`coef_bounds` must leave room above 0",
        ),
        ({"always_include": ["a"]}, "`always_include` must hold indices"),
        ({"always_include": [True]}, "`always_include` must have one entry for each"),
        ({"always_include": [12]}, "`always_include` must hold indices between 0"),
        (
            {"n_nonzero_coefs": 1, "always_include": [1, 2]},
            "`n_nonzero_coefs` must leave room for `always_include`",
        ),
        ({"blocks": [1, 2]}, "`blocks` must have one label for each of the 12"),
        ({"blocks": {"a": 1}}, "`blocks` must be one label per feature"),
        ({"gap": -1.0}, "`gap` must be a number, at least 0"),
        ({"time_limit": -1.0}, "`time_limit` must be a number"),
        ({"method": "magic"}, "`method` must be one of"),
    ],
)
def test_messages(settings, message):
    X, y = regression()
    with pytest.raises((ParameterError, ProblemError), match=re.escape(message)):
        SparseRidge(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"always_include": ["z"]}, "`always_include` must name features of X: 'z'"),
        ({"blocks": {"z": 1}}, "`blocks` must name features of X: 'z'"),
    ],
)
def test_messages_about_names(settings, message):
    import pandas as pd

    X, y = regression()
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    with pytest.raises(ParameterError, match=re.escape(message)):
        SparseRidge(**settings).fit(frame, y)


class TestRowsBitByBit:
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize("weighted", [True, False])
    def test_all_rows_in_pieces_are_all_rows(self, fit_intercept, weighted):
        X, y = regression()
        w = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
        settings = {"standardize": True, "fit_intercept": fit_intercept}
        whole = SparseRidge(3, **settings).fit(X, y, w)
        model = SparseRidge(3, **settings)
        for rows in np.split(np.arange(80), [1, 3, 40]):
            model.partial_fit(X[rows], y[rows], None if w is None else w[rows])
            assert model.n_features_in_ == 12
        assert model.support_.tolist() == whole.support_.tolist()
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        assert model.intercept_ == pytest.approx(whole.intercept_, rel=1e-9)
        assert model.objective_ == pytest.approx(whole.objective_, rel=1e-9)
        assert model.summary().r2 == pytest.approx(whole.summary().r2, rel=1e-9)

    def test_one_row_is_a_constant(self):
        X, y = regression()
        model = SparseRidge(20).partial_fit(X[:1], y[:1])
        np.testing.assert_allclose(model.predict(X), y[0])

    def test_rows_that_are_refused_are_forgotten(self):
        X, y = regression()
        model = SparseRidge(3)
        with pytest.raises(ProblemError, match="`y` must reach 1e-140"):
            model.partial_fit(X, 1e-200 * y)
        model.partial_fit(X, y)
        alone = SparseRidge(3).partial_fit(X, y)
        np.testing.assert_array_equal(model.coef_, alone.coef_)

    def test_fit_starts_anew_and_keeps_no_rows(self):
        X, y = regression()
        model = SparseRidge(3).partial_fit(X[:50], y[:50] + 100.0).fit(X, y)
        np.testing.assert_array_equal(model.coef_, SparseRidge(3).fit(X, y).coef_)
        model.partial_fit(X[:40, :5], y[:40])
        alone = SparseRidge(3).partial_fit(X[:40, :5], y[:40])
        np.testing.assert_array_equal(model.coef_, alone.coef_)

    def test_rows_that_are_refused_do_not_count(self):
        X, y = regression()
        model = SparseRidge(3).partial_fit(X[:50], y[:50])
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.full((2, 12), np.nan), y[:2])
        model.partial_fit(X[50:], y[50:])
        np.testing.assert_allclose(
            model.coef_, SparseRidge(3).fit(X, y).coef_, rtol=1e-9
        )

    def test_a_model_from_a_file_goes_on(self):
        X, y = regression()
        model = SparseRidge(3).partial_fit(X[:50], y[:50])
        again = pickle.loads(pickle.dumps(model)).partial_fit(X[50:], y[50:])
        model.partial_fit(X[50:], y[50:])
        np.testing.assert_array_equal(again.coef_, model.coef_)

    def test_names_must_stay(self):
        X, y = regression()
        names = [f"c{j}" for j in range(12)]
        model = SparseRidge(3).partial_fit(pd.DataFrame(X, columns=names), y)
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(pd.DataFrame(X, columns=names[::-1]), y)


def test_bounds_in_one_array():
    X, y = regression()
    bounds = np.array([np.full(X.shape[1], -0.5), np.full(X.shape[1], 0.5)])
    found = SparseRidge(3, coef_bounds=bounds).fit(X, y)
    np.testing.assert_array_equal(
        found.coef_, SparseRidge(3, coef_bounds=(-0.5, 0.5)).fit(X, y).coef_
    )


def test_coefficients_that_are_fixed():
    X, y = regression()
    model = SparseRidge(3, coef_bounds=(0.5, 0.5), refit=True).fit(X, y)
    assert set(model.coef_) <= {0.0, 0.5}
    assert len(model.support_) > 0


@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_columns_far_from_zero(standardize):
    X, y = regression()
    X = X + 1e7
    model = SparseRidge(3, standardize=standardize)
    dense = clone(model).fit(X, y)
    model.fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(model.support_, dense.support_)
    # Means of size 1e7 leave nine digits of what varies.
    assert model.objective_ == pytest.approx(dense.objective_, rel=1e-8)


@pytest.mark.parametrize("shape", [(30, 6), (6, 9)])
@pytest.mark.parametrize("estimator", [SparseRidge, SparseRidgeCV, SparseRidgePath])
def test_targets_whose_squares_are_lost_are_refused(estimator, shape):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    with pytest.raises(ProblemError, match=r"`y` must reach 1e-140 .* rescale it"):
        estimator().fit(X, 1e-200 * y)
