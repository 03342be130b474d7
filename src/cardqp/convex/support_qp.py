"""The quadratic program that remains once the support is known."""

import logging
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp._validation import LARGEST
from cardqp.convex.interior_point import minimise
from cardqp.exceptions import BackendError
from cardqp.problem import SparseQP
from cardqp.rows import Rows, power_of_two

log = logging.getLogger(__name__)

ACTIVE_SET_LIMIT = 400
"""Larger supports with constraints go to an interior-point method."""

PRIMAL_TOLERANCE = 1e-9
"""Constraint violation accepted by the active-set method, after scaling."""

NOISE = 1e-13
"""Entries this small in scaled units are rounding errors of a zero."""

Answer = tuple[FloatArray | None, FloatArray]
"""A minimiser and multipliers of the rows; without a minimiser they are a ray."""

_OPTIMAL, _INFEASIBLE, _EQUALITY = 1, -1, 5


@dataclass(frozen=True, slots=True)
class SupportFit:
    """The best point on a support, if one was found.

    Attributes
    ----------
    x : (n,) array or None
        The minimiser, feasible and zero off the support; None when there is no such
        point, or the solvers failed to find it.  That it does not exist is for a
        Farkas ray to prove.
    beta : (m,) array
        Multipliers of the rows; without a point zeros, or a ray that should prove that
        there is none.
    objective : float
        Its objective with the constant and the price of its nonzeros, or infinity.
    """

    x: FloatArray | None
    beta: FloatArray
    objective: float

    @classmethod
    def nothing(cls, problem: SparseQP) -> "SupportFit":
        """No point."""
        return cls(None, np.zeros(len(problem.rows)), np.inf)


@dataclass(frozen=True, slots=True)
class ScaledQP:
    """``min x'Hx/2 + g'x`` in units in which curvatures, rows and x are about one."""

    hessian: FloatArray
    slope: FloatArray
    rows: Rows
    lower: FloatArray
    upper: FloatArray


def fit_support(problem: SparseQP, support: IntArray) -> SupportFit:
    """Minimise the objective over the points that vanish off the support.

    A Cholesky factorisation where there are no rows and no bound matters; ``daqp``
    (dual active set) otherwise, and ``clarabel`` (interior point) for large supports
    or when the former gives up.
    """
    if len(support) == 0:
        return _accept(problem, np.zeros(problem.n), np.zeros(len(problem.rows)))
    block = problem.quadratic.block(support) + np.diag(problem.ridge[support])
    lower, upper = problem.lower[support], problem.upper[support]
    is_done = False
    if len(problem.rows) == 0:
        part, beta = _solve_free(block, problem.c[support]), np.zeros(0)
        is_done = bool(((part >= lower) & (part <= upper)).all())
    if not is_done and not problem.is_free:
        answer = _solve_constrained(problem, support, block)
        if answer is None:
            return SupportFit.nothing(problem)
        found, beta = answer
        if found is None:
            return SupportFit(None, problem.rows.project(beta), np.inf)
        part = found
    x = np.zeros(problem.n)
    x[support] = np.clip(part, lower, upper)
    return _accept(problem, x, problem.rows.project(beta))


def _accept(problem: SparseQP, x: FloatArray, beta: FloatArray) -> SupportFit:
    """The point with its objective, unless it is infeasible after all."""
    if not (np.abs(x) < LARGEST).all():
        return SupportFit.nothing(problem)
    if len(problem.rows) and not problem.feasibility(x).holds():
        return SupportFit.nothing(problem)
    return SupportFit(x, beta, problem.value(x))


def _solve_free(block: FloatArray, c: FloatArray) -> FloatArray:
    try:
        factor = scipy.linalg.cho_factor(block, check_finite=False)
    except scipy.linalg.LinAlgError:
        # The ridge is lost in the rounding of the block.
        return np.asarray(np.linalg.lstsq(block, -0.5 * c, rcond=None)[0])
    return np.asarray(scipy.linalg.cho_solve(factor, -0.5 * c, check_finite=False))


def _solve_constrained(
    problem: SparseQP, support: IntArray, block: FloatArray
) -> Answer | None:
    """Minimiser and row multipliers on the support; None when none was found.

    Variables are scaled to unit curvature and unit size and rows to unit length, so
    that the solvers' absolute tolerances mean something.
    """
    unit = 1.0 / power_of_two(np.sqrt(block.diagonal()))
    plain = problem.rows.restrict(support)
    rows, row_scale = Rows(plain.matrix * unit, plain.rhs, plain.is_equality).scaled()
    slope = unit * problem.c[support]
    lower, upper = problem.lower[support] / unit, problem.upper[support] / unit
    size = _size(slope, rows, lower, upper)
    scaled = ScaledQP(
        2.0 * unit[:, None] * block * unit,
        slope / size,
        Rows(rows.matrix, rows.rhs / size, rows.is_equality),
        lower / size,
        upper / size,
    )
    answer = _solve_scaled(scaled)
    if answer is None:
        return None
    part, beta = answer
    beta = beta * size / row_scale
    if part is None:
        return None, beta
    return unit * np.where(np.abs(part) <= NOISE, 0.0, part) * size, beta


def _size(slope: FloatArray, rows: Rows, lower: FloatArray, upper: FloatArray) -> float:
    """How large the solution may be: as its slope and rows want, within its bounds."""
    wanted = float(np.abs(np.concatenate([slope, rows.rhs])).max())
    allowed = float(np.maximum(np.abs(lower), np.abs(upper)).max())
    return min(wanted, allowed) or 1.0


def _solve_scaled(scaled: ScaledQP) -> Answer | None:
    if len(scaled.slope) <= ACTIVE_SET_LIMIT:
        try:
            return _active_set(scaled)
        except BackendError as err:
            log.info("%s; trying the interior-point method", err)
    try:
        return _interior_point(scaled)
    except BackendError as err:
        log.warning("%s", err)
        return None


def _active_set(scaled: ScaledQP) -> Answer:
    import daqp

    k, rows = len(scaled.slope), scaled.rows
    sense = np.zeros(k + len(rows), dtype=np.int32)
    sense[k:][rows.is_equality] = _EQUALITY
    row_lower = np.where(rows.is_equality, rows.rhs, -np.inf)
    x, _, flag, info = daqp.solve(
        np.ascontiguousarray(scaled.hessian),
        np.ascontiguousarray(scaled.slope),
        np.ascontiguousarray(rows.matrix),
        np.concatenate([scaled.upper, rows.rhs]),
        np.concatenate([scaled.lower, row_lower]),
        sense,
        primal_tol=PRIMAL_TOLERANCE,
    )
    multipliers = np.array(info["lam"][k:])
    if flag == _INFEASIBLE:
        return None, np.where(np.isfinite(multipliers), multipliers, 0.0)
    if flag != _OPTIMAL or not np.isfinite(x).all():
        raise BackendError(f"daqp gave up on {k} variables (exit flag {flag})")
    return np.array(x), multipliers


def _interior_point(scaled: ScaledQP) -> Answer | None:
    rows, eye = scaled.rows, np.eye(len(scaled.slope))
    above, below = np.isfinite(scaled.upper), np.isfinite(scaled.lower)
    equal_first = np.argsort(~rows.is_equality, kind="stable")
    bounds = [scaled.upper[above], -scaled.lower[below]]
    rhs = np.concatenate([rows.rhs[equal_first], *bounds])
    n_equal = int(rows.is_equality.sum())
    answer = minimise(
        scaled.hessian,
        scaled.slope,
        np.vstack([rows.matrix[equal_first], eye[above], -eye[below]]),
        rhs,
        n_equal=n_equal,
        n_below=len(rhs) - n_equal,
    )
    if answer is None:
        return None
    x, multipliers = answer
    beta = np.empty(len(rows))
    beta[equal_first] = multipliers[: len(rows)]
    return x, beta
