"""Moments against sums over rows."""

import numpy as np
import pytest
import scipy.sparse

from cardqp.gram import (
    GramMoments,
    RowMoments,
    mean_squared_error,
    merge,
    moments,
    moments_of_parts,
)

# Sums of a few dozen terms of size one, taken in another order.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def data(n_samples=30, n=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n)) * rng.uniform(0.1, 9, n) + 3.0
    X[rng.uniform(size=X.shape) < 0.4] = 0.0
    y = rng.standard_normal(n_samples) + 7.0
    return X, y, rng.uniform(0.0, 2.0, n_samples)


def by_rows(X, y, w, centred):
    w = w / w.sum()
    mean = w @ X if centred else np.zeros(X.shape[1])
    target_mean = w @ y if centred else 0.0
    Z, t = X - mean, y - target_mean
    return mean, target_mean, (Z * w[:, None]).T @ Z, (w * t) @ Z, w @ t**2


SHAPES = [(30, 5), (6, 20)]


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_moments_are_sums_over_rows(centred, shape, make):
    X, y, w = data(*shape)
    found = moments(make(X), y, w, centred=centred)
    mean, target_mean, gram, cross, power = by_rows(X, y, w, centred)
    np.testing.assert_allclose(found.mean, mean, **CLOSE)
    np.testing.assert_allclose(found.target_mean, target_mean, **CLOSE)
    np.testing.assert_allclose(found.form(np.ones(shape[1])).dense(), gram, **CLOSE)
    np.testing.assert_allclose(found.variance, np.diag(gram), **CLOSE)
    np.testing.assert_allclose(found.cross, cross, **CLOSE)
    np.testing.assert_allclose(found.power, power, **CLOSE)
    np.testing.assert_allclose(found.block([1, 3]), gram[[1, 3]][:, [1, 3]], **CLOSE)
    assert found.weight == pytest.approx(w.sum())
    assert found.n_samples == len(y)


def test_few_features_need_no_rows():
    X, y, _ = data(30, 5)
    assert isinstance(moments(X, y), GramMoments)
    X, y, _ = data(4, 5)
    assert isinstance(moments(X, y), RowMoments)


def test_data_is_not_written_to():
    X, y, w = data()
    kept = X.copy(), y.copy(), w.copy()
    moments(X, y, w)
    for now, before in zip((X, y, w), kept, strict=True):
        np.testing.assert_array_equal(now, before)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_parts_make_the_whole(centred, shape):
    X, y, w = data(*shape)
    parts = np.array_split(np.random.default_rng(1).permutation(shape[0]), 3)
    pieces = moments_of_parts(X, y, w, parts, centred=centred)
    whole, merged = moments(X, y, w, centred=centred), merge(pieces)
    scale = np.linspace(1, 2, shape[1])
    np.testing.assert_allclose(
        merged.form(scale).dense(), whole.form(scale).dense(), **CLOSE
    )
    for name in ("weight", "n_samples", "mean", "target_mean", "cross", "power"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), **CLOSE)


def test_one_part_is_itself():
    X, y, _ = data()
    whole = moments(X, y)
    assert merge([whole]) is whole


def test_a_part_without_weight_counts_for_nothing():
    X, y, w = data()
    w[:10] = 0.0
    parts = moments_of_parts(X, y, w, [np.arange(10), np.arange(10, 30)])
    np.testing.assert_allclose(merge(parts).cross, parts[1].cross, **CLOSE)


def test_what_is_constant_in_all_parts_stays_exactly_so():
    X, y, _ = data()
    X[:, 2] = 0.0
    parts = moments_of_parts(X, y, None, np.array_split(np.arange(30), 7))
    assert merge(parts).variance[2] == 0.0


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_error_of_a_model_is_the_one_on_rows(centred, shape):
    X, y, w = data(*shape)
    coef = np.zeros(shape[1])
    coef[[0, 3]] = 0.5, -2.0
    rows = moments(X, y, w, centred=centred)
    intercept = 1.5 if centred else 0.0
    expected = np.average((y - X @ coef - intercept) ** 2, weights=w)
    found = mean_squared_error(rows, coef, intercept)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
def test_sparse_columns_far_from_zero_keep_their_digits(weighted):
    X, y, w = data()
    X[:, [0, 3]] = np.abs(X[:, [0, 3]]) + 1e8  # full columns among sparse ones
    w = w if weighted else np.ones(len(y))
    found = moments(scipy.sparse.csr_array(X), y, w)
    _, _, gram, cross, _ = by_rows(X, y, w, centred=True)
    # Means of size 1e8 are known to 1e-8.
    np.testing.assert_allclose(found.gram, gram, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.cross, cross, rtol=1e-6, atol=1e-6)
