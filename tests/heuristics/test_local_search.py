import itertools

import numpy as np
import pytest

from cardqp.datasets import make_regression
from cardqp.heuristics.local_search import (
    best_exchange,
    grow_greedily,
    improve,
    iterated_local_search,
    round_switches,
    swap_changes,
)
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems.support_qp import fit_support
from tests.problems import OWN_SWITCHES, random_problem


@pytest.mark.parametrize("seed", range(10))
def test_swap_formula_equals_refitting(seed):
    problem = random_problem("rank-deficient" if seed % 2 else "free", seed)
    support = np.arange(0, problem.n, 2)
    before = fit_support(problem, support).objective
    changes = swap_changes(problem, support)
    for i in range(len(support)):
        for j in range(problem.n):
            if j in support:
                assert changes[i, j] == np.inf
                continue
            swapped = np.sort(np.append(np.delete(support, i), j))
            after = fit_support(problem, swapped).objective
            assert changes[i, j] == pytest.approx(after - before, abs=1e-7)


def test_swaps_end_where_no_swap_improves():
    data = make_regression(60, 30, sparsity=4, correlation=0.8, seed=1)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=4)
    start = fit_support(problem, np.array([0, 1, 2, 3]))
    end = improve(problem, start)
    assert end.objective < start.objective
    changes = swap_changes(problem, np.flatnonzero(end.x))
    assert changes.min() >= -1e-10


def test_rounding_keeps_decided_variables_and_the_limit():
    problem = random_problem("free", 0).restrict(np.arange(3))
    subproblem = Subproblem(
        np.array([True, False, False]), np.array([False, True, False]), 2
    )
    support = round_switches(problem, subproblem, np.array([1.0, 0.0, 0.3]))
    assert support.tolist() == [0, 2]
    penalised = problem.with_limits(penalty=0.1)
    support = round_switches(penalised, subproblem, np.array([1.0, 0.0, 0.3]))
    assert support.tolist() == [0]


def test_greedy_adds_the_best_variable_each_time():
    problem = random_problem("free", 3).with_limits(sparsity=3)
    support = grow_greedily(problem, np.zeros(0, dtype=int))
    chosen = []
    for _ in range(3):
        rest = [j for j in range(problem.n) if j not in chosen]
        values = [
            fit_support(problem, np.sort([*chosen, j]).astype(int)).objective
            for j in rest
        ]
        chosen.append(rest[int(np.argmin(values))])
    assert support.tolist() == sorted(chosen)


def test_greedy_stops_where_a_variable_is_not_worth_its_price():
    problem = SparseQP(np.eye(3), [-4.0, -2.0, -0.1], eta=1.0, penalty=0.2)
    assert grow_greedily(problem, np.zeros(0, dtype=int)).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", OWN_SWITCHES)
def test_the_best_exchange_is_the_best_of_all(kind, seed):
    problem = random_problem(kind, seed)
    fit = fit_support(problem, problem.rule.select(-np.ones(problem.n)))
    if fit.x is None:
        return
    support, best = problem.support_of(fit.x), fit.objective
    others = np.setdiff1d(np.arange(problem.n), [*support, *problem.forced_out])
    leaving = np.setdiff1d(support, problem.forced_in)
    for out, enters in itertools.product((-1, *leaving), (-1, *others)):
        changed = np.setdiff1d(np.union1d(support, [enters]), [out, -1]).astype(int)
        if problem.rule.excess(changed) == 0:
            best = min(best, fit_support(problem, changed).objective)
    found = best_exchange(problem, fit, problem.n)
    assert found.objective == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert best_exchange(problem, fit, problem.n, lambda: True) is fit


def tracking(seed):
    """A long-only portfolio that follows a mean of many assets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 40)) + rng.standard_normal((60, 1))
    budget = {"A_eq": np.ones((1, 40)), "b_eq": 1.0, "lower": 0.0}
    return SparseQP.from_regression(X, X.mean(axis=1), eta=1e4, sparsity=6, **budget)


def test_random_exchanges_lead_to_better_points():
    n_better = 0
    for seed in range(6):
        problem = tracking(seed)
        start = improve(problem, fit_support(problem, np.arange(6)))
        found = iterated_local_search(problem, start, 0, lambda: False)
        assert problem.feasibility(found.x).holds()
        assert found.objective <= start.objective
        n_better += found.objective < (1.0 - 1e-6) * start.objective
        again = iterated_local_search(problem, start, 0, lambda: False)
        assert again.objective == found.objective
        assert iterated_local_search(problem, start, 0, lambda: True) is start
    assert n_better >= 3


def test_random_exchanges_keep_to_the_rule():
    problem = tracking(0)
    fixed_in, fixed_out = np.array([3]), np.array([0, 1])
    forced = SparseQP(
        problem.Q,
        problem.c,
        eta=1e4,
        sparsity=6,
        forced_in=fixed_in,
        forced_out=fixed_out,
        groups=np.arange(40) % 2,
        group_sparsity=[3, 3],
    )
    start = fit_support(forced, np.array([2, 3, 4, 5]))
    found = iterated_local_search(forced, start, 1, lambda: False)
    assert forced.feasibility(found.x).holds()
    assert found.objective < start.objective


def test_large_supports_are_completed_at_once():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 12)), rng.standard_normal(30)
    problem = SparseQP.from_regression(X, y, eta=1.0, sparsity=8)
    first = grow_greedily(problem.with_limits(3), np.zeros(0, dtype=int))
    few = HeuristicSettings(max_greedy_steps=3)
    found = grow_greedily(problem, np.zeros(0, dtype=int), settings=few)
    assert len(found) == 8
    assert set(first) <= set(found)
    nothing = np.zeros(0, dtype=int)
    every = grow_greedily(problem.with_limits(12), nothing, settings=few)
    assert every.tolist() == list(range(12))
    fit = fit_support(problem.with_limits(12), every)
    assert improve(problem.with_limits(12), fit) is fit
