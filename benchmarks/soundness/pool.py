"""Problems in processes of their own."""

import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from benchmarks.soundness.cases import make_case
from benchmarks.soundness.records import Record
from benchmarks.soundness.trial import failed, record_of

Work = Callable[[int, int], Record]

AHEAD = 4
"""Problems that wait for each process."""

EVERY = 500
"""Problems after which the run says how far it is."""


def run_all(
    seed: int, numbers: Sequence[int], jobs: int, work: Work = record_of
) -> Iterator[Record]:
    """The records of problems, as they come; never in this process.

    The solver would take Ctrl-C for a wish to stop one solve, and might end the process
    it is in: what was under way is then run again, one by one.
    """
    left = dict.fromkeys(numbers)
    begun = time.perf_counter()
    while left:
        try:
            for record in _run_together(seed, list(left), jobs, work):
                del left[record["number"]]
                yield record
                _tell(len(numbers) - len(left), len(numbers), begun)
        except BrokenProcessPool:
            # Problems are begun in order.
            for number in list(left)[: AHEAD * jobs]:
                del left[number]
                yield _run_alone(seed, number, work)


def _run_together(
    seed: int, numbers: Sequence[int], jobs: int, work: Work
) -> Iterator[Record]:
    pool = _pool(jobs)
    waiting, pending = deque(numbers), set()
    try:
        while waiting or pending:
            while waiting and len(pending) < AHEAD * jobs:
                pending.add(pool.submit(work, seed, waiting.popleft()))
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _run_alone(seed: int, number: int, work: Work) -> Record:
    """The record of a problem that may end the process it is solved in."""
    with _pool(1) as pool:
        try:
            return pool.submit(work, seed, number).result()
        except BrokenProcessPool:
            return failed(make_case(seed, number), "the process died")


def _pool(jobs: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, context, initializer=_ignore_interrupts)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tell(count: int, total: int, begun: float) -> None:
    if count % EVERY == 0:
        seconds = time.perf_counter() - begun
        print(f"{count} of {total} after {seconds:.0f} s", file=sys.stderr, flush=True)
