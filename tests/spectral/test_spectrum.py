import numpy as np
import pytest
import scipy.linalg

from cardqp import ParameterError, SparseQP, best_response, dual_program, spectrum
from cardqp.spectral import spectrum as module
from tests.problems import random_problem


def regression_problem(N, n, eta=10.0):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, n)) * np.geomspace(3.0, 0.01, n)
    return SparseQP.from_regression(X, X[:, 0] + 1.0, eta=eta, sparsity=2)


def test_eigenpairs_are_descending_and_exact():
    problem = random_problem("rows", 3)
    found = spectrum(problem)
    assert (np.diff(found.eigenvalues) <= 0).all()
    rebuilt = (found.eigenvectors * found.eigenvalues) @ found.eigenvectors.T
    np.testing.assert_allclose(rebuilt, problem.Q, atol=1e-12)
    assert len(found) == problem.n


@pytest.mark.parametrize("shape", [(60, 20), (10, 20)])
def test_truncation_error_and_k_hat(shape):
    problem = regression_problem(*shape)
    found = spectrum(problem)
    values, vectors = scipy.linalg.eigh(problem.Q)
    errors = []
    for k in range(1, len(found) + 1):
        Q_k = (vectors[:, -k:] * values[-k:]) @ vectors[:, -k:].T
        errors.append(np.linalg.norm(problem.Q - Q_k))
    np.testing.assert_allclose(found.truncation_error(), errors, atol=1e-7)
    expected = next(k for k, e in enumerate(errors, 1) if e < 0.1 * errors[0])
    assert found.k_hat() == expected
    assert found.k_hat(ratio=0.5) <= expected


def test_partial_spectrum_agrees_with_the_full_one():
    problem = regression_problem(80, 30)
    full, part = spectrum(problem), spectrum(problem, 5)
    np.testing.assert_allclose(part.eigenvalues, full.eigenvalues[:5])
    np.testing.assert_allclose(
        part.truncation_error(), full.truncation_error()[:5], rtol=1e-6
    )


def test_k_hat_says_when_it_cannot_tell():
    problem = regression_problem(80, 30)
    with pytest.raises(ParameterError, match="`max_level` must be larger"):
        spectrum(problem, 2).k_hat(ratio=1e-3)


@pytest.mark.parametrize("is_lanczos", [False, True])
@pytest.mark.parametrize("shape", [(90, 30), (12, 30)])
def test_levels_lie_below_q_up_to_their_defect(is_lanczos, shape, monkeypatch):
    if is_lanczos:
        monkeypatch.setattr(module, "LANCZOS_SIZE", 10)
        monkeypatch.setattr(module, "LANCZOS_SHARE", 0.5)
    problem = regression_problem(*shape)
    found = spectrum(problem, 8)
    for k in range(1, 9):
        level = found.level(k)
        assert level.k == k
        assert level.psd_violation.max() < 1e-9
        gap = problem.Q + np.diag(level.psd_violation) - level.factor.T @ level.factor
        # The check itself rounds: a few units in the last place of the norm of Q.
        rounding = 1e-15 * np.linalg.norm(problem.Q)
        assert np.linalg.eigvalsh(gap)[0] >= -rounding


def test_levels_of_wrong_eigenvectors_pay_for_it():
    """Perturbed eigenvectors still give a valid, if weaker, level."""
    problem = regression_problem(90, 10)
    found = spectrum(problem)
    noise = 1e-3 * np.random.default_rng(0).standard_normal((10, 10))
    wrong = module.Spectrum(problem, found.eigenvalues, found.eigenvectors + noise)
    for k in (1, 4, 10):
        level = wrong.level(k)
        gap = problem.Q + np.diag(level.psd_violation) - level.factor.T @ level.factor
        assert np.linalg.eigvalsh(gap)[0] >= 0


def test_levels_beyond_the_rank_are_the_problem_itself():
    problem = regression_problem(4, 9)
    level = spectrum(problem).level(9)
    assert level.k == 4
    np.testing.assert_allclose(level.truncated.Q, problem.Q, atol=1e-12)


@pytest.mark.parametrize("k", [0, 31, -1])
def test_level_outside_its_range(k):
    with pytest.raises(ParameterError, match="`level` must lie between 1 and 30"):
        spectrum(regression_problem(40, 30)).level(k)


def test_enough_levels_grow_with_eta():
    levels = [
        spectrum(regression_problem(60, 30, eta)).default_level()
        for eta in (0.1, 10.0, 1e6)
    ]
    assert levels == sorted(levels)
    assert levels[0] < levels[-1] == 30


def test_zero_factor():
    problem = SparseQP.from_factor(np.zeros((0, 3)), np.ones(3), eta=1.0, sparsity=1)
    assert spectrum(problem).eigenvalues.tolist() == [0.0]


def test_levels_of_a_matrix_of_mixed_scales_lie_below_it():
    r = 0.1 * (1 + 9e-10)
    problem = SparseQP([[0.01, r], [r, 1.0]], np.ones(2), eta=1.0, sparsity=1)
    level = spectrum(problem).level(1)
    gap = problem.Q + np.diag(level.psd_violation) - level.factor.T @ level.factor
    assert np.linalg.eigvalsh(gap)[0] >= 0


def test_a_decomposition_serves_every_problem_with_the_same_q():
    few = regression_problem(60, 20)
    more = few.with_limits(sparsity=5)
    found = spectrum(few)
    for screen in (best_response, dual_program):
        direct, reused = screen(more), screen(more, spectrum=found)
        assert reused.lower_bound == direct.lower_bound
        assert len(reused.support) == 5
    assert found.of(few) is found


def test_a_decomposition_of_another_q_is_refused():
    other = spectrum(random_problem("free", 1))
    with pytest.raises(ParameterError, match="`spectrum` must belong to the problem"):
        best_response(random_problem("free", 2), spectrum=other)
    with pytest.raises(ParameterError, match="`problem` must be a SparseQP"):
        spectrum(np.eye(3))
