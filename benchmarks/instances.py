"""The instances of the exact benchmarks, by name."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cardqp import SparseQP
from cardqp.datasets import make_regression

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
}


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and response of a UCI table, every column scaled to [0, 1]."""
    import pandas as pd

    folder = Path(os.environ["CARDQP_DATA"])
    if name == "crime":
        frame = pd.read_csv(folder / "communities_crime.csv.gz")
        ignored = ["state", "county", "community", "communityname", "fold"]
        frame = frame.drop(columns=ignored).dropna(axis=1)
    else:
        files = {
            "superconductivity": "superconductivity.parquet",
            "online news": "online_news_popularity.parquet",
            "facebook": "facebook_comments_variant1.parquet",
            "UJIndoor": "ujiindoorloc_train.parquet",
        }
        frame = pd.read_parquet(folder / files[name])
    target = {
        "superconductivity": "critical_temp",
        "online news": "shares",
        "crime": "ViolentCrimesPerPop",
        "facebook": "target",
        "UJIndoor": "LONGITUDE",
    }[name]
    features = frame.drop(columns=[target]).select_dtypes("number")
    if name == "online news":
        features = features.drop(columns=["timedelta"])
    if name == "UJIndoor":
        features = features[[c for c in features if c.startswith("WAP")]]
    X, y = features.to_numpy(dtype=float), frame[target].to_numpy(dtype=float)
    X = X[:, np.ptp(X, axis=0) > 0]
    return (X - X.min(0)) / np.ptp(X, axis=0), (y - y.min()) / np.ptp(y)


def uci(name: str) -> Maker:
    """A UCI table by the paper's convention: 70 % of the rows, eta = sqrt(N)."""

    def make(seed: int) -> SparseQP:
        X, y = _table(name)
        kept = int(0.7 * len(y))
        rows = np.random.default_rng(seed).permutation(len(y))[:kept]
        return SparseQP.from_regression(
            X[rows], y[rows], eta=np.sqrt(kept), sparsity=10
        )

    return make


UCI: dict[str, Maker] = {
    name: uci(name)
    for name in ("superconductivity", "online news", "crime", "facebook", "UJIndoor")
}
