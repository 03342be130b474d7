"""Points whose nonzeros have independent columns, beyond what rounding blurs."""

import numpy as np

from cardqp._typing import FloatArray
from cardqp.problem.validation import is_definite

INDEPENDENT = 1e-4
"""Columns count as independent if the least eigenvalue of their block of ``Q`` plus the
ridge, scaled to unit diagonal, is at least this: none is then explained by the others
but for a share of 1e-4 of its square.  Statistical packages use the same limit."""


def is_independent(G: FloatArray, least: float) -> bool:
    """Whether ``G - least * diag(G)`` has a Cholesky factorisation.

    One that runs to its end proves that matrix positive semidefinite up to rounding,
    which is far below ``least``.
    """
    curvature = G.diagonal()
    if not (curvature > 0).all():
        return False
    unit = 1.0 / np.sqrt(curvature)
    return is_definite(unit[:, None] * G * unit, -least)
