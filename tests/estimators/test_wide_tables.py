"""Tables with very many columns: the same models from streamed data."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cardqp import SparseRidge, SparseRidgeCV, SparseRidgePath
from cardqp.branch_and_bound.streamed.size import is_worth_streaming
from tests.streamed import stream_everything


@pytest.fixture
def streamed(monkeypatch):
    """Small tables are large."""
    stream_everything(monkeypatch, min_entries=0)


def table(n_samples=30, n=150, seed=0):
    """Three of the columns matter; columns have different means and sizes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n)) * rng.uniform(0.5, 3.0, n) + 4.0
    X[:, 11] = 2.0  # a column that does not vary
    y = X[:, [1, 4, 7]] @ [3.0, -1.0, 1.5] + rng.standard_normal(n_samples) + 3.0
    return X, y


def assert_same(model, plain):
    assert model.solution_.certificate.is_streamed(model.solution_.problem)
    assert not plain.solution_.certificate.is_streamed(plain.solution_.problem)
    assert model.status_ == plain.status_ == "OPTIMAL"
    assert model.solution_.verify().ok
    np.testing.assert_array_equal(model.support_, plain.support_)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-7, atol=1e-12)
    assert model.intercept_ == pytest.approx(plain.intercept_, rel=1e-7)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-10)
    assert model.lower_bound_ <= plain.objective_ * (1 + 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"eta": 3.0},
        {"eta": 3.0, "standardize": True},
        {"fit_intercept": False},
        {"positive": True},
        {"coef_bounds": (-0.5, 2.0)},
        {"always_include": [20, 3]},
        {"refit": True},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_models_are_those_of_the_factor(settings, weighted, request):
    X, y = table()
    weights = np.random.default_rng(1).integers(0, 4, len(y)) if weighted else None
    plain = SparseRidge(3, **settings).fit(X, y, weights)
    request.getfixturevalue("streamed")
    model = SparseRidge(3, **settings).fit(X, y, weights)
    assert_same(model, plain)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-7)
    assert model.score(X, y) == pytest.approx(plain.score(X, y))
    assert str(model.summary()) == str(plain.summary())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_thousands_of_columns(seed, monkeypatch):
    X, y = table(60, 5000, seed)
    plain = SparseRidge(3, eta=5.0, standardize=True).fit(X, y)
    stream_everything(monkeypatch, min_columns=4000, min_entries=60 * 5000)
    assert_same(SparseRidge(3, eta=5.0, standardize=True).fit(X, y), plain)


@pytest.mark.usefixtures("streamed")
def test_frames_and_sparse_matrices():
    X, y = table()
    X[np.abs(X) < 3.0] = 0.0
    model = SparseRidge(3, eta=1.0).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])])
    for other in (frame, scipy.sparse.csr_matrix(X)):
        found = SparseRidge(3, eta=1.0).fit(other, y)
        np.testing.assert_array_equal(found.coef_, model.coef_)
    assert found.solution_.certificate.is_streamed(found.solution_.problem)
    again = pickle.loads(pickle.dumps(model))
    assert again.solution_.verify().ok


@pytest.mark.slow
def test_alternatives_and_other_methods(request):
    X, y = table()
    plain = SparseRidge(3, eta=1.0).fit(X, y).alternatives(20)
    request.getfixturevalue("streamed")
    others = SparseRidge(3, eta=1.0).fit(X, y).alternatives(20)
    assert [s.tolist() for s in others.supports] == [s.tolist() for s in plain.supports]
    for method in ("best-response", "dual-program", "beck-hallak"):
        model = SparseRidge(3, method=method, gap=1.0).fit(X, y)
        assert set(model.support_) >= {1}


@pytest.mark.slow
def test_paths_and_folds(request):
    X, y = table()
    settings = {"eta": 2.0, "standardize": True}
    path = SparseRidgePath([1, 2, 3], **settings).fit(X, y)
    folds = SparseRidgeCV([1, 3], cv=3, **settings).fit(X, y)
    request.getfixturevalue("streamed")
    streamed_path = SparseRidgePath([1, 2, 3], **settings).fit(X, y)
    streamed_folds = SparseRidgeCV([1, 3], cv=3, **settings).fit(X, y)
    assert_same(streamed_path, path)
    assert_same(streamed_folds, folds)


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize(
    "settings", [{"blocks": [0, 0, *range(1, 149)]}, {"coef_bounds": (0.1, None)}]
)
def test_what_cannot_be_streamed_is_done_as_before(settings):
    X, y = table()
    model = SparseRidge(3, gap=1.0, **settings).fit(X, y)
    assert not model.solution_.certificate.is_streamed(model.solution_.problem)


def test_which_tables_are_streamed():
    assert is_worth_streaming(200, 500_000)
    assert not is_worth_streaming(200, 499_999)  # too small to gain
    assert not is_worth_streaming(200, 2_500_000)  # too large for all components
    assert not is_worth_streaming(20_000, 19_999)  # more rows than columns
    assert not is_worth_streaming(10**6, 4000)
