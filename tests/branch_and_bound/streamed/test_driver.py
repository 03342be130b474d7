"""What the driver gives to streamed searches as to all: resume, threads, limits."""

from dataclasses import replace

import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, Status, solve
from cardqp._iterate import Stop
from cardqp.branch_and_bound.streamed.restore import restore_streamed
from cardqp.methods.exact import Exact
from cardqp.solution.claim import ClaimStatus
from tests.branch_and_bound.streamed.test_search import KINDS, SMALL, random_problem
from tests.problems import enumerate_optimum
from tests.streamed import exact, in_blocks, search_settings

EXACT = exact(nodes=1, **SMALL)


@pytest.fixture(scope="module")
def problem():
    """Hard enough for a hundred nodes."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 14)), rng.standard_normal(20)
    return in_blocks(SparseQP.from_data(X, y, eta=50.0, sparsity=4), entries=100)


@pytest.fixture(scope="module")
def optimum(problem):
    return enumerate_optimum(problem)[0]


@pytest.mark.parametrize("n_nodes", [1, 5, 20, 40])
def test_resumed_searches_go_on(problem, optimum, n_nodes):
    first = solve(problem, method=EXACT, node_limit=n_nodes)
    assert first.stop is Stop.NODE_LIMIT
    found = solve(problem, method=EXACT, resume=first)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-9)
    assert found.verify().ok
    whole = solve(problem, method=EXACT)
    assert first.n_nodes < found.n_nodes < 1.5 * whole.n_nodes
    assert [stage.name for stage in found.stages] == ["search", "search"]


def test_a_search_in_many_parts(problem, optimum):
    found = solve(problem, method=EXACT, node_limit=1)
    bounds = [found.lower_bound]
    while found.stop is Stop.NODE_LIMIT:
        more = found.n_nodes + 7
        found = solve(problem, method=EXACT, resume=found, node_limit=more)
        bounds.append(found.lower_bound)
        assert found.lower_bound <= optimum * (1 + 1e-12)
        assert found.verify().ok
    assert len(bounds) > 5
    assert bounds == sorted(bounds)
    assert found.status is Status.OPTIMAL


def test_what_is_restored_is_what_was_proved(problem, optimum):
    first = solve(problem, method=EXACT, node_limit=30)
    settings = search_settings(nodes=1, **SMALL)
    state = first.certificate, first.n_nodes, first.x, settings
    tree = restore_streamed(problem, *state)
    assert tree.lower_bound >= first.lower_bound * (1 - 1e-9)
    assert tree.lower_bound <= optimum * (1 + 1e-12)
    assert tree.best.objective == first.objective
    _, pruned_bound, _ = first.certificate.resume(problem)
    assert np.isfinite(pruned_bound)
    assert tree.pruned_bound == pruned_bound
    assert tree.n_created == len(first.certificate.tree)
    proof = first.certificate.tree
    is_open = (proof.kind == 0) & (proof.child == 0)
    assert {n.position for n in tree.open_nodes()} == {*np.flatnonzero(is_open)}
    assert tree.closed_share == pytest.approx(
        1.0 - sum(2.0**node.height for node in tree.open_nodes())
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_resumed_searches_of_every_kind(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    first = solve(problem, method=EXACT, node_limit=1 + 3 * seed)
    found = solve(problem, method=EXACT, resume=first)
    unit = max(abs(optimum), 1e-9)
    assert found.status is Status.OPTIMAL
    assert optimum - 1e-9 * unit <= found.objective <= optimum + 1.01e-4 * unit
    assert found.certificate.lower_bound(problem) <= optimum + 1e-12 * unit
    assert found.verify().ok


def test_stopped_before_there_are_nodes(problem, optimum):
    first = solve(problem, method=EXACT, time_limit=0.0)
    found = solve(problem, method=EXACT, resume=first)
    assert found.objective == pytest.approx(optimum, rel=1e-9)
    assert found.status is Status.OPTIMAL


def test_solutions_are_stored_and_resumed(problem, tmp_path):
    first = solve(problem, method=EXACT, node_limit=20)
    first.save(tmp_path / "solution.npz")
    loaded = type(first).load(tmp_path / "solution.npz", problem)
    again = solve(problem, method=EXACT, resume=loaded)
    assert again.n_nodes == solve(problem, method=EXACT, resume=first).n_nodes
    assert again.status is Status.OPTIMAL


@pytest.mark.parametrize("was_streamed", [True, False])
def test_searches_go_on_as_they_began(problem, was_streamed):
    """Whatever the settings are now."""
    methods = (EXACT, "exact") if was_streamed else ("exact", EXACT)
    first = solve(problem, method=methods[0], node_limit=3)
    found = solve(problem, method=methods[1], resume=first)
    assert found.certificate.is_streamed(problem) is was_streamed
    assert found.status is Status.OPTIMAL


def test_solutions_of_other_problems_are_refused(problem):
    first = solve(problem, method=EXACT, node_limit=20)
    other = SparseQP.from_data(
        problem.quadratic.X[:, :9], problem.quadratic.target, eta=50.0, sparsity=4
    )
    with pytest.raises(ParameterError, match="resume"):
        solve(other, method=EXACT, resume=first)
    broken = replace(first.certificate.tree, child=first.certificate.tree.child + 1)
    forged = replace(first, certificate=replace(first.certificate, tree=broken))
    with pytest.raises(ParameterError, match="resume"):
        solve(problem, method=EXACT, resume=forged)


@pytest.mark.parametrize("nodes", [1, 4, 16])
def test_the_tree_does_not_depend_on_threads(problem, nodes):
    method = exact(nodes=nodes, **SMALL | {"batch_size": 8})
    proofs = []
    for threads in (1, 2, 3):
        found = solve(problem, method=method, threads=threads)
        proofs.append([*found.certificate.tree.arrays().values()])
        assert found.status is Status.OPTIMAL
    for other in proofs[1:]:
        for mine, theirs in zip(proofs[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_nodes_are_processed_in_threads(problem, monkeypatch):
    """They are handed out one by one, so that several threads have something to do."""
    import threading

    from cardqp.branch_and_bound.streamed.node import WorkingSetProcessor

    seen, process = set(), WorkingSetProcessor.process_all

    def noted(self, nodes):
        seen.add(threading.current_thread().name)
        assert len(nodes) == 1
        return process(self, nodes)

    monkeypatch.setattr(WorkingSetProcessor, "process_all", noted)
    solve(problem, method=exact(nodes=8, **SMALL | {"batch_size": 8}), threads=2)
    assert any(name.startswith("ThreadPool") for name in seen)


def test_proofs_that_need_too_much_memory_are_dropped(problem, optimum):
    small = solve(problem, method=EXACT, proof_memory=2000.0)
    none = solve(problem, method=EXACT, proof_memory=0.0)
    for found in (small, none):
        assert len(found.certificate.tree) == 0
        assert found.status is Status.FEASIBLE
        assert found.claim.status is ClaimStatus.OPTIMAL
        assert found.claim.bound == pytest.approx(optimum, rel=1.1e-4)
        assert found.lower_bound < 0.9 * optimum  # what the root proves
        assert found.verify().ok


def test_stopped_without_a_proof(problem, optimum):
    found = solve(problem, method=EXACT, proof_memory=0.0, node_limit=40)
    assert found.stop is Stop.NODE_LIMIT
    assert found.lower_bound < found.claim.bound <= optimum * (1 + 1e-12)
    assert found.verify().ok


def test_the_number_of_nodes_is_estimated(problem):
    settings = replace(search_settings(nodes=1, **SMALL), estimate_after=10)
    estimates = []
    found = solve(
        problem,
        method=Exact(settings),
        callback=lambda progress: estimates.append(progress.estimate),
    )
    assert np.isnan(estimates[0])
    assert found.n_nodes / 5 < estimates[-1] < 5 * found.n_nodes


def test_the_share_that_is_closed_grows_to_one(problem):
    shares = []
    solve(
        problem,
        method=EXACT,
        callback=lambda progress: shares.append(progress.closed_share),
    )
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] <= 1.0
