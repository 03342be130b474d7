"""Subtrees that others grow, with workers in this process: one tree, one proof."""

import pickle
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import cardqp
from cardqp import Exact, SparseQP, Status, Stop
from cardqp._iterate import Watch, iterate
from cardqp.branch_and_bound.distributed import search as distributed
from cardqp.branch_and_bound.distributed import subtrees, workers
from cardqp.branch_and_bound.distributed.shared_tree import SharedTree
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Kind
from cardqp.datasets import make_regression
from cardqp.methods import DroppingSettings, SearchSettings
from cardqp.subproblems.support_qp import fit_support
from tests.branch_and_bound.test_clusters import always
from tests.loopback import Loopback
from tests.searches import by_branching
from tests.splitting.test_row_shift import tracking

solve = partial(cardqp.solve, time_limit=None)


def regression(n, sparsity, eta, rho=0.9, snr=1.0, seed=0, **settings):
    data = make_regression(n, n, sparsity=sparsity, correlation=rho, snr=snr, seed=seed)
    parts = {"eta": eta, "sparsity": sparsity, **settings}
    return SparseQP.from_regression(data.X, data.y, **parts)


def by_tens(n):
    return {"groups": np.arange(n) % 10, "group_sparsity": np.ones(10, dtype=int)}


PROBLEMS = {
    "free": (regression(60, 8, 10.0, rho=0.5, snr=0.5), by_branching()),
    "clusters": (regression(60, 8, 60.0, snr=0.5, seed=1), always()),
    "minorant": (tracking(2, n=60, weeks=60, sparsity=8), by_branching()),
    "penalty": (regression(40, 8, 10.0, rho=0.5, snr=0.5, penalty=1.0), by_branching()),
    "groups": (
        regression(40, 8, 10.0, rho=0.7, snr=0.3, **by_tens(40)),
        by_branching(),
    ),
    "blocks": (
        regression(40, 4, 100.0, rho=0.7, snr=0.3, blocks=np.arange(40) // 2),
        by_branching(),
    ),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Even small trees are handed out, in small pieces, at whatever speed."""
    monkeypatch.setattr(distributed, "LOCAL_SECONDS", 0.0)
    monkeypatch.setattr(distributed, "LEAST_OPEN", 4)
    monkeypatch.setattr(distributed, "TASK_NODES", 30)
    monkeypatch.setattr(subtrees, "TASK_SECONDS", 600.0)
    monkeypatch.setattr(distributed, "TASK_SECONDS", 600.0)
    monkeypatch.setattr(distributed, "PAUSE", 0.0)
    monkeypatch.setattr(workers, "LOOK", 0.0)
    monkeypatch.setattr(workers, "QUIET", np.inf)
    monkeypatch.setattr("cardqp.pipeline.solve.check_client", lambda *_, **__: None)


@pytest.fixture(scope="module", params=list(PROBLEMS))
def kind(request):
    problem, method = PROBLEMS[request.param]
    return problem, method, solve(problem, method=method)


def assert_same(found, alone):
    """The same answer, and a proof of the same tree or one as good."""
    assert found.status is alone.status
    assert found.objective == pytest.approx(alone.objective, rel=1e-4)
    assert found.gap <= found.tolerance
    assert found.lower_bound <= alone.objective
    assert found.verify().ok
    proved = found.certificate.lower_bound(found.problem)
    assert proved >= found.lower_bound - 1e-9 * abs(proved)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_the_same_answer(kind, n_workers):
    problem, method, alone = kind
    client = Loopback(n_workers)
    found = solve(problem, method=method, client=client)
    assert_same(found, alone)
    n_given = sum(answer.n_nodes for _, answer in client.log)
    assert len(client.log) >= 5
    assert n_given > found.n_nodes / 3
    assert found.n_nodes < 1.5 * alone.n_nodes + 100
    assert client.n_sent <= 2  # again if clusters are branched on now
    # Nodes are numbered as they are in the proof.
    kinds = found.certificate.tree.kind
    assert np.count_nonzero(kinds != Kind.INHERITED) <= found.n_nodes + len(kinds) / 2


def test_workers_that_are_lost_change_nothing(kind):
    problem, method, alone = kind
    client = Loopback(2, lose=3)
    assert_same(solve(problem, method=method, client=client), alone)
    assert client.n_tasks > len(client.log) + 2


def test_data_that_are_lost_are_sent_again(kind):
    problem, method, alone = kind
    client = Loopback(2, lose=5, forgets=True)
    assert_same(solve(problem, method=method, client=client), alone)
    assert client.n_sent > 1


def test_without_workers_the_search_goes_on_here(kind):
    problem, method, alone = kind
    client = Loopback(0)
    found = solve(problem, method=method, client=client)
    assert_same(found, alone)
    assert client.n_sent == 0
    assert found.n_nodes == alone.n_nodes


def test_workers_that_never_answer_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(workers, "QUIET", 0.0)
    monkeypatch.setattr(workers, "STUCK", 0.0)
    problem, method = PROBLEMS["clusters"]
    alone = solve(problem, method=method)
    client = Loopback(1, patience=10**9)
    assert_same(solve(problem, method=method, client=client), alone)
    assert client.n_tasks > 0
    assert client.log == []


@pytest.mark.parametrize("limit", [60, 333])
def test_node_limit(limit):
    problem, method = PROBLEMS["clusters"]
    client = Loopback(3)
    found = solve(problem, method=method, client=client, node_limit=limit)
    assert (found.stop, found.n_nodes) == (Stop.NODE_LIMIT, limit)
    assert sum(answer.n_nodes for _, answer in client.log) > limit / 3
    assert found.verify().ok


def test_a_search_goes_on_from_what_workers_have_proved():
    problem, method = PROBLEMS["clusters"]
    first = solve(problem, method=method, client=Loopback(2), node_limit=400)
    client = Loopback(2)
    found = solve(problem, method=method, client=client, resume=first)
    assert found.status is Status.OPTIMAL
    assert found.verify().ok
    assert found.n_nodes > 400
    assert len(found.certificate.tree) > len(first.certificate.tree)
    assert len(client.log) > 3


def test_a_callback_stops_with_nodes_away():
    """Nodes that are away are open: they count, and so do their bounds."""
    problem, method = PROBLEMS["free"]
    client, seen = Loopback(2), []

    def stop(progress):
        seen.append(progress)
        return len(client.log) >= 6

    found = solve(problem, method=method, client=client, callback=stop)
    assert found.stop is Stop.CALLBACK
    assert client.n_tasks > len(client.log)  # some are away
    assert -np.inf < found.lower_bound < found.objective
    bounds = [progress.lower_bound for progress in seen]
    assert bounds == sorted(bounds)
    assert found.lower_bound == pytest.approx(bounds[-1], rel=1e-8)
    assert found.verify().ok
    assert found.certificate.resume(problem)[2]
    # Each open node of the proof counts once.
    assert seen[-1].n_open == len(found.certificate.resume(problem)[2])


def test_what_is_claimed_counts_nodes_that_are_away():
    """Also where there is no proof that tells of them."""
    problem, method = PROBLEMS["free"]
    client, bounds = Loopback(2), []

    def stop(progress):
        bounds.append(progress.lower_bound)
        return len(client.log) >= 6

    settings = {"client": client, "callback": stop, "proof_memory": 0}
    found = solve(problem, method=method, **settings)
    assert client.n_tasks > len(client.log)
    assert found.claim.bound == pytest.approx(bounds[-1], rel=1e-8)


def test_a_proof_that_is_too_long_is_not_kept():
    problem, method = PROBLEMS["free"]
    alone = solve(problem, method=method)
    client = Loopback(2)
    found = solve(problem, method=method, client=client, proof_memory=40_000)
    assert found.claim is not None
    assert found.claim.objective == pytest.approx(alone.objective, rel=1e-4)
    assert found.claim.gap <= 1e-4
    assert len(found.certificate.tree) == 0
    assert found.verify().ok
    assert any(answer.proof is None for _, answer in client.log)
    none = solve(problem, method=method, client=Loopback(2), proof_memory=0)
    assert none.claim.gap <= 1e-4


def start(problem, method):
    """A tree whose root is done, and how it is searched."""
    search = BranchAndBound(settings=method.settings)
    tree = search.initial_tree(problem)
    while not tree.is_rooted:
        search.step(tree, tree)
    return tree


def run(tree, client):
    with distributed.searches_on(client) as make_search:
        search = make_search(settings=tree.settings)
        tree, stop = iterate(search, tree, Watch())
        search.finish(tree)
    return tree, stop


class Finder(Loopback):
    """The first worker that answers has found a point."""

    point = None

    def _work(self, function, shared, task):
        found = pickle.loads(super()._work(function, shared, task))
        return pickle.dumps(replace(found, best=self.point or found.best))


def test_a_point_of_one_worker_prunes_what_others_have(monkeypatch):
    problem, method = PROBLEMS["free"]
    best = solve(problem, method=method).x
    monkeypatch.setattr(Tree, "update_incumbent", lambda *_: None)
    counts = []
    for is_shared in (True, False):
        tree = start(problem, method)
        good = fit_support(problem, np.flatnonzero(best))
        poor = fit_support(problem, np.flatnonzero(best)[1:])
        tree.keep(poor)
        client = Finder(2)
        client.point = good if is_shared else None
        tree, _ = run(tree, client)
        given = [task.best.objective for task, _ in client.log]
        assert given[0] == poor.objective
        # Those that were under way have not heard of it.
        assert all(value == good.objective for value in given[6:]) is is_shared
        # What workers are told, they make use of.
        pairs = [(task.best, answer.best) for task, answer in client.log]
        assert all(after.objective <= told.objective for told, after in pairs)
        counts.append(tree.n_nodes)
    assert counts[0] < 0.8 * counts[1]


class Outside(Loopback):
    """The first answer says that a point beyond dropped bounds is the best."""

    def _work(self, function, shared, task):
        found = pickle.loads(super()._work(function, shared, task))
        return pickle.dumps(replace(found, left_bounds=len(self.log) == 1))


def test_a_tree_that_begins_again():
    problem, method = PROBLEMS["clusters"]
    tree = start(problem, method)
    client = Outside(2)
    other, stop = run(tree, client)
    assert stop is Stop.GAP
    assert client.n_sent == 2
    assert other is not tree
    assert other.n_created == len(other.log)
    proved = other.certificate.lower_bound(problem)
    assert proved == pytest.approx(other.best.objective, rel=1e-4)
    # What is said is what the proof says: no pruned branch is forgotten.
    assert other.lower_bound == pytest.approx(proved, rel=1e-8)


def test_a_search_by_dropping_ends_all():
    """It goes on here while workers have branches, which are given up then."""
    problem = regression(40, 8, 1e6, rho=0.5, snr=0.5)
    dropping = DroppingSettings(first_steps=1, steps_per_node=100, slice_steps=500)
    method = Exact(SearchSettings(dropping=dropping))
    client = Loopback(2, patience=50)
    found = solve(problem, method=method, client=client)
    assert found.status is Status.OPTIMAL
    assert found.certificate.tree.kind.tolist() == [Kind.SEARCHED]
    assert client.n_tasks > len(client.log)
    assert found.verify().ok


def test_a_task_that_kills_is_not_sent_again():
    from distributed import KilledWorker

    class Deadly(Loopback):
        def _work(self, *_):
            raise KilledWorker("grow", SimpleNamespace(address="tcp://host"), 3)

    problem, method = PROBLEMS["free"]
    alone = solve(problem, method=method)
    client = Deadly(2)
    with pytest.warns(RuntimeWarning, match="goes on without the cluster"):
        assert_same(solve(problem, method=method, client=client), alone)
    # Not even after it has been decided what to branch on.
    assert client.n_tasks <= workers.TASKS_PER_THREAD * client.n_workers


@pytest.mark.parametrize("fault", [CancelledError, TimeoutError])
@pytest.mark.parametrize("is_cancelled", [True, False])
def test_answers_that_are_lost_on_the_way(fault, is_cancelled):
    """Their worker died after it was done."""
    futures = []

    class Lossy(Loopback):
        def _send(self, *args):
            future = super()._send(*args)
            if self.n_tasks % 3 == 0:
                future.fault, future.is_cancelled = fault(), is_cancelled
                futures.append(future)
            return future

    problem, method = PROBLEMS["free"]
    alone = solve(problem, method=method)
    assert_same(solve(problem, method=method, client=Lossy(2)), alone)
    assert len(futures) > 3
    assert any(future.fault is None for future in futures)


@pytest.mark.parametrize("error", [ZeroDivisionError, OSError])
def test_errors_of_workers_are_told(error):
    class Broken(Loopback):
        def _work(self, *_):
            raise error("a fault")

    problem, method = PROBLEMS["free"]
    with pytest.raises(error, match="a fault"):
        solve(problem, method=method, client=Broken(2))


def test_depth_first_where_many_nodes_are_open():
    problem, _ = PROBLEMS["free"]
    method = by_branching(max_open=20)
    client, most = Loopback(2), []
    found = solve(
        problem,
        method=method,
        client=client,
        callback=lambda progress: most.append(progress.n_open) and None,
    )
    assert found.status is Status.OPTIMAL
    assert found.verify().ok
    assert any(task.max_open == 0 for task, _ in client.log)
    wide = []
    solve(
        problem,
        method=by_branching(),
        client=Loopback(2),
        callback=lambda progress: wide.append(progress.n_open) and None,
    )
    assert max(most) < max(wide)


def test_what_workers_are_told():
    """Arrays that are read-only stay so, and nothing is sent that grows."""
    problem, method = PROBLEMS["minorant"]
    tree = start(problem, method)
    told = pickle.loads(pickle.dumps(SharedTree.of(tree))).tree
    assert (told.n_open, told.log, told.has_rule) == (0, None, True)
    assert not told.problem.c.flags.writeable
    assert not told.problem.rows.matrix.flags.writeable
    assert told.relaxation.unit.flags.writeable == tree.relaxation.unit.flags.writeable
    for name in ("problem", "original", "without_minorant", "uncut"):
        mine, theirs = (getattr(part.presolved, name) for part in (tree, told))
        assert mine.quadratic.diagonal.tobytes() == theirs.quadratic.diagonal.tobytes()
    assert tree.n_open == 1


def no_sum(n=12, total=7.0):
    """Numbers that are 0 or 2 cannot add up to an odd one: no node is feasible."""
    rng = np.random.default_rng(0)
    return SparseQP(
        np.eye(n),
        rng.standard_normal(n),
        eta=10.0,
        sparsity=n - 2,
        lower=2.0,
        upper=2.0,
        A_eq=np.ones((1, n)),
        b_eq=total,
    )


def test_infeasible_problems():
    client = Loopback(2)
    found = solve(no_sum(), method=by_branching(), client=client)
    assert (found.status, found.lower_bound) == (Status.INFEASIBLE, np.inf)
    assert found.verify().ok
    assert len(client.log) > 5
