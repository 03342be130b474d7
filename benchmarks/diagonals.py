"""Diagonals taken out of covariance matrices, side by side with published ones.

``python -m benchmarks.diagonals`` bounds the mean-variance instances of Frangioni and
Gentile (s = 10, no ridge) at the root, with the diagonals that come with the data and
with those found here: the gap of each bound below the optimum, in percent.  The data
are read from the folder that the environment variable ``CARDQP_DATA`` names.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import time

import numpy as np

import cardqp
from benchmarks.portfolios import buy_in, published_diagonals
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.ascent import optimise_split, signed_start
from cardqp.splitting.diagonal import eigenvalue_shift, optimal_diagonal_shift

SPARSITY = 10
SAFE = 1.0 - 1e-7
"""Published diagonals are rounded: this share of them leaves a convex form."""


def root_bound(problem: cardqp.SparseQP) -> float:
    """The bound of the perspective relaxation."""
    relaxation = Relaxation.prepare(problem, is_reused=True)
    effort = Effort(1e-6 * float(problem.quadratic.diagonal.mean()), chunks=50)
    relaxed = relaxation.solve(problem.root, *relaxation.start(), effort)
    bound = tangent_bound(problem, relaxed.tangent_point, relaxed.beta)
    return bound.value(problem.root)


def bounds(problem: cardqp.SparseQP, best: float) -> dict[str, tuple[float, float]]:
    """Bounds by our own diagonals and splits, and the seconds that they took."""
    found = {}
    start = time.perf_counter()
    moved = eigenvalue_shift(problem, np.arange(problem.n))
    spared = problem.move_to_ridge(moved)
    seconds = time.perf_counter() - start
    found["least eigenvalue"] = root_bound(spared), seconds
    start = time.perf_counter()
    diagonal = optimal_diagonal_shift(spared, problem.root, abs(best))
    seconds = time.perf_counter() - start
    found["optimised"] = root_bound(spared.move_to_ridge(diagonal)), seconds
    start = time.perf_counter()
    split = optimise_split(spared, problem.root, signed_start(spared), best, abs(best))
    found["by signs"] = split.bound, time.perf_counter() - start
    return found


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[200, 300])
    options = parser.parse_args()
    for n in options.sizes:
        for which in range(10):
            problem = buy_in(n, which, SPARSITY, 0.0)
            best = cardqp.solve(problem, gap=1e-6, time_limit=60.0).objective
            rows = {
                name: root_bound(problem.move_to_ridge(SAFE * diagonal))
                for name, diagonal in published_diagonals(n, which).items()
            }
            text = [
                f"{name} {100 * (best - b) / best:6.2f}" for name, b in rows.items()
            ]
            for name, (bound, seconds) in bounds(problem, best).items():
                text.append(
                    f"{name} {100 * (best - bound) / best:6.2f} ({seconds:.2f} s)"
                )
            print(f"pard{n} {'abcdefghij'[which]}  " + "   ".join(text), flush=True)


if __name__ == "__main__":
    main()
