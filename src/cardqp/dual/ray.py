"""Farkas rays: multipliers that prove a branch to be empty."""

import numpy as np

from cardqp._typing import UNIT_ROUNDOFF, FloatArray
from cardqp.problem import SparseQP
from cardqp.rows import Rows
from cardqp.sparsity import Choice

FAR = 2.0**42
"""How far out a point may be, in units of right-hand sides and bounds, by coefficients.
A combination of rows is never quite zero on an unbounded variable: what rounding leaves
of it must not amount to anything up to there."""

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
    with np.errstate(over="ignore", invalid="ignore"):
        least = _linear_costs(problem, beta)
    least = np.where(choice.inside | (choice.free & (choice.slots > 0)), least, 0.0)
    if not np.isfinite(least).all():
        return False
    margin = choice.total(least) - float(problem.rows.rhs @ beta)
    size = float(np.abs(problem.rows.rhs) @ np.abs(beta))
    used = np.abs(least).max(initial=0.0)
    return bool(margin > CONTRADICTION * max(size, float(used)))


def row_that_proves_empty(problem: SparseQP, choice: Choice) -> FloatArray | None:
    """A ray with one entry: a row that no point of a branch meets, if there is one."""
    for i, is_equality in enumerate(problem.rows.is_equality):
        for sign in (1.0, -1.0) if is_equality else (1.0,):
            ray = np.zeros(len(problem.rows))
            ray[i] = sign
            if proves_empty(problem, ray, choice):
                return ray
    return None


def combine(rows: Rows, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The slope ``A' beta`` and the size of its terms."""
    slope: FloatArray = rows.matrix.T @ beta
    size: FloatArray = np.abs(rows.matrix).T @ np.abs(beta)
    return slope, size


def _linear_costs(problem: SparseQP, beta: FloatArray) -> FloatArray:
    """The least ``slope * x`` within each variable's bounds, rounding included."""
    slope, size = combine(problem.rows, beta)
    error = (len(beta) + 2) * UNIT_ROUNDOFF * size
    reach = _reach(problem, beta)
    lower = np.where(np.isinf(problem.lower), -reach, problem.lower)
    upper = np.where(np.isinf(problem.upper), reach, problem.upper)
    ends = (slope - error, slope + error)
    return np.minimum(*(np.minimum(end * lower, end * upper) for end in ends))


def _reach(problem: SparseQP, beta: FloatArray) -> FloatArray:
    """How far out each unbounded variable is looked at.

    Beyond all that right-hand sides, or other variables at their bounds, ask for.
    """
    used = beta != 0
    coefficients = np.abs(problem.rows.matrix[used]).max(axis=0, initial=0.0)
    largest = np.abs(problem.rows.rhs[used]).max(initial=0.0)
    for bound in (problem.lower, problem.upper):
        size = np.where(np.isfinite(bound), np.abs(bound), 0.0)
        largest = max(largest, float((coefficients * size).max()))
    return np.asarray(FAR * largest / np.where(coefficients > 0, coefficients, np.inf))
