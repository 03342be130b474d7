"""Best subsets without a ridge, beside R's package leaps.

``python -m benchmarks.leaps`` solves the tables of best subset selection for one size,
hot and on one thread, and has ``leaps::regsubsets`` search all sizes up to that one by
its exhaustive method, as it always does; on standardised data, so that an intercept
changes nothing.  It needs ``Rscript`` and the package (Debian: ``r-cran-leaps``), and
the folder of the tables in the environment variable ``CARDQP_DATA``; without that, only
diabetes is solved.  Seconds are those of the processor; leaps is stopped at the time
limit.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import cardqp
from benchmarks.instances import TABLES, best_subset, standardised
from cardqp._typing import FloatArray

SCRIPT = Path(__file__).with_name("leaps.R")


def by_leaps(X: FloatArray, y: FloatArray, size: int, limit: float) -> str:
    """Seconds, and the mean squared error of the best subset; or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table")
        path.write_bytes(np.column_stack([X, y]).tobytes(order="F"))
        arguments = [str(path), *map(str, X.shape), str(size)]
        command = ["Rscript", "--vanilla", str(SCRIPT), *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, check=True
            )
        except subprocess.TimeoutExpired:
            return f"open after {limit:g} s"
        except subprocess.CalledProcessError as error:
            return f"refused: {' '.join(error.stderr.split())[:70]}"
    # It may have written of dependent columns before.
    seconds, squares = map(float, done.stdout.splitlines()[-1].split())
    return f"{seconds:9.2f} {squares / len(y):18.12f}"


def by_cardqp(name: str, size: int, limit: float) -> tuple[float, cardqp.Solution]:
    """Seconds of the second of two runs, and its solution."""
    problem = best_subset(TABLES[name], size, None)(0)
    for _ in range(2):
        start = time.process_time()
        solution = cardqp.solve(problem, time_limit=limit)
        used = time.process_time() - start
    return used, solution


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 8])
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    options = parser.parse_args()
    names = list(TABLES) if "CARDQP_DATA" in os.environ else ["diabetes"]
    print(
        f"{'table':20} {'s':>3} {'cardqp':>9} {'error':>18} {'leaps':>9} {'error':>18}"
    )
    for name in names:
        if not name.startswith(tuple(options.only)):
            continue
        X, y = standardised(*TABLES[name]())
        for size in options.sizes:
            used, solution = by_cardqp(name, size, options.time_limit)
            peer = by_leaps(X, y, size, options.time_limit)
            print(
                f"{name:20} {size:3} {solution.status.name:9} {used:9.3f} "
                f"{solution.objective:18.12f} {peer}",
                flush=True,
            )


if __name__ == "__main__":
    main()
