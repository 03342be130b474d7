"""All best subsets, beside R's package leaps.

``python -m benchmarks.leaps`` lists the best subsets of all sizes up to ``--sizes``
with :func:`cardqp.all_subsets`, on one thread, and has ``leaps::regsubsets`` do the
same by its exhaustive method.  It needs ``Rscript`` and the package (Debian:
``r-cran-leaps``), and the folder of the tables in the environment variable
``CARDQP_DATA``; without that, diabetes and random tables are searched.  Seconds are
those of the processor, without compilation; ``difference`` is the largest relative
difference of two sums of squares.  leaps is stopped at the time limit.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import cardqp
from benchmarks.instances import TABLES, standardised
from cardqp._typing import FloatArray
from cardqp.subsets.result import Subset

SCRIPT = Path(__file__).with_name("leaps.R")

Table = tuple[FloatArray, FloatArray]


def random_table(n: int, n_samples: int) -> Table:
    """Eight of n columns matter, as much as the noise; neighbours are correlated."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n))
    for j in range(1, n):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    signal = X[:, rng.choice(n, 8, replace=False)].sum(axis=1)
    return X, signal + signal.std() * rng.standard_normal(n_samples)


def tables() -> dict[str, Callable[[], Table]]:
    """The tables by name."""
    names = TABLES if "CARDQP_DATA" in os.environ else {"diabetes": TABLES["diabetes"]}
    return names | {
        "random 40": partial(random_table, 40, 500),
        "random 100": partial(random_table, 100, 1000),
        "random 300": partial(random_table, 300, 5000),
    }


def by_leaps(
    X: FloatArray, y: FloatArray, size: int, n_best: int, limit: float
) -> tuple[float, FloatArray] | str:
    """Seconds and sums of squares by size and rank; or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table")
        path.write_bytes(np.column_stack([X, y]).tobytes(order="F"))
        arguments = [str(path), *map(str, X.shape), str(size), str(n_best)]
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
    lines = done.stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("seconds"))
    rows = [list(map(float, line.split())) for line in lines[first + 1 :]]
    return float(lines[first].split()[1]), np.array(rows)


def by_cardqp(
    X: FloatArray, y: FloatArray, size: int, n_best: int, limit: float
) -> tuple[float, list[Subset]]:
    """Seconds of the second of two runs, and the subsets but for the null model."""
    for _ in range(2):
        start = time.process_time()
        found = cardqp.all_subsets(X, y, max_size=size, n_best=n_best, time_limit=limit)
        used = time.process_time() - start
    return used, [each for each in found if each.size > 0]


def row(name: str, size: int, options: argparse.Namespace) -> str:
    """A row of the table."""
    X, y = standardised(*tables()[name]())
    used, found = by_cardqp(X, y, size, options.n_best, options.time_limit)
    n_proved = sum(each.status == "OPTIMAL" for each in found)
    peer, ratio, off = by_leaps(X, y, size, options.n_best, options.time_limit), "", ""
    if not isinstance(peer, str):
        seconds, squares = peer
        ours = [each.rss / squares[each.size - 1, each.rank - 1] - 1 for each in found]
        off, ratio = f"{np.abs(ours).max():.0e}", f"{seconds / used:.0f}"
        peer = f"{seconds:.2f}"
    return (
        f"| {name} | {X.shape[1]} | {size} | {n_proved} of {len(found)} | {used:.3f} | "
        f"{peer} | {ratio} | {off} |"
    )


HEADER = (
    "| table | columns | sizes to | proved | cardqp s | leaps s | ratio | "
    "difference |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 8])
    parser.add_argument("--n-best", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    options = parser.parse_args()
    print(HEADER)
    for name in tables():
        if name.startswith(tuple(options.only)):
            for size in options.sizes:
                print(row(name, size, options), flush=True)


if __name__ == "__main__":
    main()
