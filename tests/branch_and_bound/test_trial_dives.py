"""Dives that tell an optimal diagonal from one that is good further down as well."""

import numpy as np
import pytest

from cardqp import SparseQP, Status, solve
from cardqp.branch_and_bound.trial_dives import TrialDives
from cardqp.methods import RootSettings
from tests.problems import enumerate_optimum
from tests.searches import by_branching


def wide_problem(seed, N=30, n=60, sparsity=6, eta=20.0):
    """Fewer rows than columns, which share three factors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3)) @ rng.standard_normal((3, n))
    X += rng.standard_normal((N, n))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X[:, :sparsity].sum(axis=1) + 2.0 * rng.standard_normal(N)
    y = (y - y.mean()) / y.std()
    return SparseQP.from_regression(X, y, eta=eta, sparsity=sparsity)


def dependent_problem(seed):
    """More rows than columns, one of which is the sum of two others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 40))
    X += rng.standard_normal((200, 40))
    X = X / X.std(axis=0)
    X[:, -1] = X[:, 3] + X[:, 10]
    y = X[:, ::6].sum(axis=1) + 8.0 * rng.standard_normal(200)
    return SparseQP.from_regression(X, y, eta=50.0, sparsity=6)


def moves_diagonal(solution):
    steps = solution.certificate.root
    return any(
        step.reduction is not None
        and step.reduction.diagonal_shift is not None
        and step.reduction.diagonal_shift.any()
        for step in steps
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_diagonal_that_does_not_last_is_not_moved(seed, monkeypatch):
    problem = wide_problem(seed)
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    assert not moves_diagonal(found)
    monkeypatch.setattr(TrialDives, "prunes_sooner", lambda *_: True)
    forced = solve(problem)
    assert forced.status is Status.OPTIMAL
    assert moves_diagonal(forced)
    assert forced.objective == pytest.approx(found.objective, rel=1e-4)
    assert found.n_nodes < 0.8 * forced.n_nodes


def test_a_diagonal_that_lasts_is_moved_though_columns_depend(monkeypatch):
    problem = dependent_problem(0)
    method = by_branching(root=RootSettings(race_gap=0.0))
    found = solve(problem, method=method)
    assert found.status is Status.OPTIMAL
    assert moves_diagonal(found)
    monkeypatch.setattr(TrialDives, "prunes_sooner", lambda *_: False)
    refused = solve(problem, method=method)
    assert refused.objective == pytest.approx(found.objective, rel=1e-4)
    assert not moves_diagonal(refused)
    assert found.n_nodes < 0.5 * refused.n_nodes


@pytest.mark.parametrize("seed", range(6))
def test_either_way_the_optimum_is_that_of_enumeration(seed, monkeypatch):
    problem = wide_problem(seed, N=8, n=13, sparsity=4, eta=30.0)
    optimum, _ = enumerate_optimum(problem)
    for answer in (True, False):
        monkeypatch.setattr(
            TrialDives, "prunes_sooner", lambda *_, answer=answer: answer
        )
        found = solve(problem, gap=1e-6)
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(optimum, rel=1e-5)
        assert found.lower_bound <= optimum
