"""The instances of the exact benchmarks, by name."""

from collections.abc import Callable

import numpy as np

from cardqp import SparseQP
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
