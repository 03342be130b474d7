"""The methods that the hierarchy is compared with, on problems of every kind."""

import numpy as np
import pytest

from cardqp import (
    BeckHallak,
    BestResponse,
    BlockDecomposition,
    ParameterError,
    SparseQP,
    Status,
    WarmStart,
    beck_hallak,
    block_decomposition,
    safe_screen,
    solve,
    warm_start,
)
from cardqp.datasets import make_regression
from tests.pipeline.test_solve import slack
from tests.problems import KINDS, enumerate_optimum, random_problem

FUNCTIONS = {
    "safe screening": safe_screen,
    "warm start": warm_start,
    "warm start, best response": lambda problem: warm_start(problem, "best-response"),
    "full exchanges": beck_hallak,
    "cheap exchanges": lambda problem: beck_hallak(problem, full=False),
    "blocks": lambda problem: block_decomposition(problem, seed=3),
    "small blocks": lambda problem: block_decomposition(
        problem, n_random=2, n_greedy=2, patience=10
    ),
}

NAMES = ("safe-screening", "warm-start", "beck-hallak", "block-decomposition")


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_baselines_are_feasible_and_never_better_than_the_optimum(kind, name):
    for seed in range(8):
        problem = random_problem(kind, seed)
        optimum, _ = enumerate_optimum(problem)
        x = FUNCTIONS[name](problem).x
        if np.isinf(optimum):
            assert x is None
        elif x is not None:
            assert problem.feasibility(x).holds()
            assert problem.objective(x) >= optimum - slack(optimum)


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_solve_by_a_baseline_is_bounded_by_the_optimum(kind, method):
    for seed in range(2):
        problem = random_problem(kind, seed)
        optimum, _ = enumerate_optimum(problem)
        solution = solve(problem, method=method)
        assert solution.verify().ok
        if np.isinf(optimum):
            assert solution.status is Status.INFEASIBLE
            continue
        assert solution.lower_bound <= optimum + slack(optimum)
        assert solution.objective >= optimum - slack(optimum)
        if method == "safe-screening":
            assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", ["free", "both", "rows+bounds", "blocks, rows"])
def test_baselines_are_deterministic(kind, name):
    problem = random_problem(kind, 1)
    once, again = FUNCTIONS[name](problem), FUNCTIONS[name](problem)
    assert np.array_equal(once.x, again.x)


def regression(**settings):
    data = make_regression(200, 150, sparsity=5, correlation=0.9, snr=3.0, seed=1)
    settings = {"eta": 10.0, "sparsity": 5} | settings
    return SparseQP.from_regression(data.X, data.y, **settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "stages"),
    [
        ("safe-screening", ["screening", "search"]),
        ("warm-start", ["screening", "reduced", "bound"]),
        (WarmStart("best-response"), ["screening", "reduced", "bound"]),
        ("beck-hallak", ["descent", "bound"]),
        (BeckHallak(full=False), ["descent", "bound"]),
        ("block-decomposition", ["descent", "bound"]),
        (BlockDecomposition(seed=5), ["descent", "bound"]),
    ],
)
def test_stages_of_a_larger_problem(method, stages):
    problem = regression()
    exact, solution = solve(problem), solve(problem, method=method)
    assert [stage.name for stage in solution.stages] == stages
    assert solution.verify().ok
    assert solution.objective >= exact.lower_bound
    assert solution.lower_bound <= exact.objective


def test_methods_with_settings_are_used():
    problem = regression()
    few = solve(problem, method=BestResponse(max_iter=1, window=1), level=20)
    many = solve(problem, method="best-response", level=20)
    sizes = [s.stages[2].size_after for s in (few, many)]
    assert sizes[0] == 5 < sizes[1]


def test_start_is_used_by_direct_methods():
    problem = regression()
    best = solve(problem).x
    found = solve(problem, method="beck-hallak", start=best)
    assert found.stages[0].detail.startswith("0 steps")
    assert beck_hallak(problem, start=best).n_iter == 0
    assert np.array_equal(
        block_decomposition(problem, start=best).support, np.flatnonzero(best)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WarmStart("magic"), "`variant` must be subgradient or best-response"),
        (lambda: WarmStart(max_iter=0), "`max_iter` must be an integer, at least 1"),
        (lambda: WarmStart(window=0), "`window` must be an integer, at least 1"),
        (lambda: BeckHallak(max_iter=0), "`max_iter` must be an integer, at least 1"),
        (lambda: BlockDecomposition(n_random=0), "`n_random` must be an integer"),
        (lambda: BlockDecomposition(n_greedy=0), "`n_greedy` must be an integer"),
        (lambda: BlockDecomposition(20, 7), "`n_random` . `n_greedy` must be at most"),
        (lambda: BlockDecomposition(patience=0), "`patience` must be an integer"),
        (lambda: BlockDecomposition(max_iter=0), "`max_iter` must be an integer"),
        (lambda: BlockDecomposition(seed=-1), "`seed` must be an integer, at least 0"),
        (lambda: BlockDecomposition(proximal=-1.0), "`proximal` must be a number"),
        (lambda: BlockDecomposition(tolerance=-1.0), "`tolerance` must be a number"),
        (
            lambda: solve(regression(), method=3),
            "`method` must be one of exact",
        ),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_point_is_the_methods_own_even_if_the_bound_meets_a_better_one():
    data = make_regression(sparsity=10, correlation=0.9, snr=6.0, seed=4)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=10)
    own, solution = (
        beck_hallak(problem, full=False),
        solve(problem, method=BeckHallak(full=False)),
    )
    assert np.array_equal(solution.x, own.x)
    assert solution.status is Status.FEASIBLE
    assert "met a better point" in solution.stages[-1].detail
    assert solution.verify().ok
