"""Completions by three or four variables: the search's enumeration of strong parts."""

from itertools import combinations

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.certificate.strong_parts import cut_off_bound
from cardqp.heuristics.completed_supports import Supports
from cardqp.relaxation.strong_pairs import best_beyond

ERROR = 1e-12
"""Gains of these small, well-conditioned problems are more accurate than that."""


def problem_of(seed, n=10):
    """Columns that are correlated, much or little, in one direction or in pairs."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((rng.integers(4, 16), n))
    if seed % 3 == 1:
        F += rng.uniform(0.0, 3.0) * rng.standard_normal((len(F), 1))
    if seed % 3 == 2:
        # Close to their opposites: nothing gains by itself, and much together.
        F[:, ::2] = 0.1 * F[:, ::2] - F[:, 1::2]
    F *= 10.0 ** rng.uniform(-0.5, 0.5, n)
    c = F.T @ rng.standard_normal(len(F))
    eta = 10.0 ** rng.uniform(-1.0, 2.0)
    return SparseQP(F.T @ F, c, eta=eta, sparsity=6, constant=1.0)


def all_values(problem, fixed_in, free, remaining):
    """The objective of every completion, the least one first."""
    values = []
    for more in combinations(free, remaining):
        index = sorted((*fixed_in, *more))
        G = problem.Q[np.ix_(index, index)] + np.diag(problem.ridge[index])
        gain = problem.c[index] @ np.linalg.solve(G, problem.c[index])
        values.append((problem.constant - 0.25 * gain, index))
    return sorted(values)


@pytest.mark.parametrize("remaining", [3, 4])
@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_below_a_cutoff_is_found(seed, remaining):
    problem = problem_of(seed)
    fixed_in, free = np.array([2, 5]), np.array([0, 1, 3, 4, 6, 7, 8, 9])
    values = all_values(problem, fixed_in, free, remaining)
    best, support = values[0]
    supports = Supports.of(problem)
    gain, before = problem.constant - best, supports.estimate(fixed_in)
    for share in (1e-6, 0.01, 0.1, 0.5, 0.9):
        cutoff = best + share * (before - best)
        bound, found = supports.best_below(cutoff, fixed_in, free, remaining)
        assert found.tolist() == support
        margin = 3.0 * supports.error * gain
        assert best - margin <= bound <= best
        proved = cut_off_bound(problem, fixed_in, free, remaining, cutoff, ERROR)
        assert proved == pytest.approx(best, abs=1e-9 * gain)


@pytest.mark.parametrize("remaining", [3, 4])
@pytest.mark.parametrize("seed", range(20))
def test_a_cutoff_that_nothing_is_below_is_a_bound(seed, remaining):
    problem = problem_of(seed)
    fixed_in, free = np.array([2, 5]), np.array([0, 1, 3, 4, 6, 7, 8, 9])
    best, _ = all_values(problem, fixed_in, free, remaining)[0]
    gain = problem.constant - best
    for share in (1e-6, 0.1, 2.0):
        cutoff = best - share * gain
        bound, found = Supports.of(problem).best_below(
            cutoff, fixed_in, free, remaining
        )
        assert bound == cutoff
        assert found is None
        proved = cut_off_bound(problem, fixed_in, free, remaining, cutoff, ERROR)
        assert proved == cutoff


@pytest.mark.parametrize("remaining", [3, 4])
def test_nothing_is_tried_where_all_of_it_is_good_enough(remaining):
    problem = problem_of(0)
    fixed_in, free = np.array([2, 5]), np.array([0, 1, 3, 4, 6, 7, 8, 9])
    supports = Supports.of(problem)
    assert supports.best_below(problem.constant, fixed_in, free, remaining) is None
    assert supports.best_below(np.inf, fixed_in, free, remaining) is None


def test_too_many_strong_parts_are_not_tried():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((300, 200)) + 10.0 * rng.standard_normal((300, 1))
    c = F.T @ rng.standard_normal(300)
    problem = SparseQP(F.T @ F, c, eta=1.0, sparsity=4)
    free, cutoff = np.arange(200), -1e-6
    assert Supports.of(problem).best_below(cutoff, np.arange(0), free, 4) is None


@pytest.mark.parametrize("room", [0.0, -1e-3])
@pytest.mark.parametrize("remaining", [3, 4])
def test_nothing_is_cut_off_where_a_pivot_is_lost(remaining, room):
    """Nothing would be known of supports with that variable."""
    G, fixed_in, free = np.eye(7), np.arange(1), np.arange(1, 7)
    G[0, 4] = G[4, 0] = np.sqrt(1.0 - room)
    gain, _ = best_beyond(G, np.ones(7), fixed_in, free, remaining, 10.0)
    assert np.isnan(gain)


@pytest.mark.parametrize("remaining", [3, 4])
@pytest.mark.parametrize("correlations", [(1.2, 0.0, 0.0), (0.9, 0.9, -0.9)])
def test_nothing_is_cut_off_where_a_part_is_indefinite(correlations, remaining):
    G, nothing, free = np.eye(7), np.arange(0), np.arange(7)
    G[[3, 3, 4], [4, 5, 5]] = G[[4, 5, 5], [3, 3, 4]] = correlations
    gain, _ = best_beyond(G, np.ones(7), nothing, free, remaining, 10.0)
    assert not np.isfinite(gain)
