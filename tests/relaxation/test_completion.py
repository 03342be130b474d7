from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.certificate.completions import completion_bound, gain_error
from cardqp.heuristics.completed_supports import Supports


def problem_of(seed, n=9, scale=0.0, eta=5.0, as_factor=False):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n + 2 if not as_factor else 4, n))
    F[:, 1] = F[:, 0] + 1e-3 * F[:, 1]
    F *= 10.0 ** rng.uniform(-scale, scale, n)
    c = F.T @ rng.standard_normal(len(F))
    make = SparseQP.from_factor if as_factor else SparseQP
    return make(F if as_factor else F.T @ F, c, eta=eta, sparsity=6, constant=1.0)


def best_by_enumeration(problem, fixed_in, free, remaining):
    def value(support):
        index = list(support)
        G = problem.Q[np.ix_(index, index)] + np.diag(problem.ridge[index])
        return problem.constant - 0.25 * problem.c[index] @ np.linalg.solve(
            G, problem.c[index]
        )

    remaining = min(remaining, len(free))
    return min(
        (value((*fixed_in, *more)), sorted((*fixed_in, *more)))
        for more in combinations(free, remaining)
    )


@pytest.mark.parametrize("as_factor", [False, True])
@pytest.mark.parametrize("remaining", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_completion_is_found_and_bounded(seed, remaining, as_factor):
    problem = problem_of(seed, as_factor=as_factor)
    fixed_in, free = np.array([2, 5]), np.array([0, 1, 3, 4, 7, 8])
    best, support = best_by_enumeration(problem, fixed_in, free, remaining)
    supports = Supports.of(problem)
    if remaining < 3:
        bound, found = supports.best(fixed_in, free, remaining)
    else:
        bound, found = supports.best_below(best + 0.01, fixed_in, free, remaining)
    assert found.tolist() == support
    assert bound == pytest.approx(best, abs=1e-8)
    assert supports.estimate(found) == pytest.approx(best, abs=1e-8)
    error = gain_error(problem, 6)
    proved = completion_bound(problem, fixed_in, free, remaining, error)
    assert proved <= best + 1e-12
    assert proved == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("best_at", [10, 75, 157])
@pytest.mark.parametrize("as_factor", [False, True])
def test_one_of_many_variables_is_found_wherever_it_is(as_factor, best_at):
    """Replays try out the variables for a last place in parts, none left out."""
    rng = np.random.default_rng(best_at)
    F = rng.standard_normal((40, 160))
    c = F.T @ (F[:, best_at] + F[:, 2])
    make = SparseQP.from_factor if as_factor else SparseQP
    problem = make(F if as_factor else F.T @ F, c, eta=5.0, sparsity=3)
    fixed_in = np.array([2, 5])
    free = np.delete(np.arange(160), fixed_in)
    best, support = best_by_enumeration(problem, fixed_in, free, 1)
    assert support == sorted([2, 5, best_at])
    proved = completion_bound(problem, fixed_in, free, 1, gain_error(problem, 3))
    assert proved == pytest.approx(best, rel=1e-9)
    assert proved <= best + 1e-12 * abs(best)


@pytest.mark.parametrize("n_free", [1, 2, 3])
def test_fewer_variables_than_slots(n_free):
    problem = problem_of(0)
    fixed_in, free = np.array([2, 5]), np.arange(6, 6 + n_free)
    best, support = best_by_enumeration(problem, fixed_in, free, 4)
    bound, found = Supports.of(problem).best(fixed_in, free, 4)
    assert found.tolist() == support
    assert bound == pytest.approx(best, abs=1e-8)
    proved = completion_bound(problem, fixed_in, free, 4, gain_error(problem, 6))
    assert proved == pytest.approx(best, abs=1e-8)


def exact_gain(problem, support):
    """A quarter of c'G^{-1}c in rational arithmetic."""
    index = list(support)
    Q = problem.quadratic.array
    G = [[Fraction(float(Q[i, j])) for j in index] for i in index]
    for a, i in enumerate(index):
        G[a][a] += 1 / Fraction(float(problem.eta[i]))
    slope = [Fraction(float(problem.c[i])) for i in index]
    gain = Fraction(0)
    for a in range(len(index)):
        gain += slope[a] ** 2 / G[a][a]
        for e in range(a + 1, len(index)):
            t = G[a][e] / G[a][a]
            slope[e] -= t * slope[a]
            for f in range(a + 1, len(index)):
                G[e][f] -= t * G[a][f]
    return gain / 4


@pytest.mark.parametrize("eta", [1.0, 1e6, 1e11])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_in_exact_arithmetic(seed, eta):
    problem = problem_of(seed, n=6, scale=3.0, eta=eta)
    fixed_in, free = np.array([0, 1]), np.array([2, 3, 4])
    proved = completion_bound(problem, fixed_in, free, 2, gain_error(problem, 6))
    if proved == -np.inf:
        return  # nothing was claimed
    supports = [(0, 1, *more) for more in combinations(free, 2)]
    best = min(
        Fraction(problem.constant) - exact_gain(problem, support)
        for support in supports
    )
    assert Fraction(proved) <= best


def test_what_cannot_be_completed_proves_nothing():
    problem = problem_of(0)
    error = gain_error(problem, 6)
    fixed_in, free = np.arange(1), np.arange(1, 9)
    assert completion_bound(problem, fixed_in, free, 4, error) == -np.inf
    assert completion_bound(problem, fixed_in, free, -1, error) == np.inf
    bounded = SparseQP(problem.Q, problem.c, eta=5.0, sparsity=2, lower=0.0)
    assert completion_bound(bounded, fixed_in, free, 1, error) == -np.inf
    assert Supports.of(bounded) is None
