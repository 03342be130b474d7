"""Objectives with rows as penalties are below the truth, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.arithmetic.rational import solve_exactly
from cardqp.bounds.penalised_rows import PenalisedRows, weighted_reach
from cardqp.certificate.completions import penalised_bound
from tests.arithmetic.exact import exact

NOTHING = np.zeros((0, 2), dtype=np.intp)


def portfolio(seed, n=6, **changes):
    """A long-only problem with a budget and a row, and multipliers of these."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, n)) * rng.uniform(0.1, 10.0, n)
    data = {
        "eta": 10.0 ** rng.uniform(0, 6),
        "sparsity": 3,
        "A": rng.standard_normal((1, n)),
        "b": [0.5],
        "A_eq": rng.uniform(0.5, 2.0, (1, n)),
        "b_eq": [1.0],
        "lower": np.zeros(n),
        "constant": float(rng.standard_normal()),
    }
    problem = SparseQP(F.T @ F, rng.standard_normal(n), **data | changes)
    return problem, rng.standard_normal(len(problem.rows))


def exact_gain(problem, form, beta, support):
    """Constant and gain of the penalised objective on a support, as rationals."""
    rows, M = problem.rows, exact(form.penalties)
    A, b, beta = exact(rows.matrix), exact(rows.rhs), exact(rows.project(beta))
    G = exact(problem.Q) + A.T @ (M[:, None] * A)
    G[np.diag_indices(problem.n)] += exact(problem.ridge)
    c = exact(problem.c) + (beta - 2 * M * b) @ A
    constant = Fraction(problem.constant) - beta @ b + (M * b * b).sum()
    solved = solve_exactly(G[np.ix_(support, support)], c[support])
    return constant - c[support] @ solved / 4


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_below_the_least_penalised_objective(seed):
    problem, beta = portfolio(seed)
    form = PenalisedRows.of(problem)
    free = np.arange(1, problem.n)
    truth = min(
        exact_gain(problem, form, beta, [0, i, j])
        for i in range(1, problem.n)
        for j in range(i + 1, problem.n)
    )
    bound = penalised_bound(form, beta, np.array([0]), free, NOTHING)
    assert bound <= truth
    assert bound >= truth - Fraction(1e-11 * form.reach**2)


@pytest.mark.parametrize("seed", range(20))
def test_feasible_points_are_above_the_bound_of_their_support(seed):
    problem, beta = portfolio(seed, A=None, b=None)
    form = PenalisedRows.of(problem)
    bound = penalised_bound(form, beta, np.array([0]), np.arange(1, 6), NOTHING)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        x = np.zeros(problem.n)
        x[[0, *rng.choice(np.arange(1, 6), 2, replace=False)]] = rng.uniform(0, 1, 3)
        x /= problem.A_eq[0] @ x
        assert problem.objective(x) >= bound


@pytest.mark.parametrize("seed", range(20))
def test_margins_are_not_vacuous(seed):
    """Rounding is seen, within the margin, where penalties are large."""
    problem, beta = portfolio(seed, eta=1e6)
    form = PenalisedRows.of(problem)
    objective = form.at(beta)
    assert 0 < objective.noise + objective.unit < 1e-6 * form.reach**2


def test_listed_supports_do_not_count():
    problem, beta = portfolio(3)
    form, free = PenalisedRows.of(problem), np.arange(1, problem.n)
    values = {
        (i, j): exact_gain(problem, form, beta, [0, i, j])
        for i in range(1, problem.n)
        for j in range(i + 1, problem.n)
    }
    ranked = sorted(values, key=values.get)
    for count in range(1, len(ranked)):
        listed = np.array(ranked[:count])
        bound = penalised_bound(form, beta, np.array([0]), free, listed)
        assert bound <= values[ranked[count]]
        assert bound >= values[ranked[count]] - Fraction(1e-11 * form.reach**2)


@pytest.mark.parametrize("remaining", [1, 2, 3])
def test_one_to_three_slots(remaining):
    problem, beta = portfolio(5, n=7, sparsity=4)
    form = PenalisedRows.of(problem)
    fixed_in, free = np.arange(4 - remaining), np.arange(4 - remaining, 7)
    listed = np.zeros((0, remaining), dtype=np.intp)
    bound = penalised_bound(form, beta, fixed_in, free, listed)
    best = _least(problem, form, beta, list(fixed_in), list(free), remaining)
    assert best - Fraction(1e-11 * form.reach**2) <= bound <= best


def _least(problem, form, beta, fixed_in, free, remaining):
    if remaining == 0:
        return exact_gain(problem, form, beta, fixed_in)
    return min(
        _least(problem, form, beta, [*fixed_in, j], free[k + 1 :], remaining - 1)
        for k, j in enumerate(free[: len(free) - remaining + 1])
    )


def test_reach_of_a_budget_and_of_bounds():
    budget, _ = portfolio(0)
    weights = np.arange(1.0, 7.0)
    by_row = (weights / budget.A_eq[0]).max()
    assert weighted_reach(budget, weights) == pytest.approx(by_row)
    assert weighted_reach(budget, weights) >= by_row
    box = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=2, lower=-2.0, upper=1.0)
    assert weighted_reach(box, np.array([1.0, 2.0, 3.0])) == pytest.approx(10.0)
    free = SparseQP(np.eye(3), np.ones(3), eta=1.0, sparsity=2)
    assert weighted_reach(free, np.ones(3)) == np.inf


def test_nothing_is_proved_where_points_may_be_far_out():
    problem, beta = portfolio(1, lower=None)
    form = PenalisedRows.of(problem)
    free = np.arange(1, problem.n)
    assert penalised_bound(form, beta, np.array([0]), free, NOTHING) == -np.inf


def test_nothing_is_proved_with_a_price():
    problem, beta = portfolio(1, penalty=1.0)
    form = PenalisedRows.of(problem)
    free = np.arange(1, problem.n)
    assert penalised_bound(form, beta, np.array([0]), free, NOTHING) == -np.inf
