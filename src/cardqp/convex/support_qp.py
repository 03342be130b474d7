"""The quadratic program that remains once the support is known."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import BackendError
from cardqp.problem import SparseQP
from cardqp.rows import Rows, power_of_two

ACTIVE_SET_LIMIT = 400
"""Larger supports with constraints go to an interior-point method."""

PRIMAL_TOLERANCE = 1e-9
"""Constraint violation accepted by the active-set method, after scaling."""

_OPTIMAL, _INFEASIBLE, _EQUALITY = 1, -1, 5


@dataclass(frozen=True, slots=True)
class SupportFit:
    """The best point on a support, or the news that there is none.

    Attributes
    ----------
    x : (n,) array or None
        The minimiser, zero off the support; None when the support is infeasible.
    beta : (m,) array
        Multipliers of the rows; zeros when infeasible.
    objective : float
        Its objective with the constant and the price of its nonzeros, or infinity.
    """

    x: FloatArray | None
    beta: FloatArray
    objective: float


def fit_support(problem: SparseQP, support: IntArray) -> SupportFit:
    """Minimise the objective over the points that vanish off the support.

    A Cholesky factorisation where there are neither rows nor bounds; ``daqp``
    (dual active set) otherwise, and ``clarabel`` (interior point) for large supports
    or when the former gives up.

    Raises
    ------
    BackendError
        When both methods fail.
    """
    if len(support) == 0:
        return _fit_nothing(problem)
    block = problem.quadratic.block(support) + np.diag(problem.ridge[support])
    c = problem.c[support]
    if problem.is_free:
        part = scipy.linalg.solve(block, -0.5 * c, assume_a="pos", check_finite=False)
        return _lift(problem, support, part, np.zeros(0))
    answer = _solve_scaled(problem, support, block, c)
    if answer is None:
        return SupportFit(None, np.zeros(len(problem.rows)), np.inf)
    return _lift(problem, support, *answer)


def _fit_nothing(problem: SparseQP) -> SupportFit:
    x, beta = np.zeros(problem.n), np.zeros(len(problem.rows))
    if problem.feasibility(x).holds(0.0):
        return SupportFit(x, beta, problem.constant)
    return SupportFit(None, beta, np.inf)


def _lift(
    problem: SparseQP, support: IntArray, part: FloatArray, beta: FloatArray
) -> SupportFit:
    x = np.zeros(problem.n)
    x[support] = np.clip(part, problem.lower[support], problem.upper[support])
    return SupportFit(x, problem.rows.project(beta), problem.objective(x))


def _solve_scaled(
    problem: SparseQP, support: IntArray, block: FloatArray, c: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Minimiser and row multipliers on the support; None when infeasible.

    Variables are scaled to unit curvature and unit size and rows to unit length, so
    that the solvers' absolute tolerances mean something.
    """
    unit = 1.0 / power_of_two(np.sqrt(block.diagonal()))
    on_support = problem.rows.restrict(support)
    rows, row_scale = Rows(
        on_support.matrix * unit, on_support.rhs, on_support.is_equality
    ).scaled()
    hessian = 2.0 * unit[:, None] * block * unit
    slope = unit * c
    size = float(np.abs(np.concatenate([slope, rows.rhs])).max()) or 1.0
    data = (
        hessian,
        slope / size,
        Rows(rows.matrix, rows.rhs / size, rows.is_equality),
        problem.lower[support] / unit / size,
        problem.upper[support] / unit / size,
    )
    answer = _active_set(*data) if len(support) <= ACTIVE_SET_LIMIT else _UNSOLVED
    if answer is _UNSOLVED:
        answer = _interior_point(*data)
    if answer is None:
        return None
    part, beta = answer
    return unit * part * size, beta * size / row_scale


_UNSOLVED: tuple[FloatArray, FloatArray] = (np.zeros(0), np.zeros(0))


def _active_set(
    hessian: FloatArray,
    slope: FloatArray,
    rows: Rows,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    import daqp

    k = len(slope)
    sense = np.zeros(k + len(rows), dtype=np.int32)
    sense[k:][rows.is_equality] = _EQUALITY
    row_lower = np.where(rows.is_equality, rows.rhs, -np.inf)
    x, _, flag, info = daqp.solve(
        np.ascontiguousarray(hessian),
        np.ascontiguousarray(slope),
        np.ascontiguousarray(rows.matrix),
        np.concatenate([upper, rows.rhs]),
        np.concatenate([lower, row_lower]),
        sense,
        primal_tol=PRIMAL_TOLERANCE,
    )
    if flag == _INFEASIBLE:
        return None
    if flag != _OPTIMAL or not np.isfinite(x).all():
        return _UNSOLVED
    return np.array(x), np.array(info["lam"][k:])


def _interior_point(
    hessian: FloatArray,
    slope: FloatArray,
    rows: Rows,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    import clarabel
    import scipy.sparse

    k, is_equality = len(slope), rows.is_equality
    above, below = np.isfinite(upper), np.isfinite(lower)
    eye = np.eye(k)
    matrix = np.vstack(
        [rows.matrix[is_equality], rows.matrix[~is_equality], eye[above], -eye[below]]
    )
    rhs = np.concatenate(
        [rows.rhs[is_equality], rows.rhs[~is_equality], upper[above], -lower[below]]
    )
    equalities = int(is_equality.sum())
    cones = [
        clarabel.ZeroConeT(equalities),
        clarabel.NonnegativeConeT(len(rhs) - equalities),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    upper_triangle = scipy.sparse.csc_matrix(np.triu(hessian))
    solver = clarabel.DefaultSolver(
        upper_triangle, slope, scipy.sparse.csc_matrix(matrix), rhs, cones, settings
    )
    result = solver.solve()
    status = str(result.status)
    if "PrimalInfeasible" in status:
        return None
    if "Solved" not in status:
        raise BackendError(
            f"the quadratic program on a support of {k} variables was not solved: "
            f"clarabel says {status}."
        )
    beta = np.empty(len(rows))
    multipliers = np.asarray(result.z)
    beta[is_equality] = multipliers[:equalities]
    beta[~is_equality] = multipliers[equalities : len(rows)]
    return np.asarray(result.x), beta
