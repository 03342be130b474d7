"""Certified cross-validation beside a plain ridge.

``python -m benchmarks.cross_validation`` takes the Superconductivity data (21,263 rows,
81 features; the folder is named by ``CARDQP_DATA``), runs scikit-learn's grid search
over 20 ridges with 10 folds, and ``SparseRidgeCV`` over 1 to 20 features with the same
folds, every model proved optimal within 1e-4.  It prints both times, taken in turn in
one process, and their ratio.
"""

import argparse
import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold

import cardqp
from experiments.datasets import load_uci

SIZES = range(1, 21)


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, list[float]]:
    """The last result of some work, and the seconds of each repetition."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return result, seconds


def main(argv: Sequence[str] | None = None) -> None:
    """Run both and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="superconductivity", help="a UCI data set")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    table = load_uci(options.data)
    folds = KFold(options.folds, shuffle=True, random_state=0)
    grid = {"alpha": np.logspace(-3, 3, len(SIZES))}
    plain = GridSearchCV(Ridge(), grid, cv=folds)
    settings = {"eta": 20.0, "standardize": True, "prove": "all", "time_limit": None}
    sparse = cardqp.SparseRidgeCV(SIZES, cv=folds, **settings)
    cardqp.SparseRidge(5).fit(table.X[:200], table.y[:200])  # compiles
    _, ridge = timed(lambda: plain.fit(table.X, table.y), options.repeats)
    model, ours = timed(lambda: sparse.fit(table.X, table.y), options.repeats)
    found = model.cv_results_
    print(f"{table.name}: {len(table.y)} rows, {table.X.shape[1]} features")
    print(f"models            {len(SIZES)} x {options.folds} folds")
    print(f"ridge             {min(ridge):.2f} s")
    print(f"SparseRidgeCV     {min(ours):.2f} s")
    print(f"ratio             {min(ours) / min(ridge):.1f}")
    print(f"largest gap       {found['largest_gap'].max():.1e}")
    print(f"chosen            {model.n_nonzero_coefs_} features")
    best = found["mean_error"].min()
    print(f"error             {best:.2f} (variance {table.y.var():.2f})")


if __name__ == "__main__":
    main()
