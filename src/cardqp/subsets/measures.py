"""What is said of a least-squares fit: R2, Mallows' Cp, information criteria."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from cardqp.regression.criteria import PERFECT

MeasureName = Literal["bic", "aic", "aicc", "ebic", "cp", "adjusted_r2"]
MEASURES: tuple[str, ...] = get_args(MeasureName)

ChoiceName = Literal[MeasureName, "cv"]
CHOICES = (*MEASURES, "cv")
"""What chooses among subsets: a measure, or the error on folds."""

EQUAL = 1e-12
"""Measures this close, relatively, differ by rounding alone."""

NEARLY = 1e-6
"""Fits are nearly perfect if their sum of squares is below this share of the total."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, as far as measures go.

    Attributes
    ----------
    n_samples : float
        Their number, or the sum of their weights: these count as repeated rows.
    total : float
        The sum of squares that is to be explained: about the mean if there is an
        intercept.  Without any, R2 is NaN.
    intercepts : int
        1 if there is one, else 0.
    n_units : int
        How many features, or blocks of them, there are to choose from.
    variance : float
        The variance of errors, from all features together; NaN if there are too many.
    """

    n_samples: float
    total: float
    intercepts: int
    n_units: int
    variance: float

    def measures(self, rss: float, n_coefs: int, size: int) -> dict[str, float]:
        r"""All measures of a fit.

        With :math:`p` coefficients, the intercept among them, and
        :math:`\ell = -\tfrac N2(\log\tfrac{2\pi\,\mathrm{RSS}}{N} + 1)`,

        .. math::
            \mathrm{AIC} = 2p - 2\ell, \quad \mathrm{BIC} = p\log N - 2\ell, \quad
            \mathrm{AICc} = \mathrm{AIC} + \frac{2p(p + 1)}{N - p - 1}, \quad
            C_p = \frac{\mathrm{RSS}}{\hat\sigma^2} - N + 2p ,

        as in statsmodels; EBIC is BIC with :math:`2\log\binom{n}{k}` more.

        Parameters
        ----------
        rss : float
            The sum of squared residuals.
        n_coefs : int
            How many coefficients were fitted, without the intercept.
        size : int
            How many features, or blocks of them, were chosen.
        """
        N, p = self.n_samples, n_coefs + self.intercepts
        share = rss / self.total if self.total > 0 else math.nan
        left = N - p
        # What is less than this share of the total is rounding.
        floor = max(rss, PERFECT * self.total)
        fit = (
            N * (math.log(2.0 * math.pi * floor / N) + 1.0) if floor > 0 else -math.inf
        )
        bic = fit + p * math.log(N)
        is_known = left - 1 > 0
        return {
            "r2": 1.0 - share,
            "adjusted_r2": 1.0 - share * (N - self.intercepts) / left
            if left > 0
            else math.nan,
            "cp": rss / self.variance - N + 2 * p if self.variance > 0 else math.nan,
            "aic": fit + 2 * p,
            "aicc": fit + 2 * p + 2 * p * (p + 1) / (left - 1)
            if is_known
            else math.inf,
            "bic": bic,
            "ebic": bic + 2.0 * math.log(math.comb(self.n_units, size)),
        }


def gap_of(rss: float, bound: float, total: float) -> float:
    """How much less than a sum of squares may be possible, relatively.

    That is relative to a share of the total where the fit is nearly perfect: what is
    left of it is rounding.

    Parameters
    ----------
    rss, bound, total : float
        The sum of squared residuals, its lower bound, and the sum without features; or
        their means.
    """
    return (rss - bound) / (max(rss, NEARLY * total) or 1.0)


def cost_of(name: str, value: float) -> float:
    """A measure as a cost: the least is best; what is not known is worst."""
    if math.isnan(value):
        return math.inf
    return -value if name == "adjusted_r2" else value


def rounding_of(name: str, cost: float) -> float:
    """By how much costs differ that are equal but for rounding.

    Errors on folds have a unit; what else there is are logarithms and ratios.
    """
    return EQUAL * (abs(cost) if name == "cv" else max(abs(cost), 1.0))
