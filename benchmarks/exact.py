"""Time to a proven optimum, as a multiple of one eigenvalue decomposition.

``python -m benchmarks.exact`` solves each instance with ``method="exact"`` on one
thread, from ``(Q, c)`` to a gap of 1e-4, all stages included, and divides by the time
of one full ``scipy.linalg.eigh(Q)`` measured in the same run, up to 3000 variables.
``CPU s`` are seconds of the processor.  ``--only`` takes names of instances, or the
beginning of names; large instances (``square``) are solved only if it does.  Real data
sets, for the paper's problems and for best subset selection, are included when the
environment variable ``CARDQP_DATA`` names their folder.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import time

import numpy as np
import scipy.linalg

import cardqp
from benchmarks.instances import (
    BEST_SUBSET,
    SQUARE,
    SYNTHETIC,
    UCI,
    WIDE,
    synthetic,
)
from cardqp.branch_and_bound.precompile import (
    load_dropping,
    load_kernels,
    load_tree_kernels,
)

MOST_DECOMPOSED = 3000


def measure(name: str, seed: int, problem: cardqp.SparseQP, limit: float) -> None:
    """Print one row."""
    start, unit = time.perf_counter(), np.nan
    if problem.n <= MOST_DECOMPOSED:
        scipy.linalg.eigh(problem.Q)
        unit = time.perf_counter() - start
    start, started = time.perf_counter(), time.process_time()
    solution = cardqp.solve(problem, method="exact", time_limit=limit)
    seconds, used = time.perf_counter() - start, time.process_time() - started
    print(
        f"{name:34} {seed:4d} {solution.status.name:9} {solution.gap:9.1e} "
        f"{solution.n_nodes:8d} {seconds:8.3f} {used:8.3f} {unit:8.3f} "
        f"{seconds / unit:8.2f}",
        flush=True,
    )


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", help="beginnings of names")
    options = parser.parse_args()
    real = UCI | BEST_SUBSET | WIDE if "CARDQP_DATA" in os.environ else {}
    instances = SYNTHETIC | real | (SQUARE if options.only else {})
    load_kernels()
    load_tree_kernels()
    load_dropping()
    cardqp.solve(synthetic(n=60, N=60, sparsity=3)(0))  # imports
    print(
        f"{'instance':34} {'seed':>4} {'status':9} {'gap':>9} {'nodes':>8} "
        f"{'seconds':>8} {'CPU s':>8} {'eigh':>8} {'x eigh':>8}"
    )
    for name, make in instances.items():
        if not options.only or name.startswith(tuple(options.only)):
            # These are not drawn at random: one seed is as good as many.
            is_fixed = name in BEST_SUBSET | WIDE
            for seed in range(1 if is_fixed else options.seeds):
                measure(name, seed, make(seed), options.time_limit)


if __name__ == "__main__":
    main()
