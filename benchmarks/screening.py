"""The paper's synthetic screening experiment.

``python -m benchmarks.screening`` draws n = N = 1000 data with s = 10, SNR 6 and
eta = 10, screens at level k = 400 with the paper's constants and prints, for each
correlation and seed: how many candidates each method leaves, how many of the 10 true
indices they miss, and the time as a multiple of one full ``scipy.linalg.eigh(Q)``.
"""

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy.linalg

import cardqp
from cardqp.datasets import make_regression

LEVEL, SPARSITY, ETA, SNR = 400, 10, 10.0, 6.0
REPEATS = 3

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result of some work and the least time it took."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def run(correlation: float, seed: int) -> tuple[cardqp.Screening, ...]:
    """Print one row of the table and return both screenings."""
    data = make_regression(
        sparsity=SPARSITY, correlation=correlation, snr=SNR, seed=seed
    )
    problem = cardqp.SparseQP.from_regression(
        data.X, data.y, eta=ETA, sparsity=SPARSITY
    )
    _, unit = timed(lambda: scipy.linalg.eigh(problem.Q))
    spectrum = cardqp.spectrum(problem)
    spectrum.level(LEVEL)
    response, response_time = timed(
        lambda: cardqp.best_response(
            problem, LEVEL, spectrum=spectrum, max_iter=20, window=6
        )
    )
    program, program_time = timed(
        lambda: cardqp.dual_program(
            problem,
            LEVEL,
            spectrum=spectrum,
            max_iter=500,
            window=50,
            step_size=4e-3,
            early_stop=False,
        )
    )
    cells = [f"{correlation:5.2f} {seed:5d} {unit:8.3f}"]
    for found, seconds in ((response, response_time), (program, program_time)):
        missed = len(np.setdiff1d(data.support, found.candidates))
        cells.append(f"{len(found.candidates):6d} {missed:7d} {seconds / unit:8.3f}")
    print("   |".join(cells))
    return response, program


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.5, 0.9])
    options = parser.parse_args()
    columns = f"{'size':>6} {'missed':>7} {'x eigh':>8}"
    print(f"{'':20}   |{'best response':>23}   |{'dual program':>23}")
    print(f"{'rho':>5} {'seed':>5} {'eigh (s)':>8}   |{columns}   |{columns}")
    for correlation in options.correlations:
        for seed in range(options.seeds):
            run(correlation, seed)


if __name__ == "__main__":
    main()
