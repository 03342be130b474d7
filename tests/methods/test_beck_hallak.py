import itertools

import numpy as np
import pytest

from cardqp import SparseQP, Stop, beck_hallak, solve
from cardqp.datasets import make_regression
from cardqp.subproblems.support_qp import fit_support
from tests.problems import KINDS, random_problem

MARGIN = 1e-9
"""Relative: what counts as an improvement, not as rounding."""


def exchanges(problem, x):
    """All supports with one switch less, one more, or one exchanged."""
    labels = np.arange(problem.n) if problem.blocks is None else problem.blocks
    on = set(labels[problem.support_of(x)])
    fixed = set(labels[problem.forced_in]) | set(labels[problem.forced_out])
    leaves = [None, *(on - fixed)]
    enters = [None, *(set(labels) - on - fixed)]
    for out, new in itertools.product(leaves, enters):
        if out is None and new is None:
            continue
        support = np.flatnonzero(np.isin(labels, [*(on - {out}), new]))
        if problem.rule.excess(support) == 0:
            yield support


def assert_no_exchange_improves(problem, x):
    value = problem.objective(x)
    for support in exchanges(problem, x):
        better = fit_support(problem, support).objective
        assert better >= value - MARGIN * max(1.0, abs(value))


@pytest.mark.parametrize("kind", KINDS)
def test_no_single_exchange_improves_the_result(kind):
    for seed in range(6):
        problem = random_problem(kind, seed)
        found = beck_hallak(problem)
        if found.x is None:
            assert found.stop is Stop.STALLED
            continue
        assert found.stop is Stop.LOCAL_OPTIMUM
        assert_no_exchange_improves(problem, found.x)


def regression(n=40, **settings):
    data = make_regression(80, n, sparsity=5, correlation=0.95, snr=2.0, seed=4)
    settings = {"eta": 50.0, "sparsity": 5} | settings
    return SparseQP.from_regression(data.X, data.y, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lower": -0.5, "upper": 0.7},
        {"penalty": 0.05},
        {"A": np.ones((1, 40)), "b": [0.3]},
    ],
)
def test_larger_problems_end_at_a_full_swap_local_optimum(settings):
    problem = regression(**settings)
    found = beck_hallak(problem)
    assert found.stop is Stop.LOCAL_OPTIMUM
    assert_no_exchange_improves(problem, found.x)
    assert found.objective >= solve(problem).lower_bound


def test_full_exchanges_go_beyond_cheap_ones():
    gains = []
    for seed in range(20):
        data = make_regression(80, 60, sparsity=5, correlation=0.9, snr=2.0, seed=seed)
        problem = SparseQP.from_regression(data.X, data.y, eta=50.0, sparsity=5)
        cheap, full = beck_hallak(problem, full=False), beck_hallak(problem)
        gains.append(cheap.objective - full.objective)
    assert min(gains) >= -1e-12
    assert max(gains) > 0.01


def test_trace_descends_to_the_result():
    found = beck_hallak(regression())
    assert (np.diff(found.trace.objectives) < 0).all()
    assert found.trace.objectives[-1] == found.objective
    assert len(found.trace.supports) == found.n_iter + 1 > 2
    assert np.array_equal(found.trace.supports[-1], found.support)


def test_limits_keep_the_best_so_far():
    problem = regression()
    found = beck_hallak(problem, max_iter=1)
    assert found.stop is Stop.MAX_ITER
    assert found.n_iter == 1
    assert beck_hallak(problem, time_limit=0.0).stop is Stop.TIME_LIMIT
    asked = beck_hallak(problem, callback=lambda p: p.n_iter >= 2)
    assert asked.stop is Stop.CALLBACK
    assert asked.n_iter == 2
