"""Time to a proven optimum of problems with rows, bounds and thresholds.

``python -m benchmarks.constrained`` solves portfolios and index tracking on one thread
to a gap of 1e-4, hot, all stages included.  The data are read from the folder that the
environment variable ``CARDQP_DATA`` names; without it only random factor models are
solved.  With ``--scip`` each problem is also solved by SCIP, in a virtual environment
of its own and with the same limits; its objective is that of the best point on the
support it found.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import cardqp
from benchmarks.peers.environments import WITH_ROWS, interpreter
from benchmarks.peers.runner import AdapterError, OverTimeError, run
from benchmarks.portfolios import buy_in, factor_model, index_tracking, or_library
from cardqp.convex.support_qp import fit_support
from cardqp.exact.warm_up import load_kernels, load_tree_kernels

Instances = dict[str, Callable[[], cardqp.SparseQP]]


def random_instances() -> Instances:
    """Random factor models by name."""
    return {
        f"factors n {n} eta {scale:g} seed {seed}": partial(
            factor_model, n, 10, scale * n**-0.5, seed
        )
        for n in (200, 400)
        for scale in (1e2, 1e4)
        for seed in range(3)
    }


def real_instances() -> Instances:
    """Instances from files by name."""
    instances: Instances = {}
    for n in (200, 300):
        for sparsity in (6, 8, 10, 12):
            for ridge, text in ((1000.0 / n, "ridge"), (0.0, "no ridge")):
                for which in range(10):
                    name = f"pard{n} s {sparsity} {text} {'abcdefghij'[which]}"
                    instances[name] = partial(buy_in, n, which, sparsity, ridge)
    for which in (1, 2, 3):
        for sparsity in (5, 10, 20):
            for with_return in (False, True):
                name = f"port{which} s {sparsity}{' return' if with_return else ''}"
                instances[name] = partial(
                    or_library, which, sparsity, with_return=with_return
                )
        instances[f"indtrack{which}"] = partial(index_tracking, which, 10)
    return instances


GAP = 1e-4
"""The relative gap of a proof."""


def measure(problem: cardqp.SparseQP, limit: float) -> tuple[str, cardqp.Solution]:
    """Solve a problem; what to print about it, and the solution."""
    start = time.perf_counter()
    solution = cardqp.solve(problem, gap=GAP, time_limit=limit)
    seconds = time.perf_counter() - start
    text = (
        f"{solution.status.name:10} {solution.objective:12.6g} {solution.gap:9.1e} "
        f"{solution.n_nodes:8d} {seconds:8.3f}"
    )
    return text, solution


def measure_scip(
    problem: cardqp.SparseQP, best: cardqp.Solution, limit: float, home: Path
) -> str:
    """What to print about SCIP on the same problem."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        problem.save(folder / "problem.npz")
        with np.load(folder / "problem.npz") as file:
            data = dict(file)
        data |= {"objective": best.objective, "tolerance": GAP, "time_limit": limit}
        np.savez(folder / "task.npz", **data)
        try:
            claim = run(
                interpreter(WITH_ROWS, home), WITH_ROWS.adapter, folder, 1.0, limit
            )
        except (AdapterError, OverTimeError) as error:
            return f"scip: {error}"
    # Its point may break rows by its tolerance: what counts is its support.
    found = fit_support(problem, np.flatnonzero(claim.x)).objective
    gap = max(found - claim.bound, 0.0) / abs(found)
    status = "proved" if claim.claims_optimal else "open"
    return f"scip {status:6} {found:12.6g} {gap:9.1e} {claim.seconds:8.3f}"


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--scip", action="store_true", help="SCIP side by side")
    parser.add_argument("--environments", type=Path, default=Path(".peers"))
    options = parser.parse_args()
    instances = random_instances()
    if "CARDQP_DATA" in os.environ:
        instances |= real_instances()
    load_kernels(has_rows=True)
    load_tree_kernels(has_rows=True, is_free=False)
    print(
        f"{'instance':30} {'status':10} {'objective':>12} {'gap':>9} {'nodes':>8} "
        f"{'seconds':>8}"
    )
    for name, make in instances.items():
        if not name.startswith(tuple(options.only)):
            continue
        problem, limit = make(), options.time_limit
        text, solution = measure(problem, limit)
        if options.scip:
            other = measure_scip(problem, solution, limit, options.environments)
            text = f"{text} | {other}"
        print(f"{name:30} {text}", flush=True)


if __name__ == "__main__":
    main()
