import numpy as np
import pytest

from cardqp import ParameterError, ProblemError, SparseQP, safe_screen, solve
from cardqp.datasets import make_regression
from tests.problems import KINDS, enumerate_optimum, random_problem

FEASIBLE_KINDS = [kind for kind in KINDS if "infeasible" not in kind]


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_no_wrong_fixing(kind, seed):
    problem = random_problem(kind, seed)
    optimum, support = enumerate_optimum(problem)
    if np.isinf(optimum) or kind == "tied":
        pytest.skip("no optimum, or many")
    for level in (None, 1, problem.n):
        found = safe_screen(problem, level=level)
        assert found.lower_bound <= optimum + 1e-7 * abs(optimum)
        assert found.upper_bound >= optimum - 1e-7 * abs(optimum)
        assert not set(found.zeros) & set(support)
        assert set(found.ones) <= set(problem.support_of(solve(problem).x))
        together = np.concatenate([found.zeros, found.ones, found.undecided])
        assert sorted(together) == list(range(problem.n))


def test_strong_ridge_decides_everything():
    data = make_regression(200, 100, sparsity=5, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=0.1, sparsity=5)
    found = safe_screen(problem)
    assert found.ones.tolist() == solve(problem).support.tolist()
    assert len(found.zeros) == 95
    assert len(found.undecided) == 0


def test_a_better_upper_bound_proves_more():
    data = make_regression(200, 100, sparsity=5, correlation=0.8, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=5)
    optimum = solve(problem).objective
    loose, tight = safe_screen(problem, 2 * optimum), safe_screen(problem, optimum)
    assert len(loose.zeros) < len(tight.zeros)
    with pytest.raises(ProblemError, match="`upper_bound` must be finite"):
        safe_screen(problem, np.nan)
    with pytest.raises(ParameterError, match="below the proved bound"):
        safe_screen(problem, 0.5 * optimum)


def test_the_level_weakens_the_proof():
    data = make_regression(200, 100, sparsity=5, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=5)
    full, low = safe_screen(problem), safe_screen(problem, level=20)
    assert low.lower_bound < full.lower_bound
    assert set(low.zeros) <= set(full.zeros)
