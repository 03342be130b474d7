"""From moments to a problem."""

from typing import Any

import numpy as np

from cardqp._typing import ArrayLike, BoolArray, FloatArray
from cardqp.arithmetic.rounding import mean_unit
from cardqp.gram.moments import Moments
from cardqp.problem import SparseQP
from cardqp.problem import validation as check


def is_constant(rows: Moments) -> BoolArray:
    """Features whose variance is none, or all rounding."""
    unit = mean_unit(rows.n_samples)
    return np.asarray(rows.variance <= (unit * rows.mean) ** 2)


def is_target_constant(rows: Moments) -> bool:
    """Whether the target's variance is none, or all rounding."""
    return rows.power <= (mean_unit(rows.n_samples) * rows.target_mean) ** 2


def unit_scale(rows: Moments) -> FloatArray:
    """Divisors that give features unit variance; 1 for constant ones."""
    return np.where(is_constant(rows), 1.0, np.sqrt(rows.variance))


def regression_problem(
    rows: Moments, scale: FloatArray, *, eta: ArrayLike | None, **settings: Any
) -> SparseQP:
    """Sparse ridge regression on some rows.

    The objective is the mean squared error plus the ridge, with the best intercept if
    the moments are about the means.  Variables are coefficients times the scale;
    settings are those of :class:`cardqp.SparseQP`.
    """
    return SparseQP(
        rows.form(scale),
        -2.0 * rows.cross / scale,
        eta=eta,
        constant=check.mean_square("y", rows.power),
        **settings,
    )
