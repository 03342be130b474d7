"""Coefficients without the ridge."""

import numpy as np
from scipy.optimize import lsq_linear

from cardqp._typing import FloatArray, IntArray
from cardqp.gram import Moments, is_constant

NEGLIGIBLE = 1e-12
"""Directions in which standardised features vary so little are left out."""


def least_squares(
    rows: Moments, support: IntArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """The coefficients of least squared error on a support, within bounds.

    They are the shortest ones, if columns depend on each other; those of features that
    do not vary are as near to zero as bounds allow.

    Examples
    --------
    >>> from cardqp.gram import moments
    >>> rows = moments(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 3.0]))
    >>> least_squares(rows, np.array([0]), np.full(2, -np.inf), np.full(2, np.inf))
    array([3., 0.])
    """
    coef = np.zeros(len(lower))
    coef[support] = np.clip(0.0, lower[support], upper[support])
    is_movable = ~is_constant(rows) & (lower < upper)
    free, held = support[is_movable[support]], support[~is_movable[support]]
    if len(free) == 0:
        return coef
    both = rows.block(np.concatenate([free, held]))
    cross = rows.cross[free] - both[: len(free), len(free) :] @ coef[held]
    scale = np.sqrt(rows.variance[free])
    values, vectors = np.linalg.eigh(
        both[: len(free), : len(free)] / np.multiply.outer(scale, scale)
    )
    kept = values > NEGLIGIBLE * max(values[-1], 0.0)
    roots = np.sqrt(values[kept])
    half = roots[:, None] * vectors[:, kept].T
    target = (vectors[:, kept].T @ (cross / scale)) / roots
    bounds = lower[free] * scale, upper[free] * scale
    if np.isinf(bounds).all():
        solved = vectors[:, kept] @ (target / roots)
    else:
        solved = lsq_linear(half, target, bounds, method="bvls").x
    coef[free] = solved / scale
    return coef
