import itertools
from fractions import Fraction

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.bounds.tangent_bound import separable_bound, tangent_bound
from cardqp.problem.quadratic import plane
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems.support_qp import fit_support
from tests.problems import (
    KINDS,
    enumerate_optimum,
    is_allowed,
    random_problem,
    rebuilt,
    support_optimum,
)

FEASIBLE_KINDS = [kind for kind in KINDS if "infeasible" not in kind]


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_weak_duality_at_any_dual_point(kind, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    root = problem.root
    for scale in (0.0, 0.1, 1.0, 100.0):
        tangent_point = scale * rng.standard_normal(problem.n)
        beta = scale * rng.standard_normal(len(problem.rows))
        bound = tangent_bound(problem, tangent_point, beta)
        assert bound.value(root) <= optimum + 1e-9 * abs(optimum)


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_fixings_are_valid_at_any_dual_point(kind, seed):
    """Theorem 2 against enumeration with one variable forced on or off."""
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, seed)
    if problem.n > 8:
        pytest.skip("one enumeration per variable takes too long here")
    root = problem.root
    tangent_point = 0.3 * rng.standard_normal(problem.n)
    beta = 0.3 * rng.standard_normal(len(problem.rows))
    on, off = tangent_bound(problem, tangent_point, beta).fixing_bounds(root)
    everything = np.arange(problem.n)
    for j in np.flatnonzero(root.undecided):
        own = np.flatnonzero(root.together(j))
        rest = problem.restrict(np.delete(everything, own))
        assert off[j] <= enumerate_optimum(rest)[0] + 1e-9
        if problem.rule.limit > 0:
            assert on[j] <= optimum_with(problem, j) + 1e-9


def optimum_with(problem, forced):
    if problem.blocks is not None:
        fixed_in = np.append(problem.forced_in, forced)
        return enumerate_optimum(rebuilt(problem, forced_in=fixed_in))[0]
    penalty, others = problem.rule.penalty, [j for j in range(problem.n) if j != forced]
    values = (
        support_optimum(problem, sorted([forced, *chosen])) + penalty * (1 + size)
        for size in range(problem.rule.limit)
        for chosen in itertools.combinations(others, size)
        if is_allowed(problem, [forced, *chosen])
    )
    return min(values, default=np.inf)


def test_bound_is_tight_at_the_optimum_of_a_full_support():
    problem = random_problem("everything allowed", 1)
    x = -0.5 * np.linalg.solve(problem.Q + np.diag(problem.ridge), problem.c)
    bound = tangent_bound(problem, x, np.zeros(0))
    value = bound.value(Subproblem.root(problem.n, problem.n))
    assert value == pytest.approx(problem.objective(x), rel=1e-10)
    assert value <= problem.objective(x)


def test_a_ridge_too_weak_for_the_rounding_of_q_proves_nothing():
    F = np.random.default_rng(0).standard_normal((2, 4))
    problem = SparseQP(F.T @ F, np.ones(4), eta=1e30, sparsity=1)
    bound = tangent_bound(problem, np.zeros(4), np.zeros(0))
    assert bound.value(Subproblem.root(4, 1)) == -np.inf


@pytest.mark.parametrize("kind", ["rows", "equality", "rows+bounds"])
@pytest.mark.parametrize("seed", range(5))
def test_bound_is_tight_at_the_multipliers_of_a_full_support(kind, seed):
    problem = random_problem(kind, seed).with_limits(sparsity=3)
    problem = problem.restrict(np.arange(3))
    fit = fit_support(problem, np.arange(3))
    if fit.x is None:
        pytest.skip("this random problem is infeasible")
    bound = tangent_bound(problem, fit.x, fit.beta).value(Subproblem.root(3, 3))
    assert bound == pytest.approx(fit.objective, rel=1e-7, abs=1e-7)


def exact_dual_value(problem, F, alpha, limit):
    """Theorem 1 in rational arithmetic, for a free problem given by its factor."""
    alpha = [Fraction(float(a)) for a in alpha]
    costs = []
    for j in range(problem.n):
        slope = Fraction(float(problem.c[j])) + sum(
            Fraction(float(f)) * a for f, a in zip(F[:, j], alpha, strict=True)
        )
        costs.append(-slope * slope / (4 * Fraction(float(problem.ridge[j]))))
    base = Fraction(problem.constant) - sum(a * a for a in alpha) / 4
    return base + sum(sorted(costs)[:limit])


@pytest.mark.parametrize("seed", range(60))
def test_rounding_never_lifts_a_bound_above_its_exact_value(seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((3, 5))
    alpha = 10.0 ** rng.uniform(0, 6) * rng.standard_normal(3)
    # The slopes nearly cancel, so that their rounding errors dominate.
    c = -F.T @ alpha * (1 + 1e-9 * rng.standard_normal(5))
    constant = float(alpha @ alpha) / 4
    problem = SparseQP.from_factor(F, c, eta=1e15, sparsity=2, constant=constant)
    bound = separable_bound(
        problem, plane(F, alpha, problem.quadratic.diagonal), np.zeros(0)
    )
    value = bound.value(Subproblem.root(5, 2))
    exact = exact_dual_value(problem, F, alpha, 2)
    assert Fraction(value) <= exact
    assert value == pytest.approx(float(exact), rel=1e-3)
