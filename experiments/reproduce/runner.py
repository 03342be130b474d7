"""Run studies: in parallel, with what is done kept, until all is done."""

import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cardqp.exceptions import BackendNotFoundError, DataError
from experiments.reproduce.config import Study
from experiments.reproduce.store import Store
from experiments.reproduce.work import Row, Task, run_task

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

ORPHAN_CHECK = 0.5
"""Seconds between two looks of a worker at whether its parent is alive."""


@dataclass(frozen=True)
class State:
    """How far a run has come.

    Attributes
    ----------
    study : str
        What is being run.
    n_done, n_tasks : int
        Tasks of all studies that are done, and all there are.
    seconds_left : float
        About how long the rest takes.
    """

    study: str
    n_done: int
    n_tasks: int
    seconds_left: float


Watcher = Callable[[State], None]


@dataclass(frozen=True)
class Missing:
    """Why a task could not be done: its data, or a package, cannot be had."""

    reason: str


def tasks_of(study: Study, data_dir: str | None) -> list[Task]:
    """All replications at all values; the first of each comes first."""
    return [
        Task(study, value, replication, data_dir)
        for replication in range(study.replications)
        for value in study.values
    ]


def run_studies(
    studies: Iterable[Study],
    folder: Path,
    *,
    jobs: int,
    data_dir: str | None = None,
    watcher: Watcher = lambda _: None,
    scheduler: str | None = None,
) -> dict[str, str]:
    """Do what is not done yet of some studies.

    Parameters
    ----------
    studies : iterable of Study
        What to run.
    folder : Path
        Where rows are kept.
    jobs : int
        Processes to run at a time, with one thread each.
    data_dir : str, optional
        Where real data are.
    watcher : callable
        Called with a :class:`State` after each task.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers do the tasks instead.

    Returns
    -------
    dict of str to str
        Studies that could not be run, and why.
    """
    stores = [Store(folder, study) for study in studies]
    open_tasks, n_tasks = [], 0
    for store in stores:
        store.repair()
        done, wanted = store.read(), tasks_of(store.study, data_dir)
        open_tasks += [(store, task) for task in wanted if task.key not in done]
        n_tasks += len(wanted)
    clock = _Clock(n_tasks - len(open_tasks), n_tasks)
    failed: dict[str, str] = {}
    with _pool(jobs) if scheduler is None else _cluster(scheduler) as (submit, size):
        for store, task, outcome in _stream(submit, open_tasks, size, failed):
            if isinstance(outcome, Missing):
                failed[store.study.name] = outcome.reason
            else:
                store.append(task, outcome)
            watcher(clock.tick(store.study.name))
    return failed


Submit = Callable[[Task], "Future[list[Row] | Missing]"]


def _stream(
    submit: Submit,
    open_tasks: list[tuple[Store, Task]],
    jobs: int,
    failed: dict[str, str],
) -> Iterator[tuple[Store, Task, list[Row] | Missing]]:
    """Results as they come in; not many more tasks are handed out than are at work."""
    running: dict[Future[list[Row] | Missing], tuple[Store, Task]] = {}
    waiting = iter(open_tasks)
    while True:
        while len(running) < 2 * jobs and (entry := next(waiting, None)) is not None:
            if entry[0].study.name not in failed:
                running[submit(entry[1])] = entry
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            store, task = running.pop(future)
            yield store, task, future.result()


@contextmanager
def _cluster(scheduler: str) -> Iterator[tuple[Submit, int]]:
    """Workers of a Dask cluster, and how many threads they have."""
    try:
        from distributed import Client
    except ImportError as err:
        raise BackendNotFoundError(
            "Clusters need Dask: install it with `pip install 'cardqp[dask]'`."
        ) from err
    with Client(scheduler) as client, TemporaryDirectory() as folder:
        # Workers have the package, but need not have the source.
        root = Path(__file__).parents[2]
        name = str(Path(folder) / "experiments")
        client.upload_file(shutil.make_archive(name, "zip", root, "experiments"))
        pool = client.get_executor(pure=False)
        size = sum(client.nthreads().values())
        yield lambda task: pool.submit(attempt, task), max(size, 1)


@contextmanager
def _pool(jobs: int) -> Iterator[tuple[Submit, int]]:
    """Processes with one thread each, which end when this one does."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _watch_parent, (os.getpid(),))
    try:
        yield lambda task: pool.submit(attempt, task), jobs
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def attempt(task: Task) -> list[Row] | Missing:
    """The rows of a task, or what it lacks."""
    try:
        return run_task(task)
    except (DataError, BackendNotFoundError) as err:
        return Missing(str(err))


def _watch_parent(parent: int) -> None:
    """End this process when its parent is gone, however that came about."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_CHECK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Clock:
    """Tells how long the rest will take, from how long tasks took so far."""

    def __init__(self, n_done: int, n_tasks: int) -> None:
        self.first = self.n_done = n_done
        self.n_tasks = n_tasks
        self.start = time.perf_counter()

    def tick(self, study: str) -> State:
        """Another task is done."""
        self.n_done += 1
        spent = time.perf_counter() - self.start
        left = spent / (self.n_done - self.first) * (self.n_tasks - self.n_done)
        return State(study, self.n_done, self.n_tasks, left)
