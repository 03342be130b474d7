"""A selector in a process of its own, with a limit on its time of the processor."""

import signal
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.selectors.choosers import Choose, Chosen, timed
from cardqp._typing import FloatArray


def within(
    limit: float, choose: Choose, X: FloatArray, y: FloatArray, size: int
) -> tuple[float, Chosen] | None:
    """Seconds and what is chosen, or None if the limit was reached first."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, limit, choose, X, y, size))
    process.start()
    # With this end closed, that of the process is the only one: reading ends with it.
    sender.close()
    try:
        answer: tuple[float, Chosen] = receiver.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGPROF:
            return None
        raise RuntimeError(f"a selector ended with code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    return answer


def _answer(
    sender: Connection,
    limit: float,
    choose: Choose,
    X: FloatArray,
    y: FloatArray,
    size: int,
) -> None:
    """Choose and send; the system ends the process when its time is up."""
    rng = np.random.default_rng(0)
    choose(rng.standard_normal((20, 4)), rng.standard_normal(20), 2)  # imports
    signal.setitimer(signal.ITIMER_PROF, limit)
    answer = timed(choose, X, y, size)
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    sender.send(answer)
