r"""The separable part of the dual: one small problem per variable.

For a slope ``g`` and a ridge ``w``, :math:`h(g) = \min_{l \le x \le u} g x + w x^2`.
"""

import numpy as np

from cardqp._typing import FloatArray


def separable_minimum(
    slope: FloatArray, ridge: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimisers ``clip(-g / (2 w), lower, upper)`` and values ``h``.

    The values are not positive where 0 is within the bounds.

    Examples
    --------
    >>> one = np.ones(2)
    >>> separable_minimum(np.array([2.0, -4.0]), one, 0 * one, one)[1]
    array([ 0., -3.])
    """
    x = np.clip(slope / (-2.0 * ridge), lower, upper)
    return x, x * (slope + ridge * x)
