"""One adapter in a subprocess of its environment, with a hard limit on its time."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.peers.adapters.exchange import REFUSED
from benchmarks.peers.environments import last_line

PREPARATION_LIMIT = 300.0
"""Seconds for imports, compilation and building a model, which are not timed."""

GRACE = 15.0
"""Seconds beyond the time limit before a solver that ignores it is killed."""

_THREADS = ("OPENBLAS", "OMP", "MKL", "NUMBA")


class AdapterError(RuntimeError):
    """An adapter crashed; the message is its last line."""


class RefusedError(RuntimeError):
    """A solver does not take the task; the message says why."""


class OverTimeError(RuntimeError):
    """An adapter was killed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a peer says about a task, in the units of the problem.

    Attributes
    ----------
    x : (n,) array
        Its point.
    bound : float
        Its lower bound; NaN if it gives none.
    claims_optimal : bool
        Whether it claims that the gap is within the tolerance.
    seconds : float
        The time of the solve alone.
    """

    x: np.ndarray
    bound: float
    claims_optimal: bool
    seconds: float


def run(
    python: Path, adapter: Path, folder: Path, units: float, time_limit: float
) -> Claim:
    """Run an adapter on ``task.npz`` in a folder.

    Raises
    ------
    RefusedError
        When its solver does not take the task.
    AdapterError
        When it crashes.
    OverTimeError
        When it is killed.
    """
    answer, marker, log = folder / "answer.npz", folder / "started", folder / "log"
    command = [python, adapter, folder / "task.npz", answer, marker]
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    variables |= {f"{library}_NUM_THREADS": "1" for library in _THREADS}
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=stderr, env=variables, cwd=folder
        )
        try:
            _wait(process, marker, time_limit)
        finally:
            process.kill()
            process.wait()
    if process.returncode == REFUSED:
        raise RefusedError(last_line(log.read_text()))
    if process.returncode:
        raise AdapterError(last_line(log.read_text()))
    with np.load(answer) as stored:
        return Claim(
            x=stored["x"],
            bound=float(stored["bound"]) / units,
            claims_optimal=bool(stored["claims_optimal"]),
            seconds=float(stored["seconds"]),
        )


def _wait(process: subprocess.Popen[bytes], marker: Path, time_limit: float) -> None:
    """Wait for the end of a process; its time limit counts from the marker."""
    deadline, has_started = time.monotonic() + PREPARATION_LIMIT, False
    while process.poll() is None:
        if not has_started and marker.exists():
            deadline, has_started = time.monotonic() + time_limit + GRACE, True
        if time.monotonic() > deadline:
            what = "solving" if has_started else "preparing"
            raise OverTimeError(f"killed while {what}")
        time.sleep(0.02)
