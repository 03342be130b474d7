"""Bounds that are dropped at the root, where a good point stays away from them."""

from dataclasses import replace

import numpy as np
import pytest

from cardqp import Solution, SparseQP, Status, solve
from cardqp.branch_and_bound.inactive_bounds import are_inactive
from cardqp.branch_and_bound.presolve import PresolveState
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.settings import RootSettings
from cardqp.certificate import Reduction, RootStep
from cardqp.datasets import make_regression
from cardqp.heuristics.settings import HeuristicSettings
from tests.problems import enumerate_optimum


def regression(seed, box, eta=3000.0, n=11, N=15, **settings):
    data = make_regression(N, n, sparsity=4, correlation=0.7, snr=2.0, seed=seed)
    settings = {"lower": -box, "upper": box} | settings
    return SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=4, **settings)


def drops_bounds(solution):
    reductions = [step.reduction for step in solution.certificate.root]
    return any(r is not None and r.drops_bounds for r in reductions)


@pytest.mark.parametrize("box", [0.3, 0.8, 1.2, 1.6, 2.0, 5.0])
@pytest.mark.parametrize("seed", range(12))
def test_optima_are_those_of_enumeration(seed, box):
    problem = regression(seed, box)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, gap=1e-6)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    assert found.lower_bound <= optimum + 1e-12 * abs(optimum)
    assert (np.abs(found.x) <= box).all()
    assert found.verify().ok


def test_bounds_are_dropped_only_if_far_away():
    dropped = {
        box: sum(drops_bounds(solve(regression(seed, box))) for seed in range(6))
        for box in (0.3, 5.0)
    }
    assert dropped == {0.3: 0, 5.0: 6}


def is_dropped(problem, settings=RootSettings()):  # noqa: B008
    free = problem.without_bounds()
    x = solve(free).x
    return are_inactive(problem, x, settings, HeuristicSettings())


def test_when_bounds_are_dropped():
    assert is_dropped(regression(0, 5.0))
    assert not is_dropped(regression(0, np.inf))
    assert not is_dropped(regression(0, 5.0, eta=10.0))
    assert not is_dropped(regression(0, 5.0, N=5))
    assert not is_dropped(regression(0, 5.0, lower=0.0))
    assert not is_dropped(regression(0, 5.0, A=np.ones((1, 11)), b=9.0))
    low = np.ones((11, 3)) @ np.eye(3, 11)
    singular = SparseQP(low @ low.T, np.ones(11), eta=1e4, sparsity=2, lower=-9.0)
    assert not is_dropped(singular)


def misled(seed):
    """A search with bounds dropped although the free optimum is outside of them."""
    free = solve(regression(seed, np.inf), gap=1e-8)
    boxed = regression(seed, 0.9 * np.abs(free.x).max())
    search = BranchAndBound(gap=1e-6)
    tree = search.initial_tree(boxed, keeps_bounds=True)
    proof, tree.presolved = tree.steps.pop().point, PresolveState.start(boxed)
    reduction = Reduction(np.arange(boxed.n), drops_bounds=True)
    step = RootStep(proof, reduction=reduction)
    tree.step_root(step, tree.presolved.without_bounds())
    return boxed, search, tree


@pytest.mark.parametrize("seed", range(8))
def test_a_search_that_leaves_the_bounds_starts_again_with_them(seed):
    boxed, search, tree = misled(seed)
    n_restarts = 0
    for _ in range(1000):
        if search.done(tree) is not None:
            break
        n_restarts += tree.left_bounds
        tree = search.step(tree, tree)
    optimum, _ = enumerate_optimum(boxed)
    assert n_restarts == 1
    assert not tree.drops_bounds
    assert tree.best.objective == pytest.approx(optimum, rel=1e-5)
    assert tree.certificate.lower_bound(boxed) <= optimum
    assert tree.lower_bound >= optimum - 2e-6 * abs(optimum)


@pytest.mark.parametrize("seed", range(12))
def test_forged_steps_without_bounds_prove_no_more(seed):
    """Of any certificate, whatever its steps have made of the problem before."""
    lower = 0.0 if seed % 2 else -0.5
    problem = regression(seed, 0.7, lower=lower)
    optimum, _ = enumerate_optimum(problem)
    certificate = solve(problem).certificate
    for at, step in enumerate(certificate.root):
        reduction = step.reduction or Reduction(np.arange(problem.n))
        if step.reduction is None and at > 0:
            continue
        forged = replace(step, reduction=replace(reduction, drops_bounds=True))
        steps = (*certificate.root[:at], forged, *certificate.root[at + 1 :])
        bound = replace(certificate, root=steps).lower_bound(problem)
        assert bound <= optimum


def test_stored_and_resumed(tmp_path):
    problem = regression(3, 5.0, n=40, N=50)
    part = solve(problem, node_limit=3)
    assert drops_bounds(part)
    part.save(tmp_path / "part.npz")
    loaded = Solution.load(tmp_path / "part.npz", problem)
    assert drops_bounds(loaded)
    assert loaded.verify().ok
    found = solve(problem, resume=loaded)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(
        solve(problem.without_bounds()).objective, rel=1e-6
    )
