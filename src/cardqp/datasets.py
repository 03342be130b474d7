"""Synthetic regression data, as in the experiments of the paper."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray

__all__ = ["SyntheticRegression", "make_regression"]


@dataclass(frozen=True, slots=True)
class SyntheticRegression:
    """Rows of correlated covariates, responses, and the truth behind them."""

    X: FloatArray
    y: FloatArray
    coefficients: FloatArray

    @property
    def support(self) -> IntArray:
        """Indices of the true nonzero coefficients."""
        return np.flatnonzero(self.coefficients)


def make_regression(
    n_samples: int = 1000,
    n_features: int = 1000,
    *,
    sparsity: int = 10,
    correlation: float = 0.5,
    snr: float = 6.0,
    seed: int = 0,
) -> SyntheticRegression:
    r"""Gaussian covariates with covariance :math:`\rho^{|i-j|}` and a sparse truth.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``.
    sparsity : int
        Number of true coefficients, each -1 or 1, at random places.
    correlation : float
        The number rho between 0 and 1.
    snr : float
        Variance of the signal over variance of the noise.
    seed : int
        Seed of the generator.

    Returns
    -------
    SyntheticRegression
        The rows, the responses and the true coefficients.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    fresh = np.sqrt(1.0 - correlation**2)
    for j in range(1, n_features):
        X[:, j] = correlation * X[:, j - 1] + fresh * X[:, j]
    coefficients = np.zeros(n_features)
    places = rng.choice(n_features, sparsity, replace=False)
    coefficients[places] = rng.choice([-1.0, 1.0], sparsity)
    distance = np.abs(np.subtract.outer(places, places))
    signs = coefficients[places]
    variance = float(signs @ correlation**distance @ signs)
    noise = rng.standard_normal(n_samples) * np.sqrt(variance / snr)
    return SyntheticRegression(X, X @ coefficients + noise, coefficients)
