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
    mean, covariance = _market(which)
    ridge = NO_RIDGE * covariance.diagonal().mean()
    return long_only(covariance, ridge, sparsity, mean if with_return else None)


def near_ties(which: int, sparsity: int) -> SparseQP:
    """A market of the OR-Library with a ridge, under which many supports nearly tie."""
    mean, covariance = _market(which)
    return _spread(_convex(covariance), mean, sparsity)


def near_tied_factors(
    n: int, sparsity: int, seed: int, *, factors: int = 20
) -> SparseQP:
    """A random factor market on the scale of weekly returns, with many near-ties."""
    rng = np.random.default_rng(seed)
    loadings = 0.012 * rng.standard_normal((factors, n))
    loadings[0] = 0.04 + 0.012 * rng.standard_normal(n)
    noise = rng.uniform(0.03, 0.09, n) ** 2
    market = 0.006 * np.abs(loadings[0]) / 0.04
    mean = 0.002 + market + 0.003 * rng.standard_normal(n)
    return _spread(loadings.T @ loadings + np.diag(noise), mean, sparsity)


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
    covariance: np.ndarray,
    ridge: float,
    sparsity: int,
    mean: np.ndarray | None,
    highest: float | None = None,
) -> SparseQP:
    """The least variance of a portfolio without short sales.

    With ``mean`` it has a return row, on the way to the ``highest`` return: by default
    that of a single asset.
    """
    n = len(covariance)
    rows = {"A_eq": np.ones((1, n)), "b_eq": 1.0, "lower": 0.0}
    if mean is not None:
        calm = _least_risk(covariance + ridge * np.eye(n)) @ mean
        highest = float(mean.max()) if highest is None else highest
        least = calm + CLIMB * (highest - calm)
        rows |= {"A": mean[None, :], "b_lower": least}
    return SparseQP(covariance, np.zeros(n), eta=1.0 / ridge, sparsity=sparsity, **rows)


def _spread(covariance: np.ndarray, mean: np.ndarray, sparsity: int) -> SparseQP:
    """A portfolio with a ridge that spreads it, up to the largest return less ridge."""
    eta = 100.0 / np.sqrt(len(mean))
    highest = float(_on_simplex(eta * mean) @ mean)
    return long_only(covariance, 1.0 / eta, sparsity, mean, highest)


def _on_simplex(point: np.ndarray) -> np.ndarray:
    """The nearest nonnegative weights that add up to 1."""
    ranked = np.sort(point)[::-1]
    shifts = (np.cumsum(ranked) - 1.0) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ranked > shifts)[-1])
    return np.maximum(point - shifts[last], 0.0)


def _least_risk(covariance: np.ndarray) -> np.ndarray:
    """Weights of the long-only portfolio of least variance, by least distances."""
    root = np.linalg.cholesky(covariance).T
    rows = np.vstack([root, 1e4 * root[0, 0] * np.ones(len(root))])
    target = np.append(np.zeros(len(root)), 1e4 * root[0, 0])
    weights, _ = scipy.optimize.nnls(rows, target)
    return np.asarray(weights / weights.sum())


def _market(which: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a market of the OR-Library."""
    numbers = _numbers(f"orlib/port{which}.txt.gz")
    n = int(numbers[0])
    mean, deviation = numbers[1 : 2 * n + 1].reshape(n, 2).T
    i, j, correlation = numbers[2 * n + 1 :].reshape(-1, 3).T
    covariance = np.zeros((n, n))
    i, j = i.astype(int) - 1, j.astype(int) - 1
    covariance[i, j] = covariance[j, i] = correlation * deviation[i] * deviation[j]
    return mean, covariance


def _convex(covariance: np.ndarray) -> np.ndarray:
    """The covariance without its eigenvalues below 1e-10."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    return (vectors * np.maximum(eigenvalues, 1e-10)) @ vectors.T


def _numbers(name: str) -> np.ndarray:
    with gzip.open(_folder() / name, "rt") as file:
        return np.array(file.read().split(), dtype=float)


def _folder() -> Path:
    return Path(os.environ["CARDQP_DATA"])
