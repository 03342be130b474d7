r"""The program whose solution is the diagonal with the best bound, and its barrier.

Over all diagonals :math:`d` that leave :math:`S = Q - \mathrm{diag}(d)` positive
definite and :math:`w = \text{ridge} + d` positive, and over all multipliers
:math:`\beta` of the rows :math:`Ax \le b`, the bound of Theorem 1 is largest where

.. math::
    \min_{\gamma, d, \beta, t, u, p}\; \tfrac14 r^\top S^{-1} r + b^\top \beta
    + \tfrac14 \bigl( K t + \sum_j u_j \bigr), \qquad r = \gamma - c - A^\top \beta

    \text{s.t.} \quad (u_j + r_j t)\, w_j \ge p_j^2,\; u, t \ge 0,\;
    \beta_i \ge 0 \text{ on inequalities}

is attained; :math:`K` variables may be chosen, and :math:`r_j` is 1 for undecided ones
and 0 for those switched on.  Where :math:`x_j` has a sign :math:`\sigma_j`,
:math:`p_j \ge \max(0, -\sigma_j \gamma_j)`, as slopes of the other sign gain nothing;
elsewhere :math:`p_j = \gamma_j`.  Proof in docs/theory.md#optimal-diagonal.

Constraints are replaced by logarithms, times a barrier parameter.  A Newton step
eliminates :math:`u` and :math:`p`, variable by variable, and factorises one matrix of
order ``2 n + m + 1``.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.problem.rows import Rows

SQUARABLE = 1e150
"""Squares of larger numbers, and of inverses of these, are not numbers any more."""


@dataclass(frozen=True, slots=True)
class DiagonalProgram:
    """The problem: form, linear cost, ridge, rows, signs, and the node.

    Attributes
    ----------
    Q, c, ridge : arrays
        The objective.
    rows : Rows
        The rows.
    signs : (n,) int array
        1 for variables that are never negative, -1 for never positive, 0 else.
    remaining : int
        How many undecided variables may be switched on.
    undecided : (n,) array
        1 for undecided variables, 0 for those switched on.
    """

    Q: FloatArray
    c: FloatArray
    ridge: FloatArray
    rows: Rows
    signs: IntArray
    remaining: int
    undecided: FloatArray

    def convex_part(self, d: FloatArray) -> FloatArray:
        """What a diagonal leaves of ``Q``."""
        left = self.Q.copy()
        left.flat[:: len(d) + 1] -= d
        return left

    def tangent_slope(self, point: "BarrierPoint") -> FloatArray:
        """The slope that the tangent of the convex part must have."""
        return np.asarray(point.slope - self.c - point.beta @ self.rows.matrix)


@dataclass(frozen=True, slots=True)
class BarrierPoint:
    """A strictly feasible point of the program, or a direction.

    Where the sign of a variable is not known, ``p`` is the slope.
    """

    slope: FloatArray
    d: FloatArray
    beta: FloatArray
    u: FloatArray
    p: FloatArray
    t: float

    def moved(self, step: "BarrierPoint", length: float) -> "BarrierPoint":
        """The point after a step of some length."""
        return BarrierPoint(
            self.slope + length * step.slope,
            self.d + length * step.d,
            self.beta + length * step.beta,
            self.u + length * step.u,
            self.p + length * step.p,
            self.t + length * step.t,
        )


def positive_terms(data: DiagonalProgram, point: BarrierPoint) -> FloatArray:
    """What is linear in the point, and must stay positive; inequalities come last."""
    signed = data.signs != 0
    return np.concatenate(
        [
            [point.t],
            point.u,
            data.ridge + point.d,
            (point.p + data.signs * point.slope)[signed],
            point.beta[~data.rows.is_equality],
        ]
    )


def barrier_terms(data: DiagonalProgram, point: BarrierPoint) -> tuple[float, float]:
    """The objective and the sum of the logarithms, of which the barrier is made.

    The objective is infinite outside the domain.
    """
    n, positive = len(data.c), positive_terms(data, point)
    if not positive.min() > 0:
        return np.inf, 0.0
    w = positive[n + 1 : 2 * n + 1]
    room = (point.u + data.undecided * point.t) * w - point.p**2
    if not room.min() > 0:
        return np.inf, 0.0
    try:
        L = scipy.linalg.cholesky(
            data.convex_part(point.d), lower=True, check_finite=False
        )
    except scipy.linalg.LinAlgError:
        return np.inf, 0.0
    half = scipy.linalg.solve_triangular(
        L, data.tangent_slope(point), lower=True, check_finite=False
    )
    # The ridge is kept positive by the room, and has no logarithm of its own.
    logs = (
        2.0 * np.log(np.diag(L)).sum()
        + np.log(room).sum()
        + np.log(positive).sum()
        - np.log(w).sum()
    )
    linear = data.remaining * point.t + point.u.sum()
    value = 0.25 * (half @ half + linear) + data.rows.rhs @ point.beta
    return float(value), float(logs)


def newton_step(
    data: DiagonalProgram, point: BarrierPoint, barrier: float
) -> tuple[BarrierPoint, float] | None:
    """The Newton step and its decrement; None when the system cannot be solved."""
    if not 1 / SQUARABLE < point.t < SQUARABLE:
        return None
    local, n = _Local.at(data, point, barrier), len(data.c)
    if local is None:
        return None
    try:
        factor = scipy.linalg.cho_factor(data.convex_part(point.d), check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    inverse = scipy.linalg.cho_solve(factor, np.eye(n), check_finite=False)
    y = inverse @ data.tangent_slope(point)
    gradient, H = _common_terms(data, point, inverse, y, barrier)
    local.add_to(H, gradient)
    solved = solve_scaled(H, -gradient)
    if solved is None:
        return None
    u, p = local.own_step(solved)
    slope, d, beta = np.split(solved[:-1], [n, 2 * n])
    # With u and p eliminated the decrement is that of the reduced gradient, and theirs.
    own = np.einsum(
        "un,uvn,vn->", local.own_gradient, local.inverse, local.own_gradient
    )
    decrement = -float(gradient @ solved) + float(own)
    return BarrierPoint(slope, d, beta, u, p, float(solved[-1])), decrement


def _common_terms(
    data: DiagonalProgram,
    point: BarrierPoint,
    inverse: FloatArray,
    y: FloatArray,
    barrier: float,
) -> tuple[FloatArray, FloatArray]:
    """Gradient and Hessian in ``(slope, d, beta, t)`` but for what is local.

    Only the upper triangle of the Hessian is filled in.
    """
    n, m, rows = len(data.c), len(data.rows), data.rows
    weight = 1.0 / np.where(rows.is_equality, np.inf, point.beta)
    gradient = np.concatenate(
        [
            0.5 * y,
            0.25 * y**2 + barrier * np.diag(inverse),
            rows.rhs - 0.5 * (rows.matrix @ y) - barrier * weight,
            [0.25 * data.remaining - barrier / point.t],
        ]
    )
    H = np.zeros((2 * n + m + 1, 2 * n + m + 1))
    bent, across = inverse * y, inverse @ rows.matrix.T
    H[:n, :n] = 0.5 * inverse
    H[:n, n : 2 * n] = 0.5 * bent
    H[n : 2 * n, n : 2 * n] = 0.5 * y[:, None] * bent + barrier * inverse**2
    H[:n, 2 * n : -1] = -0.5 * across
    H[n : 2 * n, 2 * n : -1] = -0.5 * y[:, None] * across
    H[2 * n : -1, 2 * n : -1] = 0.5 * (rows.matrix @ across)
    H[2 * n : -1, 2 * n : -1] += np.diag(barrier * weight**2)
    H[-1, -1] = barrier / point.t**2
    return gradient, H


@dataclass(frozen=True, slots=True)
class _Local:
    """Terms of the barrier function that belong to single variables.

    For each variable they depend on its slope, ``d``, ``u`` and ``p``, and on ``t``;
    ``u`` and ``p`` occur nowhere else, so that they can be eliminated.

    Attributes
    ----------
    gradient : (3, n) array
        The gradient in the slope, ``d`` and ``t``.
    own_gradient : (2, n) array
        The gradient in ``u`` and ``p``.
    hessian : (3, 3, n) array
        Second derivatives in the slope, ``d`` and ``t``.
    coupling : (3, 2, n) array
        Those in one of these and one of ``u`` and ``p``.
    inverse : (2, 2, n) array
        The inverse of those in ``u`` and ``p``.
    is_free : (n,) array of bool
        Where ``p`` is the slope.
    """

    gradient: FloatArray
    own_gradient: FloatArray
    hessian: FloatArray
    coupling: FloatArray
    inverse: FloatArray
    is_free: BoolArray

    @classmethod
    def at(
        cls, data: DiagonalProgram, point: BarrierPoint, barrier: float
    ) -> "_Local | None":
        """The terms at a point; None if rounding has put it on the boundary."""
        r, w, u, p = data.undecided, data.ridge + point.d, point.u, point.p
        signs, signed = data.signs, np.abs(data.signs).astype(np.float64)
        free, theta = 1.0 - signed, u + r * point.t
        q = theta * w - p**2
        spare = np.where(signs != 0, p + signs * point.slope, 1.0)
        if not min(q.min(), spare.min()) > 0:
            return None
        first, second = barrier / q, barrier / q**2
        steep, curved = signed * barrier / spare, signed * barrier / spare**2
        # Derivatives in s, whose square is subtracted in q: it is p where a sign is
        # known, and the slope elsewhere.
        grad_s, ss = 2.0 * first * p, 4.0 * second * p**2 + 2.0 * first
        sd, su = -2.0 * second * theta * p, -2.0 * second * w * p
        du, ww, uu = second * theta * w - first, second * w**2, barrier / u**2
        # Without a sign p follows the slope: 1 keeps its equation regular.
        up, pp = signed * su, signed * ss + curved + free
        # uu pp - up^2 without cancellation, as ww ss - su^2 = 2 first ww.
        det = signed * (2.0 * first + curved) * ww + free * ww + uu * pp
        gt, dt = free * r * su, r * du
        return cls(
            np.array([free * grad_s - signs * steep, -first * theta, -r * first * w]),
            np.array([0.25 - first * w - barrier / u, signed * grad_s - steep]),
            np.array(
                [
                    [free * ss + curved, free * sd, gt],
                    [free * sd, second * theta**2, dt],
                    [gt, dt, r * ww],
                ]
            ),
            np.array(
                [
                    [free * su, signs * curved],
                    [du, signed * sd],
                    [r * ww, signed * r * su],
                ]
            ),
            np.array([[pp, -up], [-up, ww + uu]]) / det,
            signs == 0,
        )

    def add_to(self, H: FloatArray, gradient: FloatArray) -> None:
        """Add the terms, after elimination, to the upper triangle and the gradient."""
        n = len(self.is_free)
        pulled = np.einsum("aun,uvn->avn", self.coupling, self.inverse)
        reduced = self.hessian - np.einsum("avn,bvn->abn", pulled, self.coupling)
        slope, d = np.arange(n), np.arange(n, 2 * n)
        H[slope, slope] += reduced[0, 0]
        H[slope, d] += reduced[0, 1]
        H[d, d] += reduced[1, 1]
        H[slope, -1] += reduced[0, 2]
        H[d, -1] += reduced[1, 2]
        H[-1, -1] += reduced[2, 2].sum()
        left = self.gradient - np.einsum("avn,vn->an", pulled, self.own_gradient)
        gradient[: 2 * n] += left[:2].ravel()
        gradient[-1] += left[2].sum()

    def own_step(self, step: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The steps of ``u`` and ``p`` that belong to one of the other variables."""
        n = len(self.is_free)
        outer = np.stack([step[:n], step[n : 2 * n], np.full(n, step[-1])])
        rhs = -self.own_gradient - np.einsum("aun,an->un", self.coupling, outer)
        u, p = np.einsum("uvn,vn->un", self.inverse, rhs)
        return u, np.where(self.is_free, step[:n], p)


def solve_scaled(H: FloatArray, rhs: FloatArray) -> FloatArray | None:
    """Solve with the Hessian scaled to unit diagonal; None if that is hopeless.

    Its upper triangle counts.  Near the boundary the scaled Hessian may be singular by
    rounding: the least jitter is added with which its Cholesky factorisation exists.
    """
    diagonal = np.diag(H)
    if not (np.isfinite(H).all() and diagonal.min() > 0):
        return None
    scale = np.sqrt(diagonal)
    scaled, rhs = H / scale[:, None] / scale, rhs / scale
    if not np.isfinite(rhs).all():
        return None
    for jitter in (1e-13, 1e-11, 1e-9, 1e-7, 1e-5):
        np.fill_diagonal(scaled, 1.0 + jitter)
        try:
            factor = scipy.linalg.cho_factor(scaled, check_finite=False)
        except scipy.linalg.LinAlgError:
            continue
        solved = scipy.linalg.cho_solve(factor, rhs, check_finite=False)
        return np.asarray(solved / scale)
    return None
