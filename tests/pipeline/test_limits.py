"""Limits of time and branches, by a clock that ticks with every expensive operation."""

import time

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg

from cardqp import Exact, SparseQP, Stop, solve
from cardqp._iterate import GRACE, Watch
from cardqp.branch_and_bound import node as node_module
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.methods import (
    METHODS,
    AscentSettings,
    DiagonalSettings,
    RootSettings,
    SearchSettings,
    SplittingSettings,
)
from cardqp.methods.block_decomposition import BlockDecomposition
from cardqp.pipeline.build_solution import build_solution
from tests.problems import random_problem

N = 60
TICK = 1e6
"""Seconds: so many that nothing else takes time."""

STEP = 5
"""A Newton step takes so many factorisations; anything else takes fewer."""


class SlowOperations:
    """A clock that stands still but for operations on large matrices."""

    def __init__(self, patch, n):
        self.started, self.count, self.at_the_end = time.perf_counter(), 0, 0
        for module, names in (
            (scipy.linalg, ("eigh", "eigvalsh", "svd", "cholesky", "cho_factor")),
            (np.linalg, ("eigh", "inv")),
            (scipy.sparse.linalg, ("eigsh",)),
        ):
            for name in names:
                patch.setattr(module, name, self.slow(getattr(module, name), n))

        def concluded(*given):
            self.at_the_end = self.count
            return build_solution(*given)

        patch.setattr("cardqp.pipeline.solve.build_solution", concluded)
        patch.setattr(time, "perf_counter", lambda: self.started + TICK * self.count)

    def slow(self, operation, n):
        def ticking(matrix, *args, **kwargs):
            self.count += len(matrix) >= n
            return operation(matrix, *args, **kwargs)

        return ticking


def regression(**settings):
    """A Gram matrix with a weak ridge: the root is loose."""
    rng = np.random.default_rng(0)
    distance = np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    F = rng.standard_normal((90, N)) @ np.linalg.cholesky(0.5**distance).T
    y = F[:, ::2].sum(axis=1) + 3.0 * rng.standard_normal(90)
    settings = {"eta": 100.0} | settings
    return SparseQP(F.T @ F / 90, -2.0 * F.T @ y / 90, **settings)


SHORT = BlockDecomposition(n_random=4, n_greedy=4, patience=3)
"""Between its operations the clock stands still, so that it would go on for long."""

PROBLEMS = {
    "sparsity": lambda: regression(sparsity=20),
    "rows": lambda: regression(
        sparsity=20, A=np.ones((2, N)) * [[1.0], [-1.0]], b=[5.0, 5.0], upper=1.0
    ),
    "penalty": lambda: regression(penalty=0.05),
    "penalty, bounds": lambda: regression(penalty=0.01, lower=-1.0, upper=1.0),
    "groups": lambda: regression(
        sparsity=20, groups=np.arange(N) % 10, group_sparsity=[3] * 10
    ),
}


def never_worse(step):
    """A step that must not lose what was proved before it, cut short or not."""

    def checked(search, problem, state):
        before = state.lower_bound
        after = step(search, problem, state)
        assert after.lower_bound >= before
        return after

    return checked


def stopped(problem, n_operations, method="exact"):
    """A solution whose time was for so many operations, and how many were made."""
    with pytest.MonkeyPatch.context() as patch:
        clock = SlowOperations(patch, 0.4 * N)
        patch.setattr(BranchAndBound, "step", never_worse(BranchAndBound.step))
        limit = TICK * (n_operations + 0.5)
        found = solve(problem, method=method, time_limit=limit, node_limit=40)
    return found, clock.at_the_end


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_few_operations_are_made_after_the_time_limit(kind, method):
    problem, n_stopped = PROBLEMS[kind](), 0
    chosen = SHORT if method == "block-decomposition" else method
    for limit in (0, 1, 4, 8, 16, 30):
        found, n_operations = stopped(problem, limit, chosen)
        assert n_operations <= limit + STEP
        assert found.verify().ok
        n_stopped += found.stop is Stop.TIME_LIMIT
        if found.stop is not Stop.TIME_LIMIT:
            break
    assert n_stopped > 0


def by_ascent(**settings):
    """Too many variables for an optimal diagonal: a split is found by ascent."""
    splitting = SplittingSettings(
        DiagonalSettings(max_variables=0), AscentSettings(max_seconds=np.inf)
    )
    root = RootSettings(easy_nodes=0, minorant_gap=0.0, **settings)
    return Exact(SearchSettings(root=root, splitting=splitting))


def test_an_ascent_to_a_split_ends_in_time_to_be_used():
    loose_root, bounds = regression(sparsity=6, eta=30.0), []
    for limit in (4, 16, 20, 30, 60):
        found, n_operations = stopped(loose_root, limit, by_ascent())
        assert n_operations <= limit + 1
        assert found.verify().ok
        bounds.append(found.lower_bound)
    assert bounds == sorted(set(bounds))
    assert any(step.reduction.minorant is not None for step in _narrowed(found))


def test_an_ascent_that_runs_out_of_time_leaves_what_was_proved():
    loose_root = regression(sparsity=6, eta=30.0)
    before, _ = stopped(loose_root, 4, by_ascent())
    for limit in (9, 12, 15, 20, 30):
        found, n_operations = stopped(loose_root, limit, by_ascent(wrap_up=0.0))
        assert found.stop is Stop.TIME_LIMIT
        assert n_operations <= limit + 2
        assert found.verify().ok
        assert found.lower_bound == before.lower_bound


def _narrowed(solution):
    return [step for step in solution.certificate.root if step.reduction is not None]


def test_a_root_that_ran_out_of_time_is_taken_up_again():
    problem = regression(sparsity=20)
    first, _ = stopped(problem, 8)
    assert first.stop is Stop.TIME_LIMIT
    assert len(first.certificate.tree) == 0
    again = solve(problem, resume=first, node_limit=40, time_limit=None)
    whole = solve(problem, node_limit=40, time_limit=None)
    assert again.verify().ok
    assert again.lower_bound == pytest.approx(whole.lower_bound, rel=1e-3)


@pytest.fixture(scope="module")
def hard():
    """Hundreds of branches."""
    rng = np.random.default_rng(1)
    F = rng.standard_normal((40, 26))
    y = rng.standard_normal(40)
    return SparseQP(F.T @ F / 40, -2.0 * F.T @ y / 40, eta=50.0, sparsity=11)


@pytest.mark.parametrize("max_open", [SearchSettings().max_open, 0])
@pytest.mark.parametrize("limit", [*range(1, 12), 40])
def test_a_node_limit_is_kept_exactly(hard, limit, max_open):
    method = Exact(SearchSettings(max_open=max_open))
    alone, together = (
        solve(hard, method=method, node_limit=limit, threads=k) for k in (1, 2)
    )
    assert alone.n_nodes == limit
    assert alone.stop is Stop.NODE_LIMIT
    assert together.n_nodes == alone.n_nodes
    assert together.lower_bound == alone.lower_bound
    assert alone.verify().ok


@pytest.mark.parametrize("method", METHODS)
def test_no_search_of_a_method_exceeds_the_node_limit(hard, method):
    found = solve(hard, method=method, node_limit=5)
    assert found.n_nodes <= 5
    for stage in found.stages:
        if "nodes" in stage.detail:
            assert int(stage.detail.split(" nodes")[0].split()[-1]) <= 5


def test_branches_that_there_is_no_time_for_stay_open(hard, monkeypatch):
    monkeypatch.setattr(node_module, "MOST_PER_TASK", 1)
    looks = iter([False] * 2 + [True] * 9)
    search = BranchAndBound()
    tree = search.initial_tree(hard)
    while tree.n_nodes < 30:
        search.step(tree, tree)
    before, n_open = tree.n_nodes, tree.n_open
    late = BranchAndBound(is_over=lambda: next(looks, True))
    late.step(tree, tree)
    assert tree.n_nodes - before == 2
    assert tree.n_open >= n_open - 2


def test_a_part_that_leaves_time_to_others():
    watch = Watch(time_limit=1000.0)
    watch.started -= 950.0
    with watch.ending_early(0.01):
        assert not watch.is_over
    with watch.ending_early(0.1):
        assert watch.is_over
    assert watch.time_limit == 1000.0


def test_what_rounds_off_an_answer_has_a_little_more_time():
    watch = Watch(time_limit=1000.0)
    assert not watch.is_late
    watch.stopped = Stop.CALLBACK
    assert not watch.is_late
    watch.started -= 2.0 * GRACE
    assert watch.is_late


def test_what_has_taken_too_long_leaves_no_time_to_round_off():
    watch = Watch(time_limit=10.0)
    watch.started -= 20.0
    assert watch.is_late


def test_a_screening_that_was_stopped_still_gives_a_good_point():
    problem = regression(sparsity=20)
    found = solve(problem, method="dual-program", callback=lambda p: p.n_iter >= 100)
    assert found.stop is Stop.CALLBACK
    assert found.objective <= 0.95 * solve(problem, node_limit=1).objective


def test_a_descent_that_is_cut_short_claims_no_local_optimum():
    problem = random_problem("rows+bounds", 15)
    whole = solve(problem, method="beck-hallak")
    assert "exchange" in whole.stages[0].detail
    late = solve(problem, method="beck-hallak", start=whole.x, time_limit=0.0)
    assert "exchange" not in late.stages[0].detail
