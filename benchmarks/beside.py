"""Seconds of the processor of several versions of the library, side by side.

``python -m benchmarks.beside OLD/src src`` solves the instances of ``benchmarks.exact``
and ``benchmarks.constrained`` on one thread with each of the source trees named, one
process for each, in turns, and prints ratios to the first.  Each instance is solved
once and then ``--rounds`` times, of which the least counts; what takes longer than
``--once`` seconds, which should be more than the compilation of the library, is solved
once.  All versions read the instances from files that are written here, so that only
the library differs; those of more than ``--most`` variables are left out.  ``--only``
takes beginnings of names.  Check a version out with ``git worktree add OLD COMMIT``.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import cardqp

Make = Callable[[], cardqp.SparseQP]
Record = dict[str, Any]

WORKER = "--worker"

MISSING = {"status": "FAILED", "gap": float("nan"), "cpu": float("nan"), "nodes": 0}


def instances(seeds: int) -> dict[str, Make]:
    """All instances by name; those that are drawn at random with several seeds."""
    # Not for the workers, whose library may lack what these modules need.
    from benchmarks.constrained import random_instances, real_instances
    from benchmarks.instances import BEST_SUBSET, SQUARE, SYNTHETIC, UCI, WIDE

    has_data = "CARDQP_DATA" in os.environ
    fixed = BEST_SUBSET | WIDE if has_data else {}
    drawn = SYNTHETIC | (UCI if has_data else {}) | SQUARE
    found: dict[str, Make] = {
        f"{name} #{seed}": partial(make, seed)
        for name, make in drawn.items()
        for seed in range(seeds)
    }
    found |= {name: partial(make, 0) for name, make in fixed.items()}
    return found | random_instances() | (real_instances() if has_data else {})


def measure(problem: cardqp.SparseQP, limit: float) -> Record:
    """One solve."""
    start = time.process_time()
    solution = cardqp.solve(problem, method="exact", time_limit=limit)
    return {
        "cpu": time.process_time() - start,
        "status": solution.status.name,
        "gap": solution.gap,
        "nodes": solution.n_nodes,
    }


def work() -> None:
    """Solve what is asked for on the standard input, again and again."""
    problem = None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["is_new"]:
            problem = cardqp.SparseQP.load(asked["path"])
        assert problem is not None
        print(json.dumps(measure(problem, asked["limit"])), flush=True)


class Version:
    """A process that solves with the library of one source tree."""

    def __init__(self, source: Path) -> None:
        self.name = str(source)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.beside", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(source.resolve())},
        )

    def ask(self, **asked: Any) -> Record:
        """The record of one solve."""
        to, of = self._process.stdin, self._process.stdout
        assert to is not None
        assert of is not None
        try:
            to.write(json.dumps(asked) + "\n")
            to.flush()
            return dict(json.loads(of.readline()))
        except (OSError, ValueError):
            return MISSING

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()


def compare(
    path: Path, versions: list[Version], options: argparse.Namespace
) -> list[Record]:
    """The best record of each version."""
    ask = {"path": str(path), "limit": options.time_limit}
    best = [version.ask(**ask, is_new=True) for version in versions]
    for _ in range(options.rounds):
        # Compilation is in the first seconds only: what takes longer is not repeated.
        if max(record["cpu"] for record in best) > options.once:
            break
        for at, version in enumerate(versions):
            record = version.ask(**ask, is_new=False)
            if not best[at]["cpu"] <= record["cpu"]:
                best[at] = record
    return best


def write(options: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    """Names and files of the instances that are asked for, one at a time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "problem.npz")
        for name, make in instances(options.seeds).items():
            if name.startswith(tuple(options.only)):
                problem = make()
                if problem.n <= options.most:
                    problem.save(path)
                    yield name, path


def table(versions: list[Version], options: argparse.Namespace) -> Iterator[str]:
    """The rows, as they are measured, and means."""
    ratios: list[list[float]] = [[] for _ in versions]
    for name, path in write(options):
        records = compare(path, versions, options)
        cells = [
            f"{r['status'][:8]:8} {r['gap']:7.1e} {r['nodes']:8d} {r['cpu']:9.4f}"
            for r in records
        ]
        to_first = [r["cpu"] / records[0]["cpu"] for r in records]
        if all(record["status"] == "OPTIMAL" for record in records):
            for kept, ratio in zip(ratios, to_first, strict=True):
                kept.append(ratio)
        shown = " ".join(f"{ratio:6.3f}" for ratio in to_first[1:])
        yield f"{name:42} {' | '.join(cells)} | {shown}"
    for version, kept in zip(versions, ratios, strict=True):
        if kept:
            mean = geometric_mean(kept)
            yield f"{version.name}: {mean:.3f} of the first, {len(kept)} proved by all"


def parse_arguments() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="+", type=Path, help="folders named src")
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--once", type=float, default=25.0)
    parser.add_argument("--most", type=int, default=4000, help="variables")
    parser.add_argument("--time-limit", type=float, default=60.0)
    return parser.parse_args()


def main() -> None:
    """Run the table and print it as it grows."""
    if WORKER in sys.argv:
        work()
        return
    options = parse_arguments()
    versions = [Version(source) for source in options.sources]
    try:
        for row in table(versions, options):
            print(row, flush=True)
    finally:
        for version in versions:
            version.close()


if __name__ == "__main__":
    main()
