"""Cross-validation on moments against fits to rows."""

import signal

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from cardqp import SparseQP, SparseRidge, solve
from cardqp._iterate import Watch
from cardqp.gram import moments_of_parts
from cardqp.regression import compare_models, cross_validate
from cardqp.regression.cross_validation import Budget, CrossValidation
from tests.regression.test_design import design

ETAS, SIZES = (1.0, 20.0), (1, 2, 4)


def data(n_samples=60, n=8):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n_samples, n)) + 2.0
    y = X[:, 0] - 2.0 * X[:, 3] + rng.standard_normal(n_samples) + 1.0
    return X, y, np.array_split(rng.permutation(n_samples), 4)


def run(callback=None, compare=cross_validate, **changes):
    X, y, folds = data()
    parts = moments_of_parts(X, y, None, folds)
    with Watch(callback=callback) as watch:
        return compare(parts, design(8), SIZES, ETAS, watch=watch, **changes)


def error_by_rows(X, y, test, eta, sparsity):
    train = np.setdiff1d(np.arange(len(y)), test)
    mean, target_mean = X[train].mean(axis=0), y[train].mean()
    problem = SparseQP.from_regression(
        X[train] - mean, y[train] - target_mean, eta=eta, sparsity=sparsity
    )
    left = y[test] - target_mean - (X[test] - mean) @ solve(problem).x
    return np.mean(left**2)


@pytest.mark.parametrize("compare", [cross_validate, compare_models])
def test_errors_are_those_of_fits_to_rows(compare):
    X, y, folds = data()
    found = run(compare=compare)
    for i, eta in enumerate(ETAS):
        for j, size in enumerate(SIZES):
            expected = [error_by_rows(X, y, fold, eta, size) for fold in folds]
            np.testing.assert_allclose(found.errors[i, j], expected, rtol=1e-9)
    is_certified = compare is cross_validate
    assert (found.gaps <= 1e-4 if is_certified else np.isinf(found.gaps)).all()


@pytest.mark.parametrize("compare", [cross_validate, compare_models])
def test_models_can_be_judged_without_the_ridge(compare):
    X, y, folds = data()
    found = run(compare=compare, refit=True)
    for k, test in enumerate(folds):
        train = np.setdiff1d(np.arange(len(y)), test)
        chosen = SparseRidge(2, eta=1.0).fit(X[train], y[train]).support_
        model = LinearRegression().fit(X[train][:, chosen], y[train])
        left = y[test] - model.predict(X[test][:, chosen])
        assert found.errors[0, 1, k] == pytest.approx(np.mean(left**2), rel=1e-8)


def test_models_on_all_rows_come_along():
    found = run()
    assert [len(row) for row in found.solutions] == [3, 3]
    assert [s.problem.sparsity for s in found.solutions[0]] == [1, 2, 4]
    assert all(s.problem.eta[0] == 20.0 for s in found.solutions[1])


def test_selection():
    errors = np.array([[[9.0, 9.0], [5.0, 7.0], [4.0, 6.0]]])
    grid = CrossValidation((1.0,), (1, 2, 3), errors, np.zeros((1, 3, 2)), ((),))
    assert grid.best() == (0, 2)
    assert grid.best("one-standard-error") == (0, 1)


def test_the_strongest_ridge_within_half_a_standard_error():
    errors = np.array(
        [
            [[9.0, 9.0, 9.0], [7.0, 8.0, 9.0]],
            [[9.0, 9.0, 9.0], [6.0, 6.2, 6.1]],
            [[9.0, 9.0, 9.0], [6.4, 5.8, 6.0]],
        ]
    )
    gaps = np.full(errors.shape, np.inf)
    grid = CrossValidation((1.0, 3.0, 10.0), (1, 2), errors, gaps)
    assert grid.best() == (2, 1)
    # The excess of the second is .03 on average, with a standard error of .23.
    assert grid.best(is_stronger_better=True) == (1, 1)


def test_stopped_search_keeps_what_is_done():
    calls = []

    def stop(progress):
        calls.append(progress)
        return len(calls) > 12

    found = run(callback=stop)
    reached = ~np.isnan(found.errors).any(axis=2)
    assert 0 < np.count_nonzero(reached) < reached.size
    assert np.count_nonzero(reached) == sum(len(row) for row in found.solutions)
    assert np.isfinite(found.mean_errors[found.best()])


@pytest.mark.parametrize("compare", [cross_validate, compare_models])
def test_stopped_before_anything_is_done(compare):
    assert run(compare=compare, callback=lambda _: True).n_reached == 0


def test_a_ridge_that_was_cut_short_does_not_count():
    calls = []

    def interrupt(progress):
        calls.append(progress.stage)
        if len(calls) == 6:
            signal.raise_signal(signal.SIGINT)

    found = run(compare=compare_models, callback=interrupt)
    assert calls[0] == "eta 1, fold 1 of 4"
    assert np.isfinite(found.errors[0]).all()
    assert np.isnan(found.errors[1]).all()


def test_a_first_ridge_that_was_cut_short_is_judged_by_the_folds_there_are():
    calls = []

    def interrupt(progress):
        calls.append(progress.stage)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)

    found = run(compare=compare_models, callback=interrupt)
    whole = run(compare=compare_models)
    np.testing.assert_array_equal(found.errors[0], whole.errors[0, :, :1])
    assert found.best("one-standard-error", is_stronger_better=True)[0] == 0


def test_a_size_counts_if_no_fold_of_it_was_cut_short():
    def share(fits):
        return [fit() for fit in fits][: None if len(shared) else 3]

    shared = []
    assert run(share=share).n_reached == 0
    shared.append(True)
    assert run(share=share).n_reached == 6


def test_time_that_is_left_over_goes_to_the_others(monkeypatch):
    now = iter([1.0, 11.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    budget = Budget(100.0, 4, started=0.0)
    assert budget.share() == pytest.approx(99.0 / 4)
    assert budget.share() == pytest.approx(89.0 / 3)


def test_no_limit():
    assert Budget(None, 2, started=0.0).share() is None
