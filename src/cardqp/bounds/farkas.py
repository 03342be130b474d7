"""Farkas rays: multipliers that prove a branch to be empty.

A combination of rows is hardly ever zero on a variable without bounds: rounding leaves
a little of it, which a point that is far enough out can make up for.  There, the
multipliers are changed by a rounding error so that the combination vanishes in rational
arithmetic.  Nothing is then assumed about how far out points are.  The proof is in
``docs/theory.md#theorem-8``.
"""

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.arithmetic.rational import cancelling, rounded
from cardqp.arithmetic.rounding import SMALLEST_NORMAL, combination_unit
from cardqp.problem import SparseQP
from cardqp.problem.feasibility import SOLVED_TOLERANCE
from cardqp.problem.rows import Rows
from cardqp.problem.sparsity import Subproblem

MOST_ROWS = 40
"""The most rows whose multipliers are corrected in rational arithmetic."""

SMALLEST = 1e-290
"""Smaller multipliers, of rays whose largest term is about one, count as zero: their
products might lose digits."""

UNDERFLOW = 1e-215
"""Upper bound on the sum of all products that underflow, bounds included."""


def proves_empty(problem: SparseQP, beta: FloatArray, subproblem: Subproblem) -> bool:
    r"""Whether the rows, combined by ``beta``, contradict each other in a branch.

    Every feasible point satisfies :math:`\beta^\top A x \le \beta^\top b`.  If the
    least value of the left side over the bounds and supports of the branch exceeds
    the right side, the branch has no feasible point.  Nor has it points that meet each
    row up to :data:`~cardqp.problem.feasibility.SOLVED_TOLERANCE` of its terms, if the
    variables in question are bounded.
    """
    beta = problem.rows.project(beta)
    if not np.isfinite(beta).all():
        return False
    beta = _scaled(problem.rows, beta)
    may_be_on = subproblem.fixed_in | (
        subproblem.undecided & (subproblem.remaining > 0)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        least = _linear_costs(problem, beta)
        is_open = may_be_on & np.isneginf(least)
        if is_open.any():
            balanced = _balanced(problem, beta, is_open)
            if balanced is None:
                return False
            beta, least = balanced, _linear_costs(problem, balanced)
            least[is_open] = 0.0  # the combination is zero there
    least = np.where(may_be_on, least, 0.0)
    if not np.isfinite(least).all():
        return False
    row_offset = float(problem.rows.rhs @ beta)
    size = float(np.abs(problem.rows.rhs) @ np.abs(beta))
    slack = _slack(problem.rows) * size + UNDERFLOW
    return bool(subproblem.total(least) - row_offset > slack)


def row_that_proves_empty(
    problem: SparseQP, subproblem: Subproblem
) -> FloatArray | None:
    """A ray with one entry: a row that no point of a branch meets, if there is one."""
    for i, is_equality in enumerate(problem.rows.is_equality):
        for sign in (1.0, -1.0) if is_equality else (1.0,):
            ray = np.zeros(len(problem.rows))
            ray[i] = sign
            if proves_empty(problem, ray, subproblem):
                return ray
    return None


def combine(rows: Rows, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The slope ``A' beta`` and the size of its terms."""
    slope: FloatArray = rows.matrix.T @ beta
    size: FloatArray = np.abs(rows.matrix).T @ np.abs(beta)
    return slope, size


def _scaled(rows: Rows, beta: FloatArray) -> FloatArray:
    """A ray with terms of about one: only its direction counts."""
    sizes = np.maximum(np.abs(rows.matrix).max(axis=1, initial=0.0), np.abs(rows.rhs))
    used = (beta != 0) & (sizes > 0)
    if not used.any():
        return np.zeros(len(beta))
    exponents = np.frexp(beta[used])[1] + np.frexp(sizes[used])[1]
    scaled = np.ldexp(beta, -int(exponents.max()))
    return np.where(used & (np.abs(scaled) >= SMALLEST), scaled, 0.0)


def _slack(rows: Rows) -> float:
    """The tolerance of rows plus rounding, relative to the terms of a combination."""
    return SOLVED_TOLERANCE + combination_unit(len(rows))


def _linear_costs(problem: SparseQP, beta: FloatArray) -> FloatArray:
    """The least ``slope * x`` within each variable's bounds, if rows hold nearly.

    Rounding, also of the multipliers of a scaled ray, is far below what rows may be
    off.
    """
    slope, size = combine(problem.rows, beta)
    error = _slack(problem.rows) * size + len(beta) * SMALLEST_NORMAL
    ends = [
        end * bound
        for end in (slope - error, slope + error)
        for bound in (problem.lower, problem.upper)
    ]
    least = np.min(ends, axis=0)
    least[np.isnan(least)] = -np.inf
    # Whatever the bounds are; the size would not do, which may underflow.
    least[(problem.rows.matrix[beta != 0] == 0).all(axis=0)] = 0.0
    return np.asarray(least)


def _balanced(
    problem: SparseQP, beta: FloatArray, is_open: BoolArray
) -> FloatArray | None:
    """Multipliers that combine rows to zero on some variables, if there are any nearby.

    They do so before they are rounded.
    """
    used = np.flatnonzero(beta)
    if not 1 < len(used) <= MOST_ROWS:
        return None
    exact = cancelling(problem.rows.matrix[np.ix_(used, is_open)], beta[used])
    if exact is None:
        return None
    result = np.zeros(len(beta))
    result[used] = rounded(exact)
    has_sign = problem.rows.is_equality | (result >= 0)
    has_digits = np.isfinite(result) & (np.abs(result) >= SMALLEST)
    # Those that are only rounded to zero have a sign, which would be lost.
    has_digits |= beta == 0
    has_digits[used] |= np.array([weight == 0 for weight in exact])
    return result if (has_sign & has_digits).all() else None
