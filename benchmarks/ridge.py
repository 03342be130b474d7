"""Which ridge predicts best, finds the truth, and is still proved in time.

``python -m benchmarks.ridge`` fits ``SparseRidge`` with a ridge of a twentieth of each
feature's variance, with ridges that are 10, 100 and 1000 times weaker, with none, and
with one that is the number of features that are chosen over that of rows.  Synthetic
rows are those of :func:`cardqp.datasets.make_regression`, with every combination of
correlation, signal-to-noise ratio, features and samples, and as many features as there
are in truth; the error is the expected squared one, over the variance of the noise.
Tables of UCI are split at random, with all of the training rows and with few; the error
is that on other rows, over the variance of the target.  They are included when the
environment variable ``CARDQP_DATA`` names their folder.

Each line is a group of fits.  ``error`` is the geometric mean, ``F1`` the mean of that
of the features that were found, ``proved`` the share with a gap of 1e-4 within the
limit, ``CPU s`` the mean time; both are times of the processor.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cardqp import Progress, SparseRidge
from cardqp._typing import FloatArray
from cardqp.datasets import make_regression
from experiments.datasets import load_uci

RIDGES: dict[str, Callable[[int], float | None]] = {
    "1/20": lambda _: 20.0,
    "1/200": lambda _: 200.0,
    "1/2000": lambda _: 2e3,
    "1/20000": lambda _: 2e4,
    "none": lambda _: None,
    "s/N": lambda n_samples: n_samples / SIZE,
}
"""The values of ``eta``, for a number of rows."""

CORRELATIONS, RATIOS = (0.0, 0.5, 0.9), (0.5, 1.0, 3.0, 6.0)
FEATURES, SAMPLES = (50, 200, 500), (100, 500, 2000)
TABLES = ("crime", "superconductivity", "online-news", "facebook")
FEW = 200
"""Training rows where there are to be few."""

SIZE = 10
"""The number of features that are chosen."""


class Case(NamedTuple):
    """Rows to fit a model to, and how to judge it.

    Attributes
    ----------
    groups : tuple of str
        The lines of the table that it counts in.
    X, y : arrays
        The rows.
    judge : callable
        The error of a fitted model, and the F1 of its features, NaN if unknown.
    """

    groups: tuple[str, ...]
    X: FloatArray
    y: FloatArray
    judge: Callable[[SparseRidge], tuple[float, float]]


class Outcome(NamedTuple):
    """What became of one fit."""

    group: str
    ridge: str
    error: float
    f1: float
    is_proved: bool
    seconds: float


def expected_error(
    truth: FloatArray, rho: float, snr: float
) -> Callable[[FloatArray, float], float]:
    """The expected squared error of a model of synthetic rows, in that of the truth."""
    places = np.arange(len(truth))
    covariance = rho ** np.abs(np.subtract.outer(places, places))
    noise = float(truth @ covariance @ truth) / snr

    def error(coef: FloatArray, intercept: float) -> float:
        off = coef - truth
        return 1.0 + (float(off @ covariance @ off) + intercept**2) / noise

    return error


def synthetic(rho: float, snr: float, n: int, N: int, seed: int) -> Case:
    """Rows of a known truth."""
    data = make_regression(N, n, sparsity=SIZE, correlation=rho, snr=snr, seed=seed)
    error = expected_error(data.coefficients, rho, snr)

    def judge(model: SparseRidge) -> tuple[float, float]:
        hits = len(np.intersect1d(model.support_, data.support))
        return error(model.coef_, model.intercept_), hits / SIZE

    groups = ("synthetic", f"  rho {rho:g}", f"  SNR {snr:g}", f"  n {n}", f"  N {N}")
    return Case(groups, data.X, data.y, judge)


def split(name: str, seed: int, n_train: int | None) -> Case:
    """A table, of which some rows are for training and others for the test."""
    table = load_uci(name)
    y = np.log(table.y) if name == "online-news" else table.y
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = len(y) // 3
    test, rest = order[:n_test], order[n_test:]
    train = rest if n_train is None else rest[:n_train]

    def judge(model: SparseRidge) -> tuple[float, float]:
        error = np.mean((y[test] - model.predict(table.X[test])) ** 2)
        return float(error / y[test].var()), np.nan

    rows = "all rows" if n_train is None else f"{n_train} rows"
    groups = (f"tables, {rows}", f"  {name}, {rows}")
    return Case(groups, table.X[train], y[train], judge)


def cases(seeds: int) -> Iterator[Case]:
    """All of them, made when they are needed."""
    for seed in range(seeds):
        grid = itertools.product(CORRELATIONS, RATIOS, FEATURES, SAMPLES)
        for rho, snr, n, N in grid:
            yield synthetic(rho, snr, n, N, seed)
        if "CARDQP_DATA" in os.environ:
            for name, n_train in itertools.product(TABLES, (None, FEW)):
                yield split(name, seed, n_train)


def fit(case: Case, ridge: str, limit: float) -> list[Outcome]:
    """Fit one model, and judge it in every group of the case."""
    eta = RIDGES[ridge](len(case.y))
    model = SparseRidge(SIZE, eta=eta, standardize=True, time_limit=None)
    start = time.process_time()

    def is_over(_: Progress) -> bool:
        return time.process_time() - start > limit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(case.X, case.y, callback=is_over)
    seconds = time.process_time() - start
    is_proved = model.status_ == "OPTIMAL"
    return [
        Outcome(group, ridge, *case.judge(model), is_proved, seconds)
        for group in case.groups
    ]


def show(outcomes: list[Outcome]) -> None:
    """Print a line for each group and ridge."""
    print(f"{'':30} {'ridge':8} {'error':>8} {'F1':>6} {'proved':>7} {'CPU s':>7}")
    for group in dict.fromkeys(outcome.group for outcome in outcomes):
        for ridge in RIDGES:
            some = [o for o in outcomes if (o.group, o.ridge) == (group, ridge)]
            error = np.exp(np.mean([np.log(o.error) for o in some]))
            f1, proved, seconds = np.mean(
                [(o.f1, o.is_proved, o.seconds) for o in some], axis=0
            )
            print(
                f"{group:30} {ridge:8} {error:8.4f} {f1:6.3f} {proved:7.3f} "
                f"{seconds:7.3f}"
            )


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1.0, help="seconds of each fit")
    options = parser.parse_args()
    outcomes = []
    for case in cases(options.seeds):
        for ridge in RIDGES:
            outcomes += fit(case, ridge, options.limit)
    show(outcomes)


if __name__ == "__main__":
    main()
