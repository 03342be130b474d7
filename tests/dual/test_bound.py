import numpy as np
import pytest

from cardqp.dual.bound import tangent_bound
from cardqp.sparsity import Choice
from tests.problems import KINDS, enumerate_optimum, random_problem, support_optimum

FEASIBLE_KINDS = [kind for kind in KINDS if "infeasible" not in kind]


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_weak_duality_at_any_dual_point(kind, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    root = Choice.root(problem.n, problem.rule.limit)
    for scale in (0.0, 0.1, 1.0, 100.0):
        anchor = scale * rng.standard_normal(problem.n)
        beta = scale * rng.standard_normal(len(problem.rows))
        bound = tangent_bound(problem, anchor, beta)
        assert bound.value(root) <= optimum + 1e-9 * abs(optimum)


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_fixings_are_valid_at_any_dual_point(kind, seed):
    """Theorem 2 against enumeration with one variable forced on or off."""
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, seed)
    if problem.n > 8:
        pytest.skip("one enumeration per variable takes too long here")
    root = Choice.root(problem.n, problem.rule.limit)
    anchor = 0.3 * rng.standard_normal(problem.n)
    beta = 0.3 * rng.standard_normal(len(problem.rows))
    on, off = tangent_bound(problem, anchor, beta).fixing_bounds(root)
    everything = np.arange(problem.n)
    for j in range(problem.n):
        rest = problem.restrict(np.delete(everything, j))
        assert off[j] <= enumerate_optimum(rest)[0] + 1e-9
        if problem.rule.limit > 0:
            assert on[j] <= optimum_with(problem, j) + 1e-9


def optimum_with(problem, forced):
    import itertools

    penalty, others = problem.rule.penalty, [j for j in range(problem.n) if j != forced]
    return min(
        support_optimum(problem, sorted([forced, *chosen])) + penalty * (1 + size)
        for size in range(problem.rule.limit)
        for chosen in itertools.combinations(others, size)
    )


def test_bound_is_tight_at_the_optimum_of_a_full_support():
    problem = random_problem("everything allowed", 1)
    x = -0.5 * np.linalg.solve(problem.Q + np.diag(problem.ridge), problem.c)
    bound = tangent_bound(problem, x, np.zeros(0))
    value = bound.value(Choice.root(problem.n, problem.n))
    assert value == pytest.approx(problem.objective(x), rel=1e-10)
    assert value <= problem.objective(x)


def test_a_ridge_too_weak_for_the_rounding_of_q_proves_nothing():
    from cardqp import SparseQP

    F = np.random.default_rng(0).standard_normal((2, 4))
    problem = SparseQP(F.T @ F, np.ones(4), eta=1e30, sparsity=1)
    bound = tangent_bound(problem, np.zeros(4), np.zeros(0))
    assert bound.value(Choice.root(4, 1)) == -np.inf
