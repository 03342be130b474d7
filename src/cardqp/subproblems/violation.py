"""The least violation of the rows, and the multipliers that prove it.

Elastic rows always have a solution: minimise the total violation.  If the minimum is
positive, its dual solution is a Farkas ray of the original rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.bounds.farkas import proves_empty, row_that_proves_empty
from cardqp.problem import SparseQP
from cardqp.problem.rows import Rows
from cardqp.problem.sparsity import Subproblem

Entries = tuple[IntArray, IntArray, FloatArray]
"""Rows, columns and values of entries of a sparse matrix."""

LP_TOLERANCE = 1e-7
"""Feasibility tolerance of the linear programming solver: HiGHS' default."""


@dataclass(frozen=True, slots=True)
class Violation:
    """The least total violation of the rows in a branch, with its multipliers.

    Attributes
    ----------
    total : float
        The least total violation of the rows, each scaled to unit length and all to
        right-hand sides of at most one.
    ray : (m,) array
        The multipliers of the rows, in their own units: a candidate for a Farkas ray.
    switches : (n,) array
        The relaxed switches at the point of least violation; those of variables without
        bounds are 1 where the variable is not zero.
    """

    total: float
    ray: FloatArray
    switches: FloatArray


def least_violation(
    problem: SparseQP, subproblem: Subproblem, prices: FloatArray | None = None
) -> Violation:
    """Minimise the total violation of the rows in a branch, by a linear program.

    The limit of the branch is relaxed to fractional switches.  The violation is zero,
    with a ray of zeros, if the linear program was not solved.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    subproblem : Subproblem
        The branch.
    prices : (m,) array, optional
        The price of violating each row, 1 by default; infinite if a row must hold.
    """
    allowed = np.flatnonzero(
        ~subproblem.fixed_out if subproblem.remaining > 0 else subproblem.fixed_in
    )
    rows, scale = problem.rows.restrict(allowed).scaled()
    size = float(np.abs(rows.rhs).max(initial=0.0)) or 1.0
    rows = Rows(rows.matrix, rows.rhs / size, rows.is_equality)
    lower, upper = problem.lower[allowed] / size, problem.upper[allowed] / size
    is_switched = subproblem.undecided[allowed] & (
        np.isfinite(lower) | np.isfinite(upper)
    )
    owners = subproblem.restrict(allowed).switches_of(is_switched)
    n, p = len(allowed), int(owners.max(initial=-1)) + 1
    inequality = ~rows.is_equality
    m, e = int(inequality.sum()), int(rows.is_equality.sum())
    # Variables: x, z, excess of inequalities (m), excess of equalities (e, e).
    links, n_links = _links(lower, upper, is_switched, owners)
    each = np.ones(m + e) if prices is None else prices
    price = np.concatenate([each[inequality], *[each[rows.is_equality]] * 2])
    must_hold = np.isinf(price)
    width, excess = n + p + m + 2 * e, n + p + np.arange(m + 2 * e)
    all_rows = np.arange(max(m, e))
    above = _matrix(
        (m + n_links + 1, width),
        _entries(rows.matrix[inequality]),
        (all_rows[:m], excess[:m], -np.ones(m)),
        *((m + row, column, value) for row, column, value in links),
        (np.full(p, m + n_links), n + np.arange(p), np.ones(p)),
    )
    equal = _matrix(
        (e, width),
        _entries(rows.matrix[~inequality]),
        (all_rows[:e], excess[m : m + e], -np.ones(e)),
        (all_rows[:e], excess[m + e :], np.ones(e)),
    )
    no_more = [np.zeros(n_links), [max(subproblem.remaining, 0)]]
    low = [np.where(is_switched, -np.inf, lower), np.zeros(width - n)]
    high = [
        np.where(is_switched, np.inf, upper),
        np.ones(p),
        np.where(must_hold, 0.0, np.inf),
    ]
    result = scipy.optimize.linprog(
        np.concatenate([np.zeros(n + p), np.where(must_hold, 0.0, price)]),
        A_ub=above,
        b_ub=np.concatenate([rows.rhs[inequality], *no_more]),
        A_eq=equal,
        b_eq=rows.rhs[~inequality],
        bounds=np.column_stack([np.concatenate(low), np.concatenate(high)]),
        method="highs",
    )
    switches = np.zeros(problem.n)
    if result.status != 0:
        return Violation(0.0, np.zeros(len(rows)), switches)
    switches[allowed] = np.abs(result.x[: len(allowed)]) > LP_TOLERANCE
    switches[allowed[is_switched]] = result.x[len(allowed) :][owners]
    ray = np.empty(len(rows))
    ray[inequality] = -result.ineqlin.marginals[:m]
    ray[~inequality] = -result.eqlin.marginals
    ray = polish(ray, rows, lower, upper) / scale
    return Violation(float(result.fun), ray, switches)


def find_ray(problem: SparseQP, subproblem: Subproblem) -> FloatArray | None:
    """Return a Farkas ray that proves a branch empty, or None if none is found.

    See Theorem 8 (docs/theory.md#theorem-8).
    """
    # The linear program overlooks what is small beside the largest right-hand side, so
    # that single rows are tried after it.
    ray = least_violation(problem, subproblem).ray
    if proves_empty(problem, ray, subproblem):
        return ray
    return row_that_proves_empty(problem, subproblem)


def polish(
    ray: FloatArray, rows: Rows, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Return a ray without its rounding errors on unbounded variables.

    There the combined rows must vanish; the least change of the multipliers in use
    that makes them do so is of the order of the rounding errors.
    """
    slope = rows.matrix.T @ ray
    open_side = np.where(slope > 0, np.isinf(lower), np.isinf(upper))
    columns = rows.matrix[:, open_side]
    used = np.abs(ray) > LP_TOLERANCE
    if not columns.size or not used.any():
        return ray
    change = np.linalg.lstsq(columns[used].T, slope[open_side], rcond=None)[0]
    polished = np.where(used, ray, 0.0)
    polished[used] -= change
    return polished


def _links(
    lower: FloatArray, upper: FloatArray, is_switched: BoolArray, owners: IntArray
) -> tuple[list[Entries], int]:
    """Return rows ``lower z <= x <= upper z`` of bounded variables, and how many."""
    n, variables, entries, count = len(lower), np.flatnonzero(is_switched), [], 0
    for sign, bound in ((1.0, upper), (-1.0, lower)):
        has = np.isfinite(bound[variables])
        row, own = count + np.arange(int(has.sum())), variables[has]
        entries.append((row, own, np.full(len(own), sign)))
        entries.append((row, n + owners[has], -sign * bound[own]))
        count += len(own)
    return entries, count


def _entries(matrix: FloatArray) -> Entries:
    """Return the nonzeros of a matrix."""
    row, column = np.nonzero(matrix)
    return row, column, matrix[row, column]


def _matrix(shape: tuple[int, int], *parts: Entries) -> Any:
    """Build a sparse matrix from rows, columns and values."""
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return scipy.sparse.csc_array((value, (row, column)), shape)
