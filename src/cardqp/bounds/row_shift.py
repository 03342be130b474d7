r"""Another quadratic form with the same objective where an equality row holds.

For a row :math:`a^\top x = b` and any vector ``v``,

.. math::
    x^\top Q x + c^\top x
    = x^\top (Q + a v^\top + v a^\top) x + (c - 2 b v)^\top x .

For index tracking with a budget, some ``v`` turns ``Q`` into the matrix of active
returns, which has far smaller entries: its sparse minorants lose less.  See
``docs/theory.md#row-shift``.
"""

import numpy as np

from cardqp._typing import ArrayLike, FloatArray
from cardqp.arithmetic.rounding import (
    NORM_FACTOR,
    ROW_SHIFT_COST_UNIT,
    SMALLEST_NORMAL,
    lowered,
    row_shift_unit,
)
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Gram


def shifting_row(problem: SparseQP) -> int | None:
    """The row to shift by: the first equality that 0 does not meet; None without."""
    rows = problem.rows
    found = np.flatnonzero(rows.is_equality & (rows.rhs != 0) & rows.matrix.any(axis=1))
    return int(found[0]) if len(found) else None


def shift_by_row(problem: SparseQP, v: ArrayLike) -> SparseQP:
    """The problem with ``Q + a v' + v a'``, its cost to match, and rounding paid for.

    At sparse points that meet the row its objective, with the form less its
    ``psd_violation``, is at most the problem's.  The form need not be convex: sparse
    minorants of it are.  Raises ``ProblemError`` if there is no equality row whose
    right-hand side is not 0, or numbers are out of range.

    Examples
    --------
    >>> budget = {"A_eq": np.ones((1, 2)), "b_eq": 1.0}
    >>> problem = SparseQP(np.eye(2), [-2.0, 0.0], eta=1.0, sparsity=1, **budget)
    >>> shifted = shift_by_row(problem, [-1.0, 0.0])
    >>> shifted.quadratic.array
    array([[-1., -1.],
           [-1.,  1.]])
    >>> shifted.c
    array([0., 0.])
    """
    v, row = check.vector("row_shift", v, problem.n), shifting_row(problem)
    if row is None:
        raise ProblemError("row_shift", "needs an equality row that 0 does not meet")
    a, b = problem.rows.matrix[row], float(problem.rows.rhs[row])
    Q, width = problem.quadratic.dense(), problem.rule.width
    with np.errstate(all="ignore"):
        added = np.multiply.outer(a, v)
        shifted = 0.5 * (Q + Q.T) + (added + added.T)
        c = problem.c - (2.0 * b) * v
        cost_error = ROW_SHIFT_COST_UNIT * (np.abs(problem.c) + np.abs(2.0 * b * v))
        # |e x| <= (e / 2) (x^2 / size + size), for the size of points on the row.
        size = abs(b) / float(np.abs(a).max())
        margin = row_shift_unit(width, problem.quadratic.formed) * _scale(problem, a, v)
        margin += NORM_FACTOR * 0.5 * cost_error / size + width * SMALLEST_NORMAL
        lost = NORM_FACTOR * 0.5 * width * size * float(cost_error.max())
    violation = problem.quadratic.psd_violation + margin
    is_finite = np.isfinite(shifted).all() and np.isfinite(violation).all()
    if not (is_finite and np.isfinite(c).all() and np.isfinite(lost)):
        raise ProblemError("row_shift", "must leave all numbers finite")
    form, constant = Gram(shifted, violation), lowered(problem.constant, lost)
    return problem.with_quadratic(form).with_linear(c=c, constant=constant)


def _scale(problem: SparseQP, a: FloatArray, v: FloatArray) -> FloatArray:
    """What rounding of the entries is relative to, for each variable.

    It is ``q_j^2 + 2 alpha_j^2``, where ``|Q_ij| <= q_i q_j``, and ``|a_i v_j|`` and
    ``|v_i a_j|`` are at most ``alpha_i alpha_j``.
    """
    form = problem.quadratic
    largest_v = float(np.abs(v).max())
    ratio = np.sqrt(largest_v / float(np.abs(a).max())) if largest_v > 0 else 1.0
    alpha = np.maximum(ratio * np.abs(a), np.abs(v) / ratio)
    return np.asarray(form.diagonal + form.psd_violation + 2.0 * alpha**2)
