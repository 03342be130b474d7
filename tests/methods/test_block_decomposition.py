import itertools

import numpy as np
import pytest

from cardqp import BlockDecomposition, SparseQP, Stop, block_decomposition, solve
from cardqp._iterate import Watch
from cardqp.datasets import make_regression
from cardqp.methods.best_subset import best_subset
from cardqp.methods.block_problem import block_problem
from cardqp.methods.starts import Start
from cardqp.problem import lift
from cardqp.subproblems.support_qp import fit_support
from tests.problems import KINDS, enumerate_optimum, random_problem

CHANGE = 1e-5
"""Relative improvement within a block that the default tolerance may leave."""


@pytest.mark.parametrize("price", [0.0, 0.3])
@pytest.mark.parametrize("remaining", [0, 1, 3, 6, 8])
def test_best_subset_equals_enumeration(remaining, price):
    rng = np.random.default_rng(remaining)
    F = rng.standard_normal((9, 7))
    H, slope = F.T @ F + 0.1 * np.eye(7), 2.0 * rng.standard_normal(7)
    best = 0.0
    for size in range(min(remaining, 7) + 1):
        for chosen in map(list, itertools.combinations(range(7), size)):
            x = np.linalg.solve(H[np.ix_(chosen, chosen)], -0.5 * slope[chosen])
            best = min(best, 0.5 * slope[chosen] @ x + price * size)
    gain, chosen = best_subset(H, slope, remaining, price)
    assert -gain == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert len(chosen) <= remaining


@pytest.mark.parametrize("kind", KINDS)
def test_block_problem_is_the_problem_with_all_else_fixed(kind):
    for seed in range(4):
        problem = random_problem(kind, seed)
        optimum, support = enumerate_optimum(problem)
        if np.isinf(optimum):
            continue
        x = fit_support(problem, np.array(support, dtype=int)).x
        rng = np.random.default_rng(seed)
        part = np.sort(rng.choice(problem.n, (problem.n + 1) // 2, replace=False))
        if problem.blocks is not None:
            part = np.flatnonzero(np.isin(problem.blocks, problem.blocks[part]))
        block = block_problem(problem, x, part, np.zeros(len(part)))
        assert block.objective(x[part]) == pytest.approx(problem.objective(x))
        assert block.feasibility(x[part]).holds()
        # The optimum cannot be improved within a block either.
        within, _ = enumerate_optimum(block)
        assert within == pytest.approx(optimum, rel=1e-6, abs=1e-9)


def regression(n=60, **settings):
    data = make_regression(80, n, sparsity=6, correlation=0.95, snr=2.0, seed=2)
    settings = {"eta": 50.0, "sparsity": 6} | settings
    return SparseQP.from_regression(data.X, data.y, **settings)


CASES = {
    "free": {},
    "penalty": {"penalty": 0.02},
    "forced": {"forced_in": [3], "forced_out": [7, 8]},
    "bounds": {"lower": -0.5, "upper": 0.7},
    "budget": {"A_eq": np.ones((1, 60)), "b_eq": [0.5]},
    "groups": {"groups": np.arange(60) % 6, "group_sparsity": 1},
    "blocks": {"blocks": np.arange(60) // 4, "sparsity": 3},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_result_is_optimal_within_random_blocks(case):
    problem = regression(**CASES[case])
    size = {"n_random": 8, "n_greedy": 4}
    if problem.blocks is not None:
        size = {"n_random": 2, "n_greedy": 2, "patience": 40}
    found = block_decomposition(problem, **size, seed=1)
    assert found.stop is Stop.CONVERGED
    assert problem.feasibility(found.x).holds()
    rng = np.random.default_rng(7)
    for _ in range(20):
        part = np.sort(rng.choice(problem.n, 12, replace=False))
        if problem.blocks is not None:
            part = np.flatnonzero(np.isin(problem.blocks, problem.blocks[part[:3]]))
        block = block_problem(problem, found.x, part, np.zeros(len(part)))
        best = solve(block, gap=1e-7)
        assert best.objective >= found.objective - CHANGE * abs(found.objective)


def test_objective_never_rises_and_is_never_above_the_trace():
    found = block_decomposition(regression())
    assert (np.diff(found.trace.objectives) <= 1e-12).all()
    assert found.objective <= found.trace.objectives[-1]
    assert len(found.trace.supports) == found.n_iter + 1


def test_seed_decides_what_is_random():
    problem = regression()
    traces = [block_decomposition(problem, seed=s).trace.objectives for s in (0, 0, 1)]
    assert np.array_equal(traces[0], traces[1])
    assert not np.array_equal(traces[0], traces[2])


def test_a_block_of_all_variables_is_solved_once():
    problem = random_problem("rows+bounds", 1)
    found = block_decomposition(problem)
    assert found.stop is Stop.COMPLETED
    assert found.n_iter == 1
    optimum, _ = enumerate_optimum(problem)
    assert found.objective == pytest.approx(optimum, rel=1e-5)


def test_point_is_lifted_from_its_support():
    problem = regression()
    found = block_decomposition(problem)
    refit = solve(problem.restrict(found.support))
    assert np.allclose(lift(refit.x, found.support, problem.n), found.x, atol=1e-8)


def test_limits_keep_the_best_so_far():
    problem = regression()
    found = block_decomposition(problem, max_iter=3)
    assert found.stop is Stop.MAX_ITER
    assert found.n_iter == 3
    assert found.x is not None
    assert block_decomposition(problem, time_limit=0.0).stop is Stop.TIME_LIMIT


def test_a_single_block_is_cut_short_as_well():
    rng = np.random.default_rng(0)
    X = 0.5 * rng.standard_normal((200, 600)) + rng.standard_normal((200, 1))
    y = X[:, ::40].sum(axis=1) + 5.0 * rng.standard_normal(200)
    problem = SparseQP.from_factor(
        X / np.sqrt(200),
        -2.0 * X.T @ y / 200,
        eta=1e4,
        sparsity=8,
        blocks=np.arange(600) // 10,
    )
    block_decomposition(problem.restrict(np.arange(40)), max_iter=1)  # compiles
    watch = Watch(time_limit=0.5)
    found = BlockDecomposition().run(problem, watch)
    assert found.stop is Stop.TIME_LIMIT
    assert watch.seconds < 10.0  # to the end, a block takes a minute
    assert problem.feasibility(found.x).holds()


def test_a_block_of_all_variables_that_is_cut_short_is_not_the_end():
    problem = regression(n=12, lower=-1.0)
    now = [True]
    launch = Start(problem, fit_support(problem, np.arange(6)), lambda: now[0])
    method = BlockDecomposition()
    assert method.step(launch, method.init(launch)).stop is None
    now[0] = False
    assert method.step(launch, method.init(launch)).stop is Stop.COMPLETED


@pytest.mark.parametrize(
    "settings", [{"groups": [0, 0, 1], "group_sparsity": 1}, {"blocks": [0, 0, 1]}]
)
def test_nothing_to_choose_from(settings):
    problem = SparseQP(
        np.eye(3), -np.ones(3), eta=1.0, sparsity=2, forced_out=[0, 1, 2], **settings
    )
    assert not block_decomposition(problem).x.any()
