"""The certified diagonal below Q and the ridge, in exact arithmetic."""

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.bounds.definiteness import condition, definite_diagonal
from cardqp.certificate.completions import gain_error
from tests.arithmetic.exact import exact, is_semidefinite


def correlated(seed, eta, as_factor=False):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((9, 5)) * 10.0 ** rng.uniform(-2, 2, 5)
    F[:, 1] = F[:, 0] + 10.0 ** rng.uniform(-5, -1) * F[:, 1]
    if as_factor:
        return SparseQP.from_factor(F, rng.standard_normal(5), eta=eta, sparsity=2)
    return SparseQP(F.T @ F, rng.standard_normal(5), eta=eta, sparsity=2)


@pytest.mark.parametrize("eta", [1e-2, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("as_factor", [False, True])
def test_the_diagonal_lies_below_the_form(eta, as_factor):
    found = 0
    for seed in range(20):
        problem = correlated(seed, eta, as_factor)
        diagonal = definite_diagonal(problem)
        if diagonal is None:
            continue
        found += 1
        array = exact(problem.quadratic.array)
        G = array.T @ array if as_factor else array.copy()
        G[np.diag_indices(5)] += 1 / exact(problem.eta) - exact(diagonal)
        assert (diagonal > 0).all()
        assert is_semidefinite(G)
    assert found > 10


def test_a_weak_ridge_does_not_decide():
    problem = correlated(0, 1e12)
    ridge = condition(problem, problem.ridge - problem.quadratic.psd_violation)
    assert condition(problem, definite_diagonal(problem)) < 1e-3 * ridge
    assert gain_error(problem, 2) < 1e-3


def test_a_strong_ridge_is_taken_as_it_is():
    problem = SparseQP(np.eye(2), np.ones(2), eta=1.0, sparsity=1)
    expected = problem.ridge - problem.quadratic.psd_violation
    np.testing.assert_array_equal(definite_diagonal(problem), expected)


def test_there_is_none_without_curvature():
    problem = SparseQP(np.ones((3, 3)), np.ones(3), eta=1e30, sparsity=1)
    assert definite_diagonal(problem) is None
    assert condition(problem, None) == np.inf
    assert gain_error(problem, 1) == np.inf
