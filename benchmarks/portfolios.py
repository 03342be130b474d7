"""Portfolios, index tracking and their data, for the benchmarks with constraints.

Files are read from the folder that the environment variable ``CARDQP_DATA`` names.
"""

import gzip
import os
from pathlib import Path

import numpy as np
import scipy.optimize

from cardqp import SparseQP

NO_RIDGE = 1e-9
"""A ridge that stands for none, as a share of the mean variance."""

CLIMB = 0.3
"""How far up a return row is: from the return of least risk to the largest return."""


def buy_in(n: int, which: int, sparsity: int, ridge: float) -> SparseQP:
    """A mean-variance instance with buy-in thresholds, from Frangioni and Gentile."""
    with np.load(_folder() / f"mv_pard{n}.npz") as file:
        Q, mu = file["Q"][which].astype(float), file["mu"][which]
        lower, upper = file["lower"][which], file["upper"][which]
        least = float(file["rho"][which])
    return SparseQP(
        Q,
        np.zeros(n),
        eta=1.0 / (ridge or NO_RIDGE * Q.diagonal().mean()),
        sparsity=sparsity,
        A=mu[None, :],
        b_lower=least,
        A_eq=np.ones((1, n)),
        b_eq=1.0,
        lower=lower,
        upper=upper,
    )


def published_diagonals(n: int, which: int) -> dict[str, np.ndarray]:
    """Diagonals that come with an instance: of the small SDP, and the larger one."""
    with np.load(_folder() / f"mv_pard{n}.npz") as file:
        return {name: file[name][which] for name in ("D_s", "D_l10")}


def or_library(which: int, sparsity: int, *, with_return: bool) -> SparseQP:
    """A market of the OR-Library: long-only, fully invested, without a ridge."""
    numbers = _numbers(f"orlib/port{which}.txt.gz")
    n = int(numbers[0])
    mean, deviation = numbers[1 : 2 * n + 1].reshape(n, 2).T
    i, j, correlation = numbers[2 * n + 1 :].reshape(-1, 3).T
    covariance = np.zeros((n, n))
    i, j = i.astype(int) - 1, j.astype(int) - 1
    covariance[i, j] = covariance[j, i] = correlation * deviation[i] * deviation[j]
    ridge = NO_RIDGE * covariance.diagonal().mean()
    return long_only(covariance, ridge, sparsity, mean if with_return else None)


def factor_model(
    n: int,
    sparsity: int,
    eta: float,
    seed: int,
    *,
    factors: int = 20,
    has_market: bool,
) -> SparseQP:
    """A random factor model: long-only, fully invested, with a return row.

    All assets move with the market, as stocks do, or any factor can be hedged.
    """
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((factors, n)) / np.sqrt(factors)
    noise, mean = rng.uniform(0.05, 0.5, n), rng.uniform(0.0, 0.1, n)
    if has_market:
        loadings[0] = rng.uniform(0.5, 1.5, n)
    covariance = loadings.T @ loadings + np.diag(noise)
    return long_only(covariance, 1.0 / eta, sparsity, mean)


def index_tracking(which: int, sparsity: int) -> SparseQP:
    """Track an index of the OR-Library: squared difference of weekly returns."""
    numbers = _numbers(f"orlib/indtrack{which}.txt.gz")
    n, weeks = int(numbers[0]), int(numbers[1])
    prices = numbers[2:].reshape(n + 1, weeks + 1)
    returns = prices[:, 1:] / prices[:, :-1] - 1.0
    X, y = returns[1:].T, returns[0]
    ridge = NO_RIDGE * (X**2).mean()
    return SparseQP.from_regression(
        X,
        y,
        eta=1.0 / ridge,
        sparsity=sparsity,
        A_eq=np.ones((1, n)),
        b_eq=1.0,
        lower=0.0,
    )


def long_only(
    covariance: np.ndarray, ridge: float, sparsity: int, mean: np.ndarray | None
) -> SparseQP:
    """The least variance of a portfolio without short sales."""
    n = len(covariance)
    rows = {"A_eq": np.ones((1, n)), "b_eq": 1.0, "lower": 0.0}
    if mean is not None:
        calm = _least_risk(covariance + ridge * np.eye(n)) @ mean
        least = calm + CLIMB * (mean.max() - calm)
        rows |= {"A": mean[None, :], "b_lower": least}
    return SparseQP(covariance, np.zeros(n), eta=1.0 / ridge, sparsity=sparsity, **rows)


def _least_risk(covariance: np.ndarray) -> np.ndarray:
    """Weights of the long-only portfolio of least variance, by least distances."""
    root = np.linalg.cholesky(covariance).T
    rows = np.vstack([root, 1e4 * root[0, 0] * np.ones(len(root))])
    target = np.append(np.zeros(len(root)), 1e4 * root[0, 0])
    weights, _ = scipy.optimize.nnls(rows, target)
    return np.asarray(weights / weights.sum())


def _numbers(name: str) -> np.ndarray:
    with gzip.open(_folder() / name, "rt") as file:
        return np.array(file.read().split(), dtype=float)


def _folder() -> Path:
    return Path(os.environ["CARDQP_DATA"])
