"""The search as a whole: limits, threads, order, and going on later."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

import cardqp
from cardqp import (
    ParameterError,
    ProblemError,
    Solution,
    SparseQP,
    Status,
    storage,
)
from cardqp._iterate import Stop, Watch, iterate
from cardqp.branch_and_bound import node as node_module
from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.tree_size import estimate_nodes
from cardqp.certificate import Kind
from cardqp.datasets import make_regression
from cardqp.methods import (
    DiagonalSettings,
    RootSettings,
    SplittingSettings,
)
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.solution.claim import ClaimStatus
from tests.problems import enumerate_optimum, random_problem
from tests.searches import by_branching

USUAL, DEPTH_FIRST = by_branching(), by_branching(max_open=0)


def solve(problem, *, method=USUAL, **settings):
    return cardqp.solve(problem, method=method, **settings)


@pytest.fixture(scope="module")
def problem():
    data = make_regression(60, 40, sparsity=8, correlation=0.9, snr=0.5, seed=3)
    return SparseQP.from_regression(data.X, data.y, eta=100.0, sparsity=8)


@pytest.fixture(scope="module")
def solution(problem):
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    assert found.n_nodes > 150
    return found


def proofs_equal(first, second):
    pairs = zip(
        first.certificate.tree.arrays().values(),
        second.certificate.tree.arrays().values(),
        strict=True,
    )
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_tree_does_not_depend_on_threads_or_run(problem, solution, threads):
    again = solve(problem, threads=threads)
    assert again.n_nodes == solution.n_nodes
    assert again.lower_bound == solution.lower_bound
    np.testing.assert_array_equal(again.x, solution.x)
    assert proofs_equal(again, solution)


def test_a_node_limit_ends_the_search(problem, solution):
    stopped = solve(problem, node_limit=40)
    assert stopped.stop is Stop.NODE_LIMIT
    assert stopped.n_nodes == 40
    assert stopped.status is Status.FEASIBLE
    assert stopped.lower_bound <= solution.objective
    assert stopped.verify().ok


@pytest.mark.parametrize("node_limit", [1, 2, 40, 100])
def test_a_resumed_search_ends_as_if_it_had_not_stopped(
    problem, solution, node_limit, tmp_path
):
    stopped = solve(problem, node_limit=node_limit)
    stopped.save(tmp_path / "run.npz")
    loaded = Solution.load(tmp_path / "run.npz", problem)
    assert loaded.verify().ok
    resumed = solve(problem, resume=loaded)
    assert resumed.status is Status.OPTIMAL
    assert resumed.verify().ok
    assert resumed.objective == solution.objective
    assert len(resumed.stages) == len(stopped.stages) + 1
    assert resumed.n_nodes == pytest.approx(solution.n_nodes, rel=0.1)


def test_a_search_in_small_steps_gets_on():
    problem = random_problem("free", 5001)
    found = solve(problem, node_limit=1)
    for limit in range(2, 16):
        found = solve(problem, node_limit=limit, resume=found)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("root.count", np.array([1, 2])),
        ("root.count", "many"),
        ("objective", "low"),
        ("support", np.array([0.5])),
        ("x", np.array(["a"])),
        ("status", "SPLENDID"),
        ("stages", "3"),
        ("root.0.fixed_in", np.array([0.5])),
        ("tree.beta", np.zeros(3)),
        ("x", np.full(40, 1e150)),
        ("root.count", np.inf),
    ],
)
def test_a_tampered_file_is_refused(problem, solution, tmp_path, name, value):
    path = tmp_path / "s.npz"
    solution.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays[name] = value
    np.savez(path, **arrays)
    with contextlib.suppress(ProblemError):  # some are refused at once
        assert not Solution.load(path, problem).verify().ok


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("stages", "[" * 100_000, "its stages are nested too deeply"),
        ("stages", '[["reduce", "long", 3, 2]]', "is no stage"),
        ("stages", '[["reduce", 1e999, 3, 2]]', "is no stage"),
        ("stages", '[[["reduce"], 1.0, 3, 2]]', "is no stage"),
        ("stages", '[["reduce", 1.0, 3.5, 2]]', "is no stage"),
        ("n_nodes", np.inf, "infinity"),
        ("x", 1.0, "x must be a vector"),
        ("x", np.zeros((2, 20)), "x must be a vector"),
        ("support", 3, "support must be a vector"),
    ],
)
def test_odd_parts_of_a_file_are_refused(
    problem, solution, tmp_path, name, value, message
):
    path = tmp_path / "s.npz"
    solution.save(path)
    arrays = storage.read_arrays(path)
    storage.write_arrays(path, arrays | {name: value})
    with pytest.raises(ProblemError, match=f"must be a solution: .*{message}"):
        Solution.load(path, problem)


def test_a_finished_search_has_nothing_to_resume(problem, solution):
    again = solve(problem, resume=solution)
    assert again.status is Status.OPTIMAL
    assert again.n_nodes == solution.n_nodes


def test_a_proof_of_infeasibility_can_be_stored(tmp_path):
    problem = random_problem("infeasible", 0)
    found = solve(problem)
    found.save(tmp_path / "s.npz")
    loaded = Solution.load(tmp_path / "s.npz", problem)
    assert loaded.status is Status.INFEASIBLE
    assert loaded.x is None
    assert loaded.verify().ok
    assert solve(problem, resume=loaded).status is Status.INFEASIBLE


def test_what_cannot_be_resumed_is_refused(problem, solution):
    with pytest.raises(ParameterError, match=r"`resume` must be a Solution"):
        solve(problem, resume=3)
    with pytest.raises(ParameterError, match=r'`resume` is for method "exact"'):
        solve(problem, method="best-response", resume=solution)
    with pytest.raises(ParameterError, match=r"with a certificate"):
        solve(problem, resume=replace(solution, certificate=None))
    with pytest.raises(ParameterError, match=r"a solution of this problem"):
        solve(random_problem("free", 0), resume=solution)
    with pytest.raises(ParameterError, match=r"a solution of this problem"):
        solve(problem.with_limits(sparsity=3), resume=solution)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threads": 0}, "`threads` must be an integer"),
        ({"threads": 1.5}, "`threads` must be an integer"),
        ({"node_limit": 0}, "`node_limit` must be an integer"),
        ({"proof_memory": -1}, "`proof_memory` must be a number"),
    ],
)
def test_settings_are_checked(problem, settings, message):
    with pytest.raises(ParameterError, match=message):
        solve(problem, **settings)


def test_a_file_that_is_no_solution_is_refused(problem, solution, tmp_path):
    path = tmp_path / "s.npz"
    problem.save(path)
    with pytest.raises(ProblemError, match="must be a solution"):
        Solution.load(path, problem)
    solution.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    del arrays["tree.kind"]
    np.savez(path, **arrays)
    with pytest.raises(ProblemError, match="lacks the array"):
        Solution.load(path, problem)


def test_no_proof_is_kept_if_none_is_wanted(problem, solution):
    found = solve(problem, proof_memory=0)
    assert len(found.certificate.tree) == 0
    assert found.status is Status.FEASIBLE
    assert found.n_nodes == solution.n_nodes
    assert found.lower_bound < solution.lower_bound
    assert found.claim.status is ClaimStatus.OPTIMAL
    assert found.claim.bound == pytest.approx(solution.lower_bound)
    assert found.verify().ok
    assert "proof_memory" in found.advice


def test_a_proof_that_gets_too_large_is_dropped(problem, solution):
    found = solve(problem, proof_memory=20_000)
    assert solution.certificate.tree.nbytes > 20_000
    assert len(found.certificate.tree) == 0
    assert found.objective == solution.objective
    assert found.claim.status is ClaimStatus.OPTIMAL
    assert found.verify().ok


def test_a_full_memory_makes_the_search_go_deep(problem, solution):
    deep = solve(problem, method=by_branching(max_open=5))
    assert deep.n_nodes != solution.n_nodes
    assert deep.status is Status.OPTIMAL
    assert deep.objective == solution.objective
    assert deep.verify().ok


@pytest.mark.parametrize("kind", ["free", "tied", "rank-deficient", "forced in"])
@pytest.mark.parametrize("seed", range(10))
def test_a_deep_search_finds_the_same_optimum(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, method=DEPTH_FIRST, gap=1e-6)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    assert found.verify().ok


def test_a_deep_search_goes_on_later(problem):
    stopped = solve(problem, method=DEPTH_FIRST, node_limit=50)
    assert stopped.verify().ok
    resumed = solve(problem, method=DEPTH_FIRST, resume=stopped, threads=2)
    assert resumed.status is Status.OPTIMAL


def test_an_error_in_a_branch_loses_no_branch(problem, monkeypatch):
    search = BranchAndBound(settings=USUAL.settings)
    tree = search.initial_tree(problem)
    while tree.n_nodes < 30:
        search.step(tree, tree)
    n_open, bound = tree.n_open, tree.lower_bound

    def fail(*_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(NodeProcessor, "process_all", fail)
        with pytest.raises(RuntimeError):
            search.step(tree, tree)
    assert (tree.n_open, tree.lower_bound) == (n_open, bound)
    _, stop = iterate(search, tree, Watch())
    assert stop is Stop.GAP


def test_an_error_in_the_midst_of_a_batch_loses_none_of_the_rest(problem, monkeypatch):
    settings = replace(USUAL.settings, batch_size=20, max_batch_size=20)
    search = BranchAndBound(settings=settings)
    tree = search.initial_tree(problem)
    while tree.n_open < 20:
        search.step(tree, tree)
    n_nodes, bound, calls = tree.n_nodes, tree.lower_bound, []
    done = tree.n_created - tree.n_open
    process_all = NodeProcessor.process_all

    def fail_at_last(processor, nodes):
        calls.append(len(nodes))
        if len(calls) == 3:
            raise RuntimeError
        return process_all(processor, nodes)

    with monkeypatch.context() as patch:
        patch.setattr(node_module, "MOST_PER_TASK", 8)
        patch.setattr(NodeProcessor, "process_all", fail_at_last)
        with pytest.raises(RuntimeError):
            search.step(tree, tree)
    assert tree.n_nodes == n_nodes + sum(calls[:2])
    assert tree.lower_bound >= bound
    assert tree.n_created - tree.n_open == done + sum(calls[:2])
    _, stop = iterate(search, tree, Watch())
    assert stop is Stop.GAP


def test_dives_estimate_the_size_of_the_tree(problem, solution):
    search = BranchAndBound(settings=USUAL.settings)
    tree = search.initial_tree(problem)
    while not tree.is_rooted:
        search.step(tree, tree)
    effort = Effort(search.tolerance(tree), slack=0.1)
    processor = NodeProcessor(tree, search.cutoff(tree), effort)
    found = estimate_nodes(processor, tree.root(), 60)
    assert solution.n_nodes / 4 < found < 4 * solution.n_nodes
    assert tree.n_nodes < solution.n_nodes


def test_progress_tells_how_far_the_search_has_come(problem):
    method, seen = by_branching(estimate_after=50), []
    solve(problem, method=method, callback=lambda progress: seen.append(progress))
    shares = [progress.closed_share for progress in seen]
    assert shares == sorted(shares)
    assert shares[-1] > 0.5
    assert np.isnan(seen[0].estimate)
    assert seen[-1].estimate > 50


@pytest.mark.parametrize("seed", range(8))
def test_a_split_for_sparse_points_proves_the_same_optimum(seed):
    """With the split forced on small problems, against enumeration."""
    root = RootSettings(minorant_gap=0.0, easy_nodes=0)
    splitting = SplittingSettings(DiagonalSettings(max_variables=0))
    method = by_branching(root=root, splitting=splitting)
    data = make_regression(14, 12, sparsity=5, correlation=0.8, snr=0.5, seed=seed)
    problem = SparseQP.from_regression(data.X, data.y, eta=300.0, sparsity=5)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, method=method, gap=1e-6)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    assert found.lower_bound <= optimum
    steps = found.certificate.root
    splits = [
        step.reduction.minorant
        for step in steps
        if step.reduction is not None and step.reduction.minorant is not None
    ]
    if seed == 0:
        assert splits
    for P in splits:
        wrong = [
            replace(step, reduction=_tampered(step.reduction, P)) for step in steps
        ]
        forged = replace(found.certificate, root=tuple(wrong))
        assert forged.lower_bound(problem) == -np.inf


def _tampered(reduction, P):
    if reduction is None or reduction.minorant is not P:
        return reduction
    return replace(reduction, minorant=P + 100.0 * np.eye(len(P)))


def test_leaves_are_tried_out(solution):
    kinds = set(solution.certificate.tree.kind)
    assert kinds & {Kind.COMPLETED, Kind.CUT_OFF}


@pytest.mark.parametrize("share", [0.98, 0.999, 1.1])
def test_a_limit_ends_the_search_where_nothing_is_below(problem, solution, share):
    limit = share * solution.objective
    method = BranchAndBound(limit=limit, settings=USUAL.settings)
    found, stop = iterate(method, method.initial_tree(problem), Watch())
    assert found.lower_bound >= min(limit, (1 - method.gap) * solution.objective)
    assert found.certificate.lower_bound(problem) == pytest.approx(found.lower_bound)
    if share < 1.0:
        assert stop is Stop.CUTOFF
        assert found.n_nodes <= solution.n_nodes
    else:
        assert stop is Stop.GAP
        assert found.best.objective == pytest.approx(solution.objective)


def factor_problem(seed):
    """Fewer rows than columns, kept as a factor to the end of the presolve."""
    data = make_regression(9, 14, sparsity=5, correlation=0.5, snr=0.5, seed=seed)
    return SparseQP.from_regression(data.X, data.y, eta=50.0, sparsity=5)


FACTOR_ROOT = RootSettings(max_formed_variables=0, reduction_share=0.0)
WITHOUT_DIAGONAL = SplittingSettings(DiagonalSettings(max_variables=0))


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_nodes_iterated_with_the_matrix_are_proved_by_the_factor(
    seed, factor, monkeypatch
):
    """Even a wrong matrix makes no wrong bound: it only finds worse dual points."""
    with_matrix, seen = Relaxation.with_matrix, []

    def scaled_matrix(self, Q):
        np.testing.assert_allclose(Q, self.problem.quadratic.dense(), atol=1e-12)
        seen.append(self)
        return with_matrix(self, factor * Q)

    monkeypatch.setattr(Relaxation, "with_matrix", scaled_matrix)
    method = by_branching(form_after=1, root=FACTOR_ROOT, splitting=WITHOUT_DIAGONAL)
    problem = factor_problem(seed)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, method=method, gap=1e-6)
    assert len(seen) == 1
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    assert found.lower_bound <= optimum
    assert found.certificate.lower_bound(problem) == pytest.approx(found.lower_bound)
