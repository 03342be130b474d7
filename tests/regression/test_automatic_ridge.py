"""The ridge that the data choose: what it depends on, and what not."""

import numpy as np
import pytest
import scipy.sparse

from cardqp import SparseRidge, SparseRidgePath
from cardqp._iterate import Watch
from cardqp.datasets import make_regression
from cardqp.gram import moments_of_parts
from cardqp.regression.automatic_ridge import (
    automatic_eta,
    ridge_folds,
    rule_of_thumb,
)
from cardqp.regression.design_settings import AUTOMATIC_ETAS, read_design


def table(n_samples=60, n=15, snr=0.5, seed=0):
    data = make_regression(n_samples, n, sparsity=5, snr=snr, seed=seed)
    return data.X, data.y


def eta_of(X, y, weights=None):
    return SparseRidge(5, time_limit=None).fit(X, y, weights).eta_


def test_much_noise_takes_a_stronger_ridge_than_little():
    noisy = [eta_of(*table(40, 15, 0.3, seed)) for seed in range(5)]
    clear = [eta_of(*table(400, 15, 20.0, seed)) for seed in range(5)]
    assert max(noisy) < max(AUTOMATIC_ETAS)
    assert np.mean(np.log(noisy)) < np.mean(np.log(clear)) - 1.0


@pytest.mark.parametrize("seed", range(3))
def test_neither_order_nor_repetitions_matter(seed):
    X, y = table(seed=seed)
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, len(y))
    repeated = rng.permutation(np.repeat(np.arange(len(y)), counts))
    weighted = SparseRidge(5).fit(X, y, counts)
    told = SparseRidge(5).fit(X[repeated], y[repeated])
    assert weighted.eta_ == told.eta_
    np.testing.assert_allclose(weighted.coef_, told.coef_, rtol=1e-8)


def test_folds_hold_every_row_once_and_equal_rows_together():
    X, y = table()
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    folds = ridge_folds(X, y)
    assert np.sort(np.concatenate(folds)).tolist() == list(range(120))
    for fold in folds:
        assert set((fold + 60) % 120) == set(fold)
    assert min(map(len, folds)) > 0


def test_folds_of_sparse_rows_are_those_of_dense_ones():
    X, y = table()
    X = np.where(np.abs(X) > 1.0, X, -0.0)
    dense = ridge_folds(X, y)
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix):
        for a, b in zip(dense, ridge_folds(kind(X), y), strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_of_small_integers_are_spread():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 12)).astype(float)
    sizes = [len(fold) for fold in ridge_folds(X, X.sum(axis=1))]
    assert max(sizes) < 100


def test_rows_bit_by_bit_choose_as_all_at_once():
    X, y = table()
    model = SparseRidge(5)
    for rows in np.split(np.arange(60), [2, 31]):
        model.partial_fit(X[rows], y[rows])
    assert model.eta_ == eta_of(X, y)


def test_few_rows_and_much_data_follow_the_rule_of_thumb(monkeypatch):
    X, y = table(4)
    assert SparseRidge(2).fit(X, y).eta_ == rule_of_thumb(4, 2) == 1.0
    X, y = table(90)
    monkeypatch.setattr("cardqp.regression.automatic_ridge.MOST_ENTRIES", 100)
    assert SparseRidge(5).fit(X, y).eta_ == rule_of_thumb(90, 5) == 6.0


def test_a_path_has_one_ridge():
    X, y = table()
    path = SparseRidgePath(range(1, 6)).fit(X, y)
    assert path.eta_ in AUTOMATIC_ETAS


def test_once_time_is_up_there_is_a_rule():
    X, y = table()
    parts = moments_of_parts(X, y, None, ridge_folds(X, y))
    design = read_design(15, None, always_include=None, blocks=None)
    with Watch(callback=lambda _: True) as watch:
        assert automatic_eta(parts, design, (5,), watch) == rule_of_thumb(60, 5)
