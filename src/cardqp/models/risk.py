"""Risk: the covariance of returns, as a matrix, from returns or by factors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from cardqp._typing import ArrayLike, FloatArray
from cardqp.models import validation as rule
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Factor, Gram

SPARE = 0.999
"""The share of the least eigenvalue that is taken out: rounding must not make what is
left indefinite."""


@dataclass(frozen=True, eq=False)
class RiskModel:
    """The covariance ``form + diag(specific)``, checked once.

    Parameters
    ----------
    form : Gram or Factor
        What assets have in common, as a matrix or as a factor.
    specific : (n,) array
        Variances that assets have for themselves.
    """

    form: Gram | Factor
    specific: FloatArray

    @property
    def n(self) -> int:
        """Number of assets."""
        return self.form.n

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of each asset."""
        return np.asarray(self.form.diagonal + self.specific)

    def variance(self, weights: FloatArray) -> float:
        """The variance of a portfolio."""
        common = weights @ self.form.apply(weights)
        return float(common + self.specific @ (weights * weights))

    @cached_property
    def with_spare(self) -> "RiskModel":
        """A copy with the least eigenvalue of the matrix moved to ``specific``.

        The search does that for itself, except when there are variables without risk,
        which make the least eigenvalue zero.
        """
        if isinstance(self.form, Factor):
            return self
        Q = self.form.array
        spare = SPARE * float(scipy.linalg.eigvalsh(Q, subset_by_index=(0, 0))[0])
        if spare <= 0:
            return self
        rest = check.quadratic_matrix(Q - spare * np.eye(self.n), "covariance")
        return RiskModel(rest, self.specific + spare)

    def widened(self, scale: float, extra: int) -> Gram | Factor:
        """The common part times ``scale``, with ``extra`` variables without risk."""
        form = self.form
        if isinstance(form, Factor):
            return Factor(np.pad(np.sqrt(scale) * form.array, ((0, 0), (0, extra))))
        if scale != 1.0:  # rounding may cost convexity, so it is checked again
            form = check.quadratic_matrix(scale * form.array, "covariance")
        wide = np.pad(form.array, ((0, extra), (0, extra)))
        return Gram(wide, np.pad(form.psd_violation, (0, extra)))


def from_covariance(covariance: ArrayLike) -> RiskModel:
    """The model with a given covariance."""
    form = check.quadratic_matrix(covariance, "covariance")
    return RiskModel(form, np.zeros(form.n))


def from_returns(returns: FloatArray) -> RiskModel:
    """The sample covariance, kept as a factor when there are few periods."""
    periods, n = returns.shape
    centred = (returns - returns.mean(axis=0)) / np.sqrt(periods - 1)
    if periods > n:
        return from_covariance(centred.T @ centred)
    return RiskModel(Factor(centred), np.zeros(n))


def from_factors(loadings: ArrayLike, specific_variance: ArrayLike) -> RiskModel:
    """The model ``loadings' loadings + diag(specific_variance)``."""
    factor = check.factor_matrix(loadings, "loadings")
    specific = rule.not_negative("specific_variance", specific_variance, factor.n)
    return RiskModel(factor, specific)
