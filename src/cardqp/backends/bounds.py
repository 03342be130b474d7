r"""Bounds that the problem implies: by its rows, and by the value of a known point.

A mixed-integer program switches a bounded variable off by ``l z <= x <= u z``.  Bounds
that only seem large enough, such as a multiple of the largest entry of some good point,
can cut the optimum off.  Those found here cannot: every one of them is proved.
"""

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import inverse_unit
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.problem import SparseQP
from cardqp.problem.rows import power_of_two

Bounds = tuple[FloatArray, FloatArray]

MARGIN = 1e-9
"""Bounds are widened by this share of their terms, for rounding."""

TRUST = 1e-3
"""The largest accepted error, in norm, of an inverse times its matrix."""


def implied_by_rows(problem: SparseQP) -> Bounds:
    """Bounds of all variables; those that are missing come from single rows.

    A row limits a variable if all others in it have bounds on the side that matters.
    Bounds that come from rows hold for every feasible point and contain zero.
    """
    equal = problem.rows.is_equality
    matrix, rhs = problem.rows.matrix, problem.rows.rhs
    rows = np.vstack([matrix, -matrix[equal]])
    limits = np.concatenate([rhs, -rhs[equal]])
    lower, upper = problem.lower.copy(), problem.upper.copy()
    low, high = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
    low[problem.forced_out] = high[problem.forced_out] = 0.0
    for row, limit in zip(rows, limits, strict=True):
        ends = _row_limits(row, limit, low, high)
        upper = np.where(np.isinf(upper) & (row > 0), np.maximum(ends, 0.0), upper)
        lower = np.where(np.isinf(lower) & (row < 0), np.minimum(ends, 0.0), lower)
    return lower, upper


def _row_limits(
    row: FloatArray, limit: float, low: FloatArray, high: FloatArray
) -> FloatArray:
    """The value of each variable that a row allows with the others at their ends."""
    with np.errstate(invalid="ignore"):
        ends = np.where(row > 0, row * low, row * high)
    ends[row == 0] = 0.0
    is_open = np.isinf(ends)
    finite = np.where(is_open, 0.0, ends)
    size = abs(limit) + float(np.abs(finite).sum())
    rest = finite.sum() - finite
    rest = np.where(is_open.sum() - is_open > 0, -np.inf, rest - MARGIN * size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray((limit - rest) / row)


def implied_by_value(problem: SparseQP, bounds: Bounds, value: float) -> Bounds:
    r"""Finite bounds of all variables, for points at least as good as a known one.

    Bounds of nonzeros are tightened, and completed where infinite.  The value is the
    objective of a feasible point, or infinity.

    Raises
    ------
    ParameterError
        When bounds are missing and no value is known, or when the curvature is lost in
        rounding.

    Notes
    -----
    Let :math:`G = Q + \mathrm{diag}(1/\eta)`, let :math:`f(x) = \text{constant} +
    c^\top x + x^\top G x`, and let ``x`` be feasible, with something switched on and
    an objective of ``value`` at most.  It pays for the ``k`` switches that are forced
    in and for one at least, so :math:`f(x) \le \text{value} - \theta \max(k, 1)`.
    For any point ``a`` with slope :math:`g = c + 2 G a`, and
    :math:`a' = a - G^{-1} g / 2`,

    .. math:: f(x) = f(a) - \tfrac14 g^\top G^{-1} g + (x - a')^\top G (x - a') .

    As :math:`y_j^2 \le (G^{-1})_{jj}\, y^\top G y` (Cauchy and Schwarz in the metric
    of ``G``),

    .. math:: |x_j - a_j| \le \tfrac12 |G^{-1} g|_\infty + \sqrt{(G^{-1})_{jj}\,
        (\text{value} - \theta \max(k, 1) - f(a) + \tfrac14 g^\top G^{-1} g)} .

    Here ``a`` is the minimiser up to rounding, so that ``g`` is next to nothing.  The
    inverse is known as ``H`` with :math:`|I - G H| \le \epsilon`, hence
    :math:`|G^{-1} - H| \le |H| \epsilon / (1 - \epsilon)`.  Points with nothing
    switched on are zero, which the bounds returned contain or, as thresholds, exempt.
    """
    lower, upper = bounds
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        return bounds
    if not np.isfinite(value):
        raise ParameterError(
            None,
            Phrase(
                "{} needs bounds or a feasible point, and neither is known",
                Setting("formulation", "big-m"),
            ),
            remedy=Phrase(
                "set {} and {}, pass {}, or use another formulation",
                *map(Setting, ("lower", "upper", "start")),
            ),
        )
    centre, radius = _ellipsoid(problem, value)
    high = np.maximum(np.minimum(upper, np.maximum(centre + radius, 0.0)), lower)
    low = np.minimum(np.maximum(lower, np.minimum(centre - radius, 0.0)), upper)
    return low, high


def _ellipsoid(problem: SparseQP, value: float) -> Bounds:
    """Centre and half widths of a box around all points that are good enough."""
    unit = 1.0 / power_of_two(np.sqrt(problem.quadratic.diagonal + problem.ridge))
    G = unit[:, None] * problem.quadratic.dense() * unit
    G[np.diag_indices(problem.n)] += unit * unit * problem.ridge
    H, error = _inverse(G, problem.quadratic.formed)
    a = -0.5 * H @ (unit * problem.c)
    noise = MARGIN * (np.abs(unit * problem.c) + 2.0 * np.abs(G) @ np.abs(a))
    slope = np.abs(unit * problem.c + 2.0 * G @ a) + noise
    norm = float(np.abs(H).sum(axis=1).max()) + error
    point = unit * a
    smooth = float(problem.c @ point + a @ G @ a) + problem.constant
    forced = problem.rule.count(problem.forced_in)
    paid = problem.rule.penalty * max(forced, 1)
    room = value - paid - smooth + 0.25 * norm * float(slope @ slope)
    room += MARGIN * (abs(value) + problem.magnitude(point))
    radius = np.sqrt(max(room, 0.0) * (H.diagonal() + error))
    radius += 0.5 * norm * np.sqrt(float(slope @ slope))
    return point, unit * radius * (1.0 + MARGIN)


def _inverse(G: FloatArray, formed: int) -> tuple[FloatArray, float]:
    """The inverse of a matrix with a diagonal near one, and its error in norm.

    Entries of the matrix are off by so many roundings.
    """
    eye = np.eye(len(G))
    try:
        factor = scipy.linalg.cho_factor(G, check_finite=False)
    except scipy.linalg.LinAlgError:
        residual = np.inf
    else:
        H = scipy.linalg.cho_solve(factor, eye, check_finite=False)
        H = 0.5 * (H + H.T)
        norm = float(np.abs(H).sum(axis=1).max())
        residual = float(np.abs(eye - G @ H).sum(axis=1).max())
        residual += inverse_unit(len(G), formed) * norm
    if not residual < TRUST:
        raise ParameterError(
            None,
            Phrase(
                "{} needs bounds or a larger ridge", Setting("formulation", "big-m")
            ),
            given=(
                "the curvature of the objective is lost in rounding and bounds no "
                "variable"
            ),
            remedy=Phrase(
                "set {} and {}, lower {}, or use another formulation",
                *map(Setting, ("lower", "upper", "eta")),
            ),
        )
    return H, norm * residual / (1.0 - residual)
