"""How estimators get on with scikit-learn, pandas and polars."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cardqp import (
    BestSubset,
    SparseQP,
    SparseRidge,
    SparseRidgeCV,
    SparseRidgePath,
    solve,
)
from tests.estimators.data import regression

pytestmark = pytest.mark.filterwarnings("ignore:the size that was chosen")

NAMES = [f"column {j}" for j in range(12)]


@pytest.mark.filterwarnings("ignore:Skipping check check_array_api_input")
# Where the target is noise, no feature may be worth it.
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [
        SparseRidge(),
        SparseRidge(4, standardize=True, positive=True, refit=True),
        SparseRidge(fit_intercept=False, method="best-response", gap=0.9),
        SparseRidgePath([1, 3]),
        SparseRidgeCV([1, 3], cv=3),
        BestSubset(4),
        BestSubset(n_nonzero_coefs=2, fit_intercept=False),
        BestSubset(3, criterion="cv", cv=3),
    ]
)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_results_are_those_of_solve_on_the_matrices(standardize, fit_intercept):
    X, y = regression()
    model = SparseRidge(
        3, eta=5.0, standardize=standardize, fit_intercept=fit_intercept
    ).fit(X, y)
    mean = X.mean(axis=0) if fit_intercept else 0.0
    target_mean = y.mean() if fit_intercept else 0.0
    scale = 1.0
    if standardize:
        scale = np.sqrt(np.mean((X - mean) ** 2, axis=0))
    problem = SparseQP.from_regression(
        (X - mean) / scale, y - target_mean, eta=5.0, sparsity=3
    )
    solution = solve(problem)
    assert model.status_ == "OPTIMAL"
    assert model.support_.tolist() == solution.support.tolist()
    np.testing.assert_allclose(model.coef_, solution.x / scale, rtol=1e-9)
    assert model.objective_ == pytest.approx(solution.objective, rel=1e-9)
    assert model.lower_bound_ <= solution.objective * (1 + 1e-9)
    assert model.gap_ <= 1e-4
    expected = target_mean + (X - mean) @ (solution.x / scale)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
    assert model.solution_.verify().ok


def test_pipeline_with_grid_search_on_a_data_frame():
    X, y = regression()
    frame = pd.DataFrame(X, columns=NAMES)
    pipeline = make_pipeline(StandardScaler(), SparseRidge()).set_output(
        transform="pandas"
    )
    search = GridSearchCV(
        pipeline, {"sparseridge__n_nonzero_coefs": [1, 3], "sparseridge__eta": [10.0]}
    ).fit(frame, y)
    model = search.best_estimator_[-1]
    assert search.best_params_["sparseridge__n_nonzero_coefs"] == 3
    assert list(model.get_feature_names_out()) == ["column 1", "column 4", "column 7"]
    assert search.score(frame, y) > 0.8


def test_as_a_selector_in_front_of_another_model():
    X, y = regression()
    frame = pd.DataFrame(X, columns=NAMES)
    selector = SparseRidge(3).set_output(transform="pandas").fit(frame, y)
    chosen = selector.transform(frame)
    assert list(chosen.columns) == ["column 1", "column 4", "column 7"]
    assert selector.get_support(indices=True).tolist() == [1, 4, 7]
    pipeline = Pipeline([("choose", SparseRidge(3)), ("fit", SparseRidge(2))])
    assert pipeline.fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize(
    "make",
    [
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_array,
    ],
)
def test_kinds_of_tables(make):
    X, y = regression()
    plain, other = SparseRidge(3).fit(X, y), SparseRidge(3).fit(make(X), y)
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-8)
    np.testing.assert_allclose(other.predict(make(X)), plain.predict(X), rtol=1e-9)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_names_are_carried_through(make):
    X, y = regression()
    model = SparseRidge(3).fit(make(dict(zip(NAMES, X.T, strict=True))), y)
    assert list(model.feature_names_in_) == NAMES
    assert model.solution_.names == ("column 1", "column 4", "column 7")
    assert model.summary().features == model.solution_.names


def test_polars_output():
    X, y = regression()
    frame = pl.DataFrame(X, schema=NAMES)
    model = SparseRidge(3).set_output(transform="polars").fit(frame, y)
    assert model.transform(frame).columns == ["column 1", "column 4", "column 7"]


@pytest.mark.parametrize(
    "estimator", [SparseRidge(3), SparseRidgePath([2, 3]), SparseRidgeCV([2, 3], cv=3)]
)
def test_pickle_and_clone(estimator):
    X, y = regression()
    model = clone(estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.solution_.verify().ok
    assert not hasattr(clone(model), "coef_")


def test_weights_are_repetitions():
    X, y = regression()
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = SparseRidge(3, standardize=True).fit(X, y, sample_weight=counts)
    rows = np.repeat(np.arange(len(y)), counts)
    repeated = SparseRidge(3, standardize=True).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


def test_cross_val_score():
    X, y = regression()
    assert cross_val_score(SparseRidge(3), X, y, cv=4).mean() > 0.7


def test_dummies_of_a_category_are_chosen_as_one():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Oslo", "Rome", "Lima", "Bern"], 200),
            "size": rng.standard_normal(200),
            "noise": rng.standard_normal(200),
        }
    )
    effect = {"Oslo": 0.0, "Rome": 2.0, "Lima": -1.0, "Bern": 0.5}
    y = frame["city"].map(effect) + 0.3 * frame["size"] + 0.1 * rng.normal(size=200)
    encode = ColumnTransformer(
        [("city", OneHotEncoder(sparse_output=False), ["city"])],
        remainder="passthrough",
    ).set_output(transform="pandas")
    table = encode.fit_transform(frame)
    blocks = {name: "city" for name in table if name.startswith("city__")}
    model = SparseRidge(1, blocks=blocks, eta=100.0).fit(table, y)
    assert set(model.get_feature_names_out()) == set(blocks)
    both = SparseRidge(2, blocks=blocks, eta=100.0).fit(table, y)
    assert set(both.get_feature_names_out()) == {*blocks, "remainder__size"}


def test_summary_is_plain_data():
    X, y = regression()
    json.dumps(SparseRidge(3).fit(X, y).summary().to_dict())
