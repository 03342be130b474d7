"""Trees whose subtrees are grown by a real cluster of several processes.

Nothing here depends on how fast it is: workers are waited for, and what happens in the
middle of a search is made to happen by its callback, once workers have answered.
"""

import os
import signal
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from cardqp import SparseQP, Status, Stop, _iterate, solve
from cardqp.branch_and_bound.distributed import search as distributed
from cardqp.branch_and_bound.distributed import workers
from cardqp.exceptions import BackendNotFoundError, ParameterError
from tests.branch_and_bound.test_distributed import PROBLEMS, assert_same
from tests.pipeline.test_cluster import wide_data
from tests.streamed import exact

AFTER = 300
"""More nodes than are processed before workers have answered."""


def cluster(n_workers):
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        memory_limit=None,
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def client():
    from distributed import Client

    with cluster(2) as found, Client(found, timeout=300) as client:
        yield client


@pytest.fixture(autouse=True)
def by_workers(monkeypatch):
    """Trees are handed out from the start, in small pieces, and answers waited for."""
    monkeypatch.setattr(distributed, "LOCAL_SECONDS", 0.0)
    monkeypatch.setattr(distributed, "TASK_NODES", 50)
    monkeypatch.setattr(workers, "QUIET", np.inf)
    monkeypatch.setattr(workers, "STUCK", np.inf)
    monkeypatch.setattr(workers, "PATIENCE", 300.0)


def assert_counted_once(found):
    """Each node that was processed is in the proof, once."""
    # The presolve counts as a node.
    assert found.n_nodes <= len(found.certificate.tree) + 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["penalty", "clusters", "minorant"])
def test_the_same_answer(client, kind):
    problem, method = PROBLEMS[kind]
    alone = solve(problem, method=method, time_limit=None)
    assert_same(solve(problem, method=method, client=client, time_limit=None), alone)


@pytest.mark.slow
def test_nothing_is_left_on_the_cluster(client):
    problem, method = PROBLEMS["penalty"]
    solve(problem, method=method, client=client, node_limit=AFTER, time_limit=None)

    def n_tasks(dask_scheduler):
        return len(dask_scheduler.tasks)

    # Cancelled tasks end when they end.
    until = time.monotonic() + 300.0
    while client.run_on_scheduler(n_tasks) > 0 and time.monotonic() < until:
        time.sleep(0.1)
    assert client.run_on_scheduler(n_tasks) == 0
    assert not client.futures


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_worker_that_is_killed_changes_nothing(n_workers):
    """Not even the only one, with all that was sent to it."""
    from distributed import Client

    problem, method = PROBLEMS["penalty"]
    alone = solve(problem, method=method, time_limit=None)
    with cluster(n_workers) as found, Client(found, timeout=300) as client:
        victims = list(client.run(os.getpid).values())[:1]

        def kill(progress):
            if progress.n_iter >= AFTER and victims:
                os.kill(victims.pop(), signal.SIGKILL)

        settings = {"method": method, "client": client, "callback": kill}
        together = solve(problem, **settings, time_limit=None)
    assert not victims
    assert_same(together, alone)
    assert_counted_once(together)


@pytest.fixture(scope="module")
def searched(client):
    """A problem, and how it is searched on the cluster."""
    problem, method = PROBLEMS["penalty"]
    return problem, {"method": method, "client": client}


def assert_kept(found, seen):
    """What had been proved stands, and can be proved again."""
    assert found.status is Status.FEASIBLE
    assert found.n_nodes >= AFTER
    assert -np.inf < found.lower_bound < found.objective
    last = seen[-1].lower_bound
    assert found.lower_bound >= last - 1e-8 * abs(last)
    assert found.verify().ok
    assert_counted_once(found)
    bounds = [progress.lower_bound for progress in seen]
    assert bounds == sorted(bounds)


@pytest.mark.slow
def test_the_time_limit_keeps_what_was_proved(searched, monkeypatch):
    problem, settings = searched
    late, seen = [0.0], []
    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + late[0])
    monkeypatch.setattr(_iterate, "time", clock)

    def wait(progress):
        seen.append(progress)
        late[0] = 1e6 if progress.n_iter >= AFTER else 0.0

    found = solve(problem, **settings, callback=wait, time_limit=1e5)
    assert found.stop is Stop.TIME_LIMIT
    assert_kept(found, seen)


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_proved(searched):
    problem, settings = searched
    seen = []

    def press(progress):
        seen.append(progress)
        if progress.n_iter >= AFTER:
            signal.raise_signal(signal.SIGINT)

    found = solve(problem, **settings, callback=press, time_limit=None)
    assert found.stop is Stop.INTERRUPTED
    assert_kept(found, seen)
    limit = found.n_nodes + AFTER
    again = solve(problem, **settings, resume=found, node_limit=limit, time_limit=None)
    assert (again.stop, again.n_nodes) == (Stop.NODE_LIMIT, limit)
    assert again.lower_bound >= found.lower_bound - 1e-9 * abs(found.lower_bound)
    assert again.verify().ok


@pytest.mark.slow
def test_small_problems_never_leave(client, monkeypatch):
    monkeypatch.setattr(distributed, "LOCAL_SECONDS", np.inf)
    monkeypatch.setattr(workers.Workers, "tell", None)
    problem, method = PROBLEMS["penalty"]
    assert solve(problem, method=method, client=client).status is Status.OPTIMAL


@pytest.mark.slow
def test_what_does_not_fit_is_refused(client):
    from distributed import Client

    problem, _ = PROBLEMS["penalty"]
    other = Client(client.scheduler.address, timeout=300)
    other.close()
    for value, settings, message in (
        ("tcp://host:8786", {}, "`client` must be a Client"),
        (other, {}, "`client` must be open and not asynchronous: it is closed"),
        (client, {"backend": "scip"}, "`client` must be None with a `backend`"),
    ):
        with pytest.raises(ParameterError, match=message):
            solve(problem, client=value, **settings)
    X, y = wide_data()
    streamed = SparseQP.from_data(X, y, eta=5.0, sparsity=2)
    with pytest.raises(ParameterError, match="`client` is not for problems that are"):
        solve(streamed, method=exact(), client=client)


def test_without_distributed(monkeypatch):
    problem, _ = PROBLEMS["penalty"]
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(BackendNotFoundError, match=r"need Dask: .*cardqp\[dask\]"):
        solve(problem, client="tcp://host:8786")


@pytest.mark.slow
def test_a_client_that_is_closed_in_between(client):
    """The search goes on here, and says so."""
    from distributed import Client

    problem, method = PROBLEMS["penalty"]
    alone = solve(problem, method=method, time_limit=None)
    other = Client(client.scheduler.address, timeout=300)

    def close(progress):
        if progress.n_iter >= AFTER and other.status == "running":
            other.close()

    settings = {"method": method, "client": other, "callback": close}
    with pytest.warns(RuntimeWarning, match="goes on without the cluster: the cl"):
        together = solve(problem, **settings, time_limit=None)
    assert_same(together, alone)
