r"""The separable part of the dual: one small problem per variable.

For a slope ``g`` and a ridge ``w``, :math:`h(g) = \min_{l \le x \le u} g x + w x^2`.
"""

import numpy as np

from cardqp._typing import FloatArray


def minimizer(
    slope: FloatArray, ridge: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Where ``h`` is attained: ``clip(-g / (2 w), lower, upper)``."""
    return np.clip(slope / (-2.0 * ridge), lower, upper)


def least_cost(
    slope: FloatArray, ridge: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """The values ``h``; never positive, because 0 is within the bounds.

    Examples
    --------
    >>> one = np.ones(2)
    >>> least_cost(np.array([2.0, -4.0]), one, 0 * one, one)
    array([ 0., -3.])
    """
    x = minimizer(slope, ridge, lower, upper)
    return x * (slope + ridge * x)
