from dataclasses import replace

import numpy as np
import pytest

from cardqp import SparseQP, solve
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.datasets import make_regression
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.diagonal import eigenvalue_shift, optimal_diagonal_shift
from cardqp.splitting.diagonal_program import (
    DiagonalProgram,
    barrier_terms,
    newton_step,
    solve_scaled,
)
from cardqp.splitting.optimal_diagonal import starting_point
from tests.problems import enumerate_optimum, random_problem


def regression(N=80, n=20, eta=50.0):
    data = make_regression(N, n, sparsity=4, correlation=0.8, snr=1.0, seed=0)
    return SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=4)


def root_bound(problem, subproblem):
    relaxation = Relaxation.prepare(problem)
    relaxed = relaxation.solve(subproblem, *relaxation.start(), Effort(1e-9))
    return tangent_bound(problem, relaxed.tangent_point, relaxed.beta).value(subproblem)


def test_spare_diagonal_leaves_the_block_convex_and_is_worth_it():
    problem = regression()
    kept = np.arange(0, 20, 2)
    spare = eigenvalue_shift(problem, kept)
    block = problem.Q[np.ix_(kept, kept)]
    assert np.linalg.eigvalsh(block - np.diag(spare))[0] >= 0
    assert (spare > 0.01 * problem.ridge[kept]).any()


def test_nothing_to_spare():
    singular = random_problem("rank-deficient", 0)
    everything = np.arange(singular.n)
    assert eigenvalue_shift(singular, everything) is None
    wide = regression(N=10, n=20)
    assert eigenvalue_shift(wide, np.arange(20)) is None
    zero = SparseQP(np.zeros((2, 2)), [1.0, 1.0], eta=1.0, sparsity=1)
    assert not eigenvalue_shift(zero, np.arange(2)).any()


@pytest.mark.parametrize("fixed_in", [[], [1]])
def test_tightest_diagonal_beats_the_plain_and_the_uniform_one(fixed_in):
    problem = regression()
    subproblem = Subproblem.root(20, 4).decide(
        np.array(fixed_in, dtype=int), np.zeros(0, dtype=int)
    )
    optimum = solve(problem).objective
    moved = optimal_diagonal_shift(problem, subproblem, optimum)
    best = root_bound(problem.move_to_ridge(moved), subproblem)
    plain = root_bound(problem, subproblem)
    uniform = eigenvalue_shift(problem, np.arange(20))
    even = root_bound(problem.move_to_ridge(uniform), subproblem)
    assert best > max(plain, even)
    if not fixed_in:
        assert best <= optimum * (1 + 1e-9)


def test_no_diagonal_is_optimised_for_problems_with_a_penalty():
    problem = random_problem("both", 0)
    assert optimal_diagonal_shift(problem, problem.root, 1.0) is None


@pytest.mark.parametrize("kind", ["rows", "bounds", "equality", "thresholds, budget"])
@pytest.mark.parametrize("seed", range(6))
def test_with_rows_and_bounds_the_diagonal_is_valid(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    if np.isinf(optimum):
        pytest.skip("this seed of a random constrained problem is infeasible")
    d = optimal_diagonal_shift(problem, problem.root, abs(optimum))
    bound = root_bound(problem.move_to_ridge(d), problem.root)
    assert bound <= optimum + 1e-7 * abs(optimum)


def test_a_portfolio_gains_most_of_its_specific_risk():
    """Of a factor model the specific risk belongs into the ridge."""
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((4, 40)) / 2.0
    specific = rng.uniform(0.1, 1.0, 40)
    Q = loadings.T @ loadings + np.diag(specific)
    budget = {"A_eq": np.ones((1, 40)), "b_eq": 1.0, "lower": 0.0}
    problem = SparseQP(Q, np.zeros(40), eta=1e3, sparsity=5, **budget)
    even = np.full(40, np.linalg.eigvalsh(Q)[0] - 1e-9)
    d = optimal_diagonal_shift(problem, problem.root, 0.1)
    known, plain, best = (
        root_bound(problem.move_to_ridge(move), problem.root)
        for move in (specific, even, d)
    )
    assert best - plain > 0.9 * (known - plain) > 0


def program(problem, remaining=4):
    return DiagonalProgram(
        problem.Q,
        problem.c,
        problem.ridge,
        problem.rows,
        problem.signs,
        remaining,
        np.ones(problem.n),
    )


def with_rows_and_signs():
    """One inequality and one equality; signs of all three kinds."""
    problem, rng = regression(), np.random.default_rng(1)
    return SparseQP(
        problem.Q,
        problem.c,
        eta=50.0,
        sparsity=4,
        A=rng.standard_normal((1, 20)),
        b=0.1,
        A_eq=np.ones((1, 20)),
        b_eq=0.2,
        lower=np.where(np.arange(20) % 3 == 0, 0.0, -np.inf),
        upper=np.where(np.arange(20) % 3 == 1, 0.0, np.inf),
    )


def value(data, point):
    """The barrier function."""
    objective, logarithms = barrier_terms(data, point)
    return objective - 0.05 * logarithms


@pytest.mark.parametrize("make", [regression, with_rows_and_signs])
def test_newton_step_agrees_with_differences_of_the_barrier_function(make):
    """The decrement is the slope of the function along the step, and at a full Newton
    step of a nearly quadratic function half of it is gained."""
    problem = make()
    data = program(problem)
    x, beta = np.linspace(-0.1, 0.1, 20), np.full(len(problem.rows), 0.3)
    point = starting_point(data, -0.5 * problem.ridge, x, beta, barrier=0.05)
    step, decrement = newton_step(data, point, 0.05)
    small = 1e-6
    forward = value(data, point.moved(step, small))
    backward = value(data, point.moved(step, -small))
    slope = (forward - backward) / (2 * small)
    assert slope == pytest.approx(-decrement, rel=1e-5)
    middle = value(data, point)
    curvature = (forward - 2 * middle + backward) / small**2
    assert curvature == pytest.approx(decrement, rel=0.05)


@pytest.mark.parametrize("t", [1e-160, 1e160])
def test_no_newton_step_where_squares_are_lost(t):
    data = program(SparseQP(np.eye(2), np.ones(2), eta=1.0, sparsity=1), remaining=1)
    start = starting_point(data, -0.5 * data.ridge, np.zeros(2), np.zeros(0), 1.0)
    assert newton_step(data, replace(start, t=t), 1.0) is None


@pytest.mark.parametrize(
    ("diagonal", "rhs"), [(0.0, 1.0), (1e-200, 1e250), (np.inf, 1.0)]
)
def test_no_solution_where_numbers_are_lost(diagonal, rhs):
    with np.errstate(over="ignore"):
        found = solve_scaled(np.diag([1.0, diagonal]), np.full(2, rhs))
    assert found is None
