"""A search that ends early knows at least what the plain ridge regression proves."""

from dataclasses import replace

import numpy as np
import pytest

from cardqp import Solution, SparseQP, solve
from cardqp.certificate import Certificate
from cardqp.pipeline.dense_bound import dense_minimiser, with_dense_bound
from tests.problems import KINDS, enumerate_optimum, random_problem


def regression(n_samples, n, eta, **settings):
    rng = np.random.default_rng(n)
    common = rng.standard_normal((n_samples, 1))
    X = 0.5 * rng.standard_normal((n_samples, n)) + common
    y = X[:, :5].sum(axis=1) + rng.standard_normal(n_samples)
    settings = {"sparsity": 5} | settings
    return SparseQP.from_regression(X, y, eta=eta, **settings), X, y


def ridge_optimum(X, y, eta):
    """The least penalised error of all columns, by singular values."""
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    along, N = left.T @ y, len(y)
    within = (along**2 / (1.0 + eta * values**2 / N)).sum()
    return (y @ y - along @ along + within) / N


@pytest.mark.parametrize("shape", [(30, 200), (200, 30)])
@pytest.mark.parametrize("eta", [1.0, 1e3, 1e6])
def test_no_bound_is_below_the_ridge_on_all_columns(shape, eta, tmp_path):
    problem, X, y = regression(*shape, eta)
    least = ridge_optimum(X, y, eta)
    solution = solve(problem, time_limit=0.0)
    assert solution.lower_bound >= least * (1 - 1e-6) > 0
    assert solution.gap <= 1.0
    assert solution.verify().ok
    solution.save(tmp_path / "run.npz")
    stored = Solution.load(tmp_path / "run.npz", problem)
    assert stored.verify().lower_bound >= least * (1 - 1e-6)


def test_a_search_goes_on_from_such_a_bound():
    problem, *_ = regression(30, 200, 1e3)
    first = solve(problem, time_limit=0.0)
    second = solve(problem, resume=first, node_limit=300)
    assert second.lower_bound >= first.lower_bound
    assert second.objective <= first.objective
    assert second.verify().ok


def test_the_point_is_that_of_all_columns():
    for shape in ((30, 200), (200, 30)):
        problem, X, y = regression(*shape, 10.0, forced_out=[3])
        others = np.delete(X, 3, axis=1)
        N = len(y)
        direct = np.linalg.solve(
            others.T @ others / N + np.eye(X.shape[1] - 1) / 10.0, others.T @ y / N
        )
        found = dense_minimiser(problem)
        np.testing.assert_allclose(np.delete(found, 3), direct, rtol=1e-8, atol=1e-12)
        assert found[3] == 0


def test_a_bound_that_is_better_stays():
    problem, *_ = regression(30, 200, 1.0)
    solution = solve(problem)
    kept = with_dense_bound(problem, solution.certificate, solution.lower_bound)
    assert kept == (solution.certificate, solution.lower_bound)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_holds_for_all_kinds_of_problems(kind):
    problem = random_problem(kind, 7)
    certificate, bound = with_dense_bound(problem, Certificate(), -np.inf)
    if bound == -np.inf:
        assert len(certificate) == 0
        return
    assert certificate.lower_bound(problem) == bound
    optimum, _ = enumerate_optimum(problem)
    assert bound <= optimum + 1e-9 * abs(optimum)
    told = replace(solve(problem), certificate=certificate, lower_bound=bound + 1.0)
    assert not told.verify().ok
