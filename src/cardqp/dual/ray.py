"""Farkas rays: multipliers that prove a branch to be empty."""

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.problem import SparseQP
from cardqp.rows import Rows
from cardqp.sparsity import Choice

RAY_TOLERANCE = 1e-9
"""A combination of rows counts as zero on an unbounded variable when it is this small
relative to its terms, and a contradiction counts when it is larger than this relative
to the right-hand sides: both well above rounding, well below any modelling error."""


def proves_empty(problem: SparseQP, beta: FloatArray, choice: Choice) -> bool:
    r"""Whether the rows, combined by ``beta``, contradict each other in a branch.

    Every feasible point satisfies :math:`\beta^\top A x \le \beta^\top b`.  If the
    least value of the left side over the bounds and supports of the branch exceeds
    the right side, the branch has no feasible point.
    """
    beta = problem.rows.project(beta)
    if not np.isfinite(beta).all():
        return False
    slope, noise = combine(problem.rows, beta)
    least = linear_costs(slope, noise, problem.lower, problem.upper)
    margin = choice.total(least) - float(problem.rows.rhs @ beta)
    size = float(np.abs(problem.rows.rhs) @ np.abs(beta))
    finite = np.abs(least[np.isfinite(least)])
    return bool(margin > RAY_TOLERANCE * max(size, float(finite.max(initial=0.0))))


def combine(rows: Rows, beta: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The slope ``A' beta`` and where it is nothing but noise."""
    slope = rows.matrix.T @ beta
    size = np.abs(rows.matrix).T @ np.abs(beta)
    return slope, np.abs(slope) <= RAY_TOLERANCE * size


def linear_costs(
    slope: FloatArray, noise: BoolArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """The least ``slope * x`` within the bounds; noise is zero if unbounded."""
    active = np.where(slope > 0, lower, upper)
    ignored = (slope == 0) | (noise & np.isinf(active))
    return np.where(ignored, 0.0, slope * np.where(ignored, 0.0, active))
