import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, Stop, dual_program, spectrum
from cardqp.datasets import make_regression
from tests.problems import enumerate_optimum, random_problem


def test_best_iterate_approaches_the_dual_optimum():
    """With every variable allowed the dual has no gap: f must reach J*."""
    data = random_problem("everything allowed", 4)
    problem = SparseQP(data.Q, data.c, eta=1.0, sparsity=data.n)
    optimum, _ = enumerate_optimum(problem)
    found = dual_program(problem, problem.n, early_stop=False, max_iter=2000)
    assert found.lower_bound == pytest.approx(optimum, rel=1e-3)


def test_paper_step_follows_the_papers_recursion():
    problem = random_problem("rows", 5)
    problem = SparseQP(
        problem.Q,
        problem.c,
        eta=2.0,
        sparsity=problem.sparsity,
        A=problem.A,
        b=problem.b,
    )
    level = spectrum(problem).level(problem.n)
    F, A, b, c, eta, a = level.factor, problem.A, problem.b, problem.c, 2.0, 0.05
    alpha, beta, values = np.zeros(level.k), np.zeros(len(b)), []
    for t in range(1, 30):
        gamma = c + F.T @ alpha + A.T @ beta
        z = np.zeros(problem.n)
        z[np.argsort(-np.abs(gamma), kind="stable")[: problem.sparsity]] = 1.0
        values.append(-b @ beta - alpha @ alpha / 4 - eta / 4 * gamma @ (z * gamma))
        kappa = a / np.sqrt(t)
        alpha = (1 - kappa / 2) * alpha - eta / 2 * kappa * F @ (z * gamma)
        beta = np.maximum(0, beta - kappa * b - eta / 2 * kappa * A @ (z * gamma))
    found = dual_program(problem, problem.n, step_size=a, max_iter=28, early_stop=False)
    np.testing.assert_allclose(found.trace.bounds, np.array(values) + problem.constant)


def test_units_of_the_data_do_not_matter():
    problem = random_problem("rows", 2)
    large = SparseQP(
        1e6 * problem.Q,
        1e6 * problem.c,
        eta=problem.eta / 1e6,
        sparsity=problem.sparsity,
        A=1e3 * problem.A,
        b=1e3 * problem.b,
        constant=1e6 * problem.constant,
    )
    first = dual_program(problem, problem.n, early_stop=False)
    second = dual_program(large, problem.n, early_stop=False)
    np.testing.assert_allclose(second.trace.bounds, 1e6 * first.trace.bounds, rtol=1e-6)


def test_stops_at_a_saddle_point():
    data = make_regression(400, 20, sparsity=3, snr=20.0, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=0.01, sparsity=3)
    found = dual_program(problem, problem.n)
    assert found.stop is Stop.FIXED_POINT
    assert found.n_iter < 500
    assert found.lower_bound == pytest.approx(found.upper_bound, rel=1e-9)
    assert found.upper_bound == pytest.approx(enumerate_optimum(problem)[0])
    assert len(found.zeros) + len(found.ones) == 20


def test_nothing_to_do_stops_at_once():
    problem = SparseQP(np.eye(3), np.zeros(3), eta=1.0, sparsity=1)
    found = dual_program(problem)
    assert found.stop is Stop.STALLED
    assert found.lower_bound == 0.0
    assert len(found.candidates) == 0


def test_candidates_are_the_union_of_the_window():
    problem = random_problem("free", 7)
    found = dual_program(problem, max_iter=40, window=3, early_stop=False)
    assert found.n_iter == 40
    expected = sorted(set(np.concatenate(found.trace.supports[-3:])))
    assert found.candidates.tolist() == expected


def test_paper_constants_recover_the_truth():
    data = make_regression(300, 100, sparsity=5, seed=2)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=5)
    found = dual_program(problem, 80, step_size=4e-3, early_stop=False)
    assert set(data.support) <= set(found.candidates)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_iter": 0}, "`max_iter` must be an integer, at least 1"),
        ({"window": 0}, "`window` must be an integer, at least 1"),
        ({"step_size": 0.0}, "`step_size` must be a positive number"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ParameterError, match=message):
        dual_program(random_problem("free", 0), **settings)
