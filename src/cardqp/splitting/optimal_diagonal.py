r"""The diagonal with the best bound for a problem without rows and bounds.

Over all diagonals :math:`d` that leave :math:`S = Q - \mathrm{diag}(d)` positive
definite and :math:`w = \text{ridge} + d` positive, the bound of Theorem 1 is largest
where

.. math::
    \min_{\gamma, d, t, u}\; \tfrac14 (\gamma - c)^\top S^{-1} (\gamma - c)
    + \tfrac14 \bigl( K t + \sum_j u_j \bigr)
    \quad \text{s.t.} \quad (u_j + r_j t)\, w_j \ge \gamma_j^2,\; u, t \ge 0

is attained; :math:`K` variables may be chosen, and :math:`r_j` is 1 for undecided ones
and 0 for those switched on.  This convex program is the dual of the semidefinite one of
Zheng, Sun & Li (2014), after the QCR method of Billionnet, Elloumi & Plateau (2009);
proof in docs/theory.md#optimal-diagonal.

It is solved by a barrier method: Newton steps in :math:`(\gamma, d)`, with :math:`u`
and :math:`t` eliminated, so that each takes one factorisation of order ``2 n``.
Whatever comes out is a valid split as long as :math:`S` is positive semidefinite, which
is proved elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.splitting.settings import DEFAULT, BarrierSettings

SQUARABLE = 1e150
"""Squares of larger numbers, and of inverses of these, are not numbers any more."""


@dataclass(frozen=True, slots=True)
class DiagonalProgram:
    """The problem: form, linear cost, ridge, and the node.

    Attributes
    ----------
    Q, c, ridge : arrays
        The objective.
    remaining : int
        How many undecided variables may be switched on.
    undecided : (n,) array
        1 for undecided variables, 0 for those switched on.
    """

    Q: FloatArray
    c: FloatArray
    ridge: FloatArray
    remaining: int
    undecided: FloatArray


@dataclass(frozen=True, slots=True)
class BarrierPoint:
    """A strictly feasible point of the program, or a direction."""

    slope: FloatArray
    d: FloatArray
    u: FloatArray
    t: float

    def moved(self, step: "BarrierPoint", length: float) -> "BarrierPoint":
        """The point after a step of some length."""
        return BarrierPoint(
            self.slope + length * step.slope,
            self.d + length * step.d,
            self.u + length * step.u,
            self.t + length * step.t,
        )


def optimal_diagonal(
    data: DiagonalProgram,
    d: FloatArray,
    x: FloatArray,
    size: float,
    is_over: Callable[[], bool] = lambda: False,
    settings: BarrierSettings = DEFAULT.diagonal.barrier,
) -> FloatArray:
    """Improve a diagonal by a barrier method, from a solved relaxation.

    Parameters
    ----------
    data : DiagonalProgram
        The problem.
    d : (n,) array
        A diagonal with ``Q - diag(d)`` positive definite and ``ridge + d`` positive.
    x : (n,) array
        The relaxed minimiser with that diagonal.
    size : float
        The size of the objective, which sets the scale of the barrier.
    is_over : callable
        Whether time is up: no further step is taken.
    settings : BarrierSettings
        How the barrier falls, and the most steps.

    Returns
    -------
    (n,) array
        The diagonal, feasible wherever the iterations end.
    """
    n = len(data.c)
    barrier = settings.first * size / n
    point = _start(data, d, x, barrier)
    for _ in range(settings.max_steps):
        if is_over():
            break
        found = _newton(data, point, barrier)
        if found is None:
            break
        step, decrement = found
        length = _line_search(data, point, step, barrier, decrement)
        if length == 0.0:
            break
        point = point.moved(step, length)
        # A nearly full step means that Newton's method converges: exact centring would
        # only cost steps.
        if length > 0.9 or decrement < settings.centred * n * barrier:
            if barrier <= settings.last * size / n:
                break
            barrier *= settings.factor
    return point.d


def _start(
    data: DiagonalProgram, d: FloatArray, x: FloatArray, barrier: float
) -> BarrierPoint:
    """A strictly feasible point from a relaxed minimiser.

    At the optimum ``t`` lies between the last gain that counts and the next one.
    """
    slope = data.c + 2.0 * (data.Q @ x - d * x)
    gains = slope**2 / (data.ridge + d)
    ranked = np.sort(gains[data.undecided > 0])[::-1]
    last = ranked[min(data.remaining, len(ranked)) - 1]
    following = ranked[min(data.remaining, len(ranked) - 1)]
    t = max(0.5 * (last + following), 1e-3 * ranked[0], 1e-3 * barrier)
    # Off the boundary by a few times the barrier, about where the central path is.
    u = np.maximum(gains - data.undecided * t, 0.0) + 8.0 * barrier
    return BarrierPoint(slope, d, u, float(t))


def _value(data: DiagonalProgram, point: BarrierPoint, barrier: float) -> float:
    """The barrier function; infinite outside its domain."""
    w = data.ridge + point.d
    room = (point.u + data.undecided * point.t) * w - point.slope**2
    if min(point.t, point.u.min(), w.min(), room.min()) <= 0:
        return np.inf
    try:
        L = scipy.linalg.cholesky(
            data.Q - np.diag(point.d), lower=True, check_finite=False
        )
    except scipy.linalg.LinAlgError:
        return np.inf
    half = scipy.linalg.solve_triangular(
        L, point.slope - data.c, lower=True, check_finite=False
    )
    logs = (
        2.0 * np.log(np.diag(L)).sum()
        + np.log(room).sum()
        + np.log(point.u).sum()
        + np.log(point.t)
    )
    linear = data.remaining * point.t + point.u.sum()
    return float(0.25 * (half @ half + linear) - barrier * logs)


def _newton(
    data: DiagonalProgram, point: BarrierPoint, barrier: float
) -> tuple[BarrierPoint, float] | None:
    """The Newton step and its decrement; None when the system cannot be solved."""
    if not 1 / SQUARABLE < point.t < SQUARABLE:
        return None
    n, r = len(data.c), data.undecided
    try:
        factor = scipy.linalg.cho_factor(data.Q - np.diag(point.d), check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    inverse = scipy.linalg.cho_solve(factor, np.eye(n), check_finite=False)
    y = inverse @ (point.slope - data.c)
    g, u, t, w = point.slope, point.u, point.t, data.ridge + point.d
    theta = u + r * t
    q = theta * w - g**2
    if not q.min() > 0:
        return None  # rounding has put the point on the boundary
    # Gradient and Hessian of the barrier function in (g, d, u, t), g the slope:
    # all of the Hessian but the block of (g, d) is diagonal or borders it.
    grad_g = 0.5 * y + 2.0 * barrier * g / q
    grad_d = 0.25 * y**2 + barrier * (np.diag(inverse) - theta / q)
    grad_u = 0.25 - barrier * (w / q + 1.0 / u)
    grad_t = 0.25 * data.remaining - barrier * ((r * w / q).sum() + 1.0 / t)
    h_gg = barrier * (4.0 * g**2 / q**2 + 2.0 / q)
    h_gd = -2.0 * barrier * g * theta / q**2
    h_gu = -2.0 * barrier * g * w / q**2
    h_dd = barrier * theta**2 / q**2
    h_du = barrier * (theta * w / q**2 - 1.0 / q)
    h_ww = barrier * w**2 / q**2
    h_uu = h_ww + barrier / u**2
    # Eliminate u, which is diagonal; t is left as one bordering row.
    H = np.empty((2 * n, 2 * n))
    H[:n, :n] = 0.5 * inverse + np.diag(h_gg - h_gu**2 / h_uu)
    H[:n, n:] = 0.5 * inverse * y + np.diag(h_gd - h_gu * h_du / h_uu)
    H[n:, :n] = H[:n, n:].T
    H[n:, n:] = inverse * (0.5 * np.outer(y, y) + barrier * inverse)
    H[n:, n:] += np.diag(h_dd - h_du**2 / h_uu)
    border = np.concatenate(
        [r * h_gu * (1.0 - h_ww / h_uu), r * h_du * (1.0 - h_ww / h_uu)]
    )
    corner = (r * (h_ww - h_ww**2 / h_uu)).sum() + barrier / t**2
    rhs = -np.concatenate(
        [grad_g - h_gu * grad_u / h_uu, grad_d - h_du * grad_u / h_uu]
    )
    rhs_t = -(grad_t - (r * h_ww * grad_u / h_uu).sum())
    # One factorisation for the right-hand side and for the border.
    both = _solve_scaled(H, np.column_stack([rhs, border]))
    if both is None:
        return None
    step_t = float((rhs_t - border @ both[:, 0]) / (corner - border @ both[:, 1]))
    main = both[:, 0] - step_t * both[:, 1]
    step_g, step_d = main[:n], main[n:]
    step_u = (-grad_u - h_gu * step_g - h_du * step_d - r * h_ww * step_t) / h_uu
    decrement = -float(
        grad_g @ step_g + grad_d @ step_d + grad_u @ step_u + grad_t * step_t
    )
    return BarrierPoint(step_g, step_d, step_u, step_t), decrement


def _solve_scaled(H: FloatArray, rhs: FloatArray) -> FloatArray | None:
    """Solve with the Hessian scaled to unit diagonal; None if that is hopeless.

    Near the boundary the scaled Hessian may be singular by rounding: the least jitter
    is added with which its Cholesky factorisation exists.
    """
    if not (np.isfinite(H).all() and np.diag(H).min() > 0):
        return None
    scale = np.sqrt(np.diag(H))
    scaled, rhs = H / scale[:, None] / scale, rhs / scale[:, None]
    if not np.isfinite(rhs).all():
        return None
    for jitter in (1e-13, 1e-11, 1e-9, 1e-7, 1e-5):
        try:
            factor = scipy.linalg.cho_factor(
                scaled + jitter * np.eye(len(H)), check_finite=False
            )
        except scipy.linalg.LinAlgError:
            continue
        solved = scipy.linalg.cho_solve(factor, rhs, check_finite=False)
        return np.asarray(solved / scale[:, None])
    return None


def _line_search(
    data: DiagonalProgram,
    point: BarrierPoint,
    step: BarrierPoint,
    barrier: float,
    decrement: float,
) -> float:
    """A step length that decreases the barrier function enough; 0 if there is none.

    Backtracking with Armijo's condition, after a step to the boundary at most.
    """
    if not decrement > 0:
        return 0.0
    # Cheap limits first: each value of the barrier function takes a factorisation.
    length = 1.0
    for values, change in ((point.u, step.u), (data.ridge + point.d, step.d)):
        falling = change < 0
        limits = -values[falling] / change[falling]
        length = min(length, 0.95 * float(limits.min(initial=np.inf)))
    if step.t < 0:
        length = min(length, -0.95 * point.t / step.t)
    before = _value(data, point, barrier)
    while length > 1e-6:
        after = _value(data, point.moved(step, length), barrier)
        if after <= before - 0.01 * length * decrement:
            return length
        length *= 0.6
    return 0.0
