"""Splits by a matrix function in the search, forced on small problems."""

from dataclasses import replace

import numpy as np
import pytest

from cardqp import Solution, SparseQP, Status, solve
from cardqp.datasets import make_regression
from cardqp.methods import (
    DiagonalSettings,
    FunctionSettings,
    RootSettings,
    SplittingSettings,
)
from tests.problems import enumerate_optimum
from tests.searches import by_branching

FUNCTION = FunctionSettings(min_variables=4, sample_size=10)


def by_function(function=FUNCTION, **root):
    splitting = SplittingSettings(DiagonalSettings(max_variables=0), function=function)
    settings = RootSettings(minorant_gap=0.0, easy_nodes=0, **root)
    return by_branching(root=settings, splitting=splitting)


def regression(seed, eta=3000.0, n=12, N=16, **settings):
    data = make_regression(N, n, sparsity=4, correlation=0.8, snr=1.0, seed=seed)
    return SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=4, **settings)


def split_steps(solution):
    """The steps to a minorant with weights."""
    reductions = [step.reduction for step in solution.certificate.root]
    return [r for r in reductions if r is not None and r.weights is not None]


def constraints(kind, n=12):
    if kind == "box":
        return {"lower": -0.4, "upper": 0.6}
    if kind == "positive":
        return {"lower": 0.0}
    if kind == "forced":
        return {"forced_in": [1], "forced_out": [3]}
    if kind == "groups":
        return {"groups": np.arange(n) % 3, "group_sparsity": 2}
    return {}


@pytest.mark.parametrize("kind", ["free", "box", "positive", "forced", "groups"])
@pytest.mark.parametrize("seed", range(12))
def test_optima_are_those_of_enumeration(kind, seed):
    problem = regression(seed, **constraints(kind))
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, method=by_function(), gap=1e-6)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    assert found.lower_bound <= optimum + 1e-12 * abs(optimum)
    assert found.verify().ok


def test_the_split_is_taken():
    n_split = sum(
        len(split_steps(solve(regression(seed), method=by_function())))
        for seed in range(6)
    )
    assert n_split >= 3


def with_split():
    for seed in range(20):
        problem = regression(seed, n=30, N=40)
        found = solve(problem, method=by_function())
        if split_steps(found):
            return problem, found
    raise AssertionError("no problem with a split")


def test_proofs_in_single_precision_are_stored_and_tampering_is_noticed(tmp_path):
    problem, found = with_split()
    (reduction,) = split_steps(found)
    assert reduction.minorant.dtype == np.float32
    found.save(tmp_path / "found.npz")
    again = Solution.load(tmp_path / "found.npz", problem)
    assert again.verify().ok
    assert again.certificate.lower_bound(problem) == found.certificate.lower_bound(
        problem
    )
    changes = (
        {"weights": reduction.weights[::-1] * 1e3},
        {"minorant": reduction.minorant + 100 * np.eye(30, dtype=np.float32)},
        {"minorant": reduction.minorant - 100 * np.eye(30, dtype=np.float32)},
        {"minorant": reduction.minorant[:-1]},
    )
    optimum = found.objective
    for change in changes:
        steps = tuple(
            replace(step, reduction=replace(step.reduction, **change))
            if step.reduction is reduction
            else step
            for step in found.certificate.root
        )
        forged = replace(found.certificate, root=steps)
        assert forged.lower_bound(problem) <= optimum


@pytest.mark.parametrize(
    "settings",
    [
        {"eta": 1.0},
        {"N": 8},
        {"A": np.ones((1, 12)), "b": 5.0},
    ],
)
def test_where_there_is_no_such_split(settings):
    """A strong ridge, fewer rows than columns, and rows."""
    found = solve(regression(0, **settings), method=by_function())
    assert not split_steps(found)


def test_not_without_time_for_it():
    """A split is not begun if it would take most of the time that is left."""
    problem, _ = with_split()
    hasty = by_function(replace(FUNCTION, wrap_up=1e12))
    found = solve(problem, method=hasty, time_limit=30.0)
    assert not split_steps(found)
    assert found.status is Status.OPTIMAL


def test_bounds_are_no_worse_than_without():
    """Whatever the level, a split is taken only if its bound is better."""
    for seed in range(6):
        problem = regression(seed, n=40, N=60)
        without = by_function(replace(FUNCTION, min_variables=10**6))
        plain = solve(problem, method=without, node_limit=1)
        for level in (1e-4, 0.02, 0.5):
            function = replace(FUNCTION, first_level=level, max_levels=2)
            found = solve(problem, method=by_function(function), node_limit=1)
            slack = 1e-3 * abs(plain.objective)
            assert found.lower_bound >= plain.lower_bound - slack


def test_a_search_with_a_split_is_resumed():
    problem, found = with_split()
    part = solve(problem, method=by_function(), node_limit=2)
    again = solve(problem, method=by_function(), resume=part)
    assert again.status is Status.OPTIMAL
    assert again.objective == pytest.approx(found.objective, rel=1e-6)
    assert again.verify().ok
