r"""Where the ascent starts for index tracking, and for all that adds up squares.

With a budget row :math:`a^\top x = b`, the whole objective is a quadratic form on that
row: :math:`x^\top (Q + a v^\top + v a^\top) x` with
:math:`v = (c + \kappa a / b) / (2 b)`, where :math:`\kappa` is the constant.  For index
tracking it is made of active returns, which are far smaller than returns.  Of its
correlation matrix the part above a level is kept, and the loss of the rest is shared
out by weights: larger ones where a row would lose more than its diagonal.  The higher
the level, the more the ridges of nodes can rise; so the highest one is taken for which
there are such weights.
"""

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.bounds.row_shift import shifting_row
from cardqp.bounds.sparse_minorant import offdiagonal_loss, ridge_unit, top_row_sums
from cardqp.problem import SparseQP
from cardqp.splitting.settings import DEFAULT, TrackingSettings


def tracking_shift(problem: SparseQP) -> FloatArray | None:
    """The vector ``v`` that makes the objective a quadratic form on a row.

    None if there is no such row, if it is one already, or if signs are not known.
    """
    row = shifting_row(problem)
    if row is None or not problem.signs.all():
        return None
    a, b = problem.rows.matrix[row], float(problem.rows.rhs[row])
    v = (problem.c + (problem.constant / b) * a) / (2.0 * b)
    return v if v.any() and np.isfinite(v).all() else None


def scaled_start(
    problem: SparseQP, settings: TrackingSettings = DEFAULT.tracking
) -> tuple[FloatArray, FloatArray] | None:
    """The matrix ``P`` to start the ascent from, and weights for the rest.

    The problem is shifted along its row.  None if a variable has no variance of its
    own, or if no level leaves every ridge positive.
    """
    Q = problem.quadratic.dense()
    variance = Q.diagonal()
    if not (variance > 0).all():
        return None
    deviation = np.sqrt(variance)
    correlation = Q / deviation[:, None] / deviation
    values, vectors = scipy.linalg.eigh(correlation, check_finite=False)
    for level in settings.levels:
        above = (vectors * np.maximum(values - level, 0.0)) @ vectors.T
        mixed = settings.mixed_share
        start = (1.0 - mixed) * above + mixed * correlation
        units = _units(correlation - start, problem, settings)
        if units is not None:
            weights = units / deviation / ridge_unit(problem)
            weights /= np.exp(np.log(weights).mean())
            return start * deviation[:, None] * deviation, weights
    return None


def _units(
    rest: FloatArray, problem: SparseQP, settings: TrackingSettings
) -> FloatArray | None:
    """Units in which no row of the rest loses more than a share of its diagonal.

    They grow where a row loses too much, until they stand still or steps run out.  None
    if a row loses all of its diagonal then.
    """
    loss, units = offdiagonal_loss(rest, problem.signs), np.ones(len(rest))
    diagonal = np.maximum(rest.diagonal(), 1e-300)
    for _ in range(settings.max_rounds):
        row_sums, _ = top_row_sums(loss * units, problem.rule.width)
        needed = np.maximum(units, row_sums / (settings.lost_share * diagonal))
        if np.allclose(needed, units):
            break
        units = np.minimum(needed, settings.max_unit)
    row_sums, _ = top_row_sums(loss * units, problem.rule.width)
    return units if (row_sums < diagonal * units).all() else None
