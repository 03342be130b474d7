"""Farkas rays: multipliers that prove a branch to be empty."""

import numpy as np

from cardqp._typing import UNIT_ROUNDOFF, BoolArray, FloatArray
from cardqp.problem import SparseQP
from cardqp.rows import Rows
from cardqp.sparsity import Choice

NOISE = 2.0**-46
"""A combination of rows counts as zero on an unbounded variable when it is this small
relative to its terms, a few units of rounding: only points some 1e13 times larger than
the data could make use of it."""

CONTRADICTION = 1e-9
"""How much of its terms a contradiction must amount to."""


def proves_empty(problem: SparseQP, beta: FloatArray, choice: Choice) -> bool:
    r"""Whether the rows, combined by ``beta``, contradict each other in a branch.

    Every feasible point satisfies :math:`\beta^\top A x \le \beta^\top b`.  If the
    least value of the left side over the bounds and supports of the branch exceeds
    the right side, the branch has no feasible point.
    """
    beta = problem.rows.project(beta)
    if not np.isfinite(beta).all():
        return False
    least = _linear_costs(problem, beta)
    margin = choice.total(least) - float(problem.rows.rhs @ beta)
    size = float(np.abs(problem.rows.rhs) @ np.abs(beta))
    used = np.abs(least[np.isfinite(least)]).max(initial=0.0)
    return bool(margin > CONTRADICTION * max(size, float(used)))


def combine(rows: Rows, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The slope ``A' beta`` and the size of its terms."""
    slope: FloatArray = rows.matrix.T @ beta
    size: FloatArray = np.abs(rows.matrix).T @ np.abs(beta)
    return slope, size


def _linear_costs(problem: SparseQP, beta: FloatArray) -> FloatArray:
    """The least ``slope * x`` within each variable's bounds, rounding included."""
    slope, size = combine(problem.rows, beta)
    error = (len(beta) + 2) * UNIT_ROUNDOFF * size
    is_noise = np.abs(slope) <= NOISE * size
    ends = (slope - error, slope + error)
    return np.minimum(*(_least(end, is_noise, problem) for end in ends))


def _least(slope: FloatArray, is_noise: BoolArray, problem: SparseQP) -> FloatArray:
    active = np.where(slope > 0, problem.lower, problem.upper)
    ignored = (slope == 0) | (is_noise & np.isinf(active))
    return np.where(ignored, 0.0, slope * np.where(ignored, 0.0, active))
