"""Splits of Q into a part that stays quadratic and a diagonal for the ridge."""

import numpy as np
import scipy.linalg

from cardqp._typing import UNIT_ROUNDOFF, FloatArray, IntArray
from cardqp.problem import SparseQP
from cardqp.quadratic import Factor

WORTH = 0.01
"""A diagonal is worth moving when it adds this share to some ridge."""


def spare_diagonal(problem: SparseQP, kept: IntArray) -> FloatArray | None:
    """A diagonal that can be taken out of ``Q`` on some variables, leaving it convex.

    It is the least eigenvalue of the block scaled to unit diagonal, in the original
    scale, less a margin for rounding.  None when it would not pay.
    """
    form = problem.quadratic
    if isinstance(form, Factor) and len(kept) > len(form.array):
        return None  # the block is singular
    block = form.block(kept)
    curvature = block.diagonal()
    if not (curvature > 0).all():
        return np.zeros(len(kept))
    unit = 1.0 / np.sqrt(curvature)
    scaled = unit[:, None] * block * unit
    least = float(scipy.linalg.eigvalsh(scaled, check_finite=False)[0])
    margin = 4 * len(kept) ** 2 * UNIT_ROUNDOFF
    spare = max(least - margin, 0.0) * curvature
    is_worth = bool((spare >= WORTH * problem.ridge[kept]).any())
    return spare if is_worth else (np.zeros(len(kept)) if _is_wide(problem) else None)


def _is_wide(problem: SparseQP) -> bool:
    """Whether the form is a factor, which a small block is better without."""
    return isinstance(problem.quadratic, Factor)
