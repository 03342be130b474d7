"""One peer on one problem with rows and bounds, and what its answer is worth."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peers.environments import NotInstallableError, Peer, interpreter
from benchmarks.peers.referee import TOLERANCE, Verdict, judge
from benchmarks.peers.runner import AdapterError, OverTimeError, RefusedError, run
from benchmarks.peers.tasks import Reference
from cardqp import SparseQP


def save_task(path: Path, problem: SparseQP, objective: float, limit: float) -> None:
    """Write a problem for ``adapters/programs.py``."""
    problem.save(path)
    with np.load(path) as file:
        data = dict(file)
    data |= {"objective": objective, "tolerance": TOLERANCE, "time_limit": limit}
    np.savez(path, **data)


def measure_peer(
    peer: Peer, problem: SparseQP, ours: Reference, limit: float, home: Path
) -> Verdict:
    """A peer's verdict; where it gives no answer, the status says why."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_task(folder / "task.npz", problem, ours.objective, limit)
        try:
            claim = run(interpreter(peer, home), peer.adapter, folder, 1.0, limit)
        except RefusedError as error:
            return Verdict(str(error))
        except OverTimeError:
            return Verdict("open", limit)
        except AdapterError as error:
            return Verdict(f"failed: {error}")
        except NotInstallableError as error:
            return Verdict(f"not installable: {error}")
    return judge(problem, ours, claim, limit)
