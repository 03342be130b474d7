"""The instances of the exact benchmarks, by name."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cardqp import SparseQP
from cardqp._typing import FloatArray
from cardqp.datasets import make_regression
from experiments.datasets import load_uci

Maker = Callable[[int], SparseQP]


def synthetic(
    n: int = 1000,
    N: int = 1000,
    sparsity: int = 10,
    rho: float = 0.5,
    snr: float = 6.0,
    eta: float = 10.0,
) -> Maker:
    """The paper's synthetic regression, by seed."""

    def make(seed: int) -> SparseQP:
        data = make_regression(
            N, n, sparsity=sparsity, correlation=rho, snr=snr, seed=seed
        )
        return SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=sparsity)

    return make


SYNTHETIC: dict[str, Maker] = {
    **{f"rho {rho}": synthetic(rho=rho) for rho in (0.5, 0.7, 0.8, 0.9)},
    **{f"eta {eta:g}": synthetic(eta=eta) for eta in (1e-3, 1e-2, 0.1, 1.0)},
    "eta 100": synthetic(eta=100.0),
    "eta 100, rho .9": synthetic(eta=100.0, rho=0.9),
    "rho .9, SNR 1": synthetic(rho=0.9, snr=1.0),
    **{f"s {s}": synthetic(sparsity=s) for s in (20, 30, 40)},
    **{f"SNR {snr:g}": synthetic(snr=snr) for snr in (3.0, 20.0)},
    "eta 1000, rho .9": synthetic(eta=1000.0, rho=0.9),
    "N 100": synthetic(N=100),
    "SNR .05": synthetic(snr=0.05),
    "rho .9, SNR 1, eta 100": synthetic(rho=0.9, snr=1.0, eta=100.0),
    "n 3000, N 500": synthetic(n=3000, N=500),
    "n 3000, N 500, rho .9": synthetic(n=3000, N=500, rho=0.9),
    "n 3000, N 500, SNR 5, eta 50": synthetic(n=3000, N=500, snr=5.0, eta=50.0),
    **{
        f"n 3000, N 500, SNR 5, eta 50, rho {rho}": synthetic(
            n=3000, N=500, snr=5.0, eta=50.0, rho=rho
        )
        for rho in (0.1, 0.9)
    },
}


def square(p: int, box: float = np.inf) -> Maker:
    """As many rows as columns, a ridge of 1 on the sum of squares, by seed.

    Coefficients of 1 at even distances, correlation .9 between neighbours, SNR 5, and
    bounds on all variables.
    """

    def make(seed: int) -> SparseQP:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((p, p))
        for j in range(1, p):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1.0 - 0.9**2) * X[:, j]
        signal = X[:, p // 20 :: p // 10].sum(axis=1)
        y = signal + rng.standard_normal(p) * np.sqrt(signal.var() / 5.0)
        return SparseQP.from_regression(
            X, y, eta=float(p), sparsity=10, lower=-box, upper=box
        )

    return make


SQUARE_SIZES = (1000, 2000, 4000, 8000, 16000)

SQUARE: dict[str, Maker] = {
    **{f"square {p}": square(p) for p in SQUARE_SIZES},
    **{f"square {p}, box": square(p, 2.0) for p in SQUARE_SIZES},
}
"""Large: they are solved only if asked for by name.  The largest ran within 24 GB."""


def uci(name: str) -> Maker:
    """A UCI table by the paper's convention: 70 % of the rows, eta = sqrt(N)."""

    def make(seed: int) -> SparseQP:
        rows = load_uci(name).split(seed)
        eta = np.sqrt(len(rows.y_train))
        return SparseQP.from_regression(
            rows.X_train, rows.y_train, eta=eta, sparsity=10
        )

    return make


UCI: dict[str, Maker] = {
    "superconductivity": uci("superconductivity"),
    "online news": uci("online-news"),
    "crime": uci("crime"),
    "facebook": uci("facebook"),
    "UJIndoor": uci("ujindoor"),
}


def squares_and_products() -> tuple[FloatArray, FloatArray]:
    """Diabetes (Efron et al. 2004) with all squares and products, but that of sex."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    X = X / X.std(axis=0)
    sex = 1
    pairs = [(i, j) for i in range(10) for j in range(i, 10) if not i == j == sex]
    products = [X[:, i] * X[:, j] for i, j in pairs]
    return np.column_stack([X, *products]), y


def table(name: str) -> Callable[[], tuple[FloatArray, FloatArray]]:
    """All rows of a UCI table; online news in logarithms, as is usual."""

    def load() -> tuple[FloatArray, FloatArray]:
        rows = load_uci(name)
        return rows.X, np.log(rows.y) if name == "online-news" else rows.y

    return load


def standardised(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Features and response of mean zero and variance one, without constants."""
    X = X - X.mean(axis=0)
    X, y = X[:, X.any(axis=0)], y - y.mean()
    return X / X.std(axis=0), y / y.std()


def best_subset(
    load: Callable[[], tuple[FloatArray, FloatArray]], sparsity: int, eta: float | None
) -> Maker:
    """Best subset selection: features of variance one, next to no ridge or none."""

    def make(_: int) -> SparseQP:
        X, y = standardised(*load())
        Q, c = X.T @ X / len(y), -2.0 * (X.T @ y) / len(y)
        return SparseQP(Q, c, eta=eta, sparsity=sparsity, constant=y @ y / len(y))

    return make


TABLES: dict[str, Callable[[], tuple[FloatArray, FloatArray]]] = {
    "diabetes": squares_and_products,
    "online news": table("online-news"),
    "superconductivity": table("superconductivity"),
    "crime": table("crime"),
}
"""The diabetes data come with scikit-learn, the others are tables of UCI."""

BEST_SUBSET: dict[str, Maker] = {
    f"{name}, s {sparsity}, {label}": best_subset(load, sparsity, eta)
    for sparsity in (5, 10, 15)
    for name, load in TABLES.items()
    for label, eta in {"eta 1e6": 1e6, "no ridge": None}.items()
}


def wide_table(file: str, target: str) -> Callable[[], tuple[FloatArray, FloatArray]]:
    """Gene expressions: more columns than rows, read from the folder of the data."""

    def load() -> tuple[FloatArray, FloatArray]:
        import pandas as pd

        rows = pd.read_csv(Path(os.environ["CARDQP_DATA"]) / file)
        return rows.drop(columns=target).to_numpy(), rows[target].to_numpy()

    return load


WIDE: dict[str, Maker] = {
    "eyedata, s 10, eta 20": best_subset(
        wide_table("eyedata_trim32.csv.gz", "TRIM32"), 10, 20.0
    ),
    "riboflavin, s 5, eta 20": best_subset(
        wide_table("riboflavin.csv.gz", "y"), 5, 20.0
    ),
}
"""Eyedata (Scheetz et al. 2006) and riboflavin (Bühlmann et al. 2014)."""
