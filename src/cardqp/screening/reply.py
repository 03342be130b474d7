"""The two replies of the min-max game: support to dual point, dual point to support."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.convex.support_qp import fit_support
from cardqp.convex.violation import least_violation
from cardqp.dual.separable import separable_minimum
from cardqp.sparsity import Choice
from cardqp.spectral.level import DualPoint, Level

DOUBLINGS = 200
"""Enough to take any positive float64 beyond all others along a ray."""


@dataclass(frozen=True, slots=True)
class SupportReply:
    """The cheapest support at a dual point.

    Attributes
    ----------
    support : (<= s,) array of int
        The set J(alpha, beta) of the paper's lemma.
    x : (<= s,) array
        The minimiser of the Lagrangian on it.
    value : float
        The dual function f(alpha, beta), constant included: a lower bound on the
        optimum up to rounding.
    """

    support: IntArray
    x: FloatArray
    value: float


def reply_to_dual(level: Level, dual: DualPoint) -> SupportReply:
    """The support that minimises the Lagrangian at a dual point."""
    problem, rows = level.problem, level.problem.rows
    slope = problem.c + level.factor.T @ dual.alpha
    base = problem.constant - 0.25 * float(dual.alpha @ dual.alpha)
    if len(rows):
        slope += rows.matrix.T @ dual.beta
        base -= float(rows.rhs @ dual.beta)
    x, costs = separable_minimum(slope, problem.ridge, problem.lower, problem.upper)
    costs += problem.rule.prices(problem.n)
    support = problem.rule.select(costs)
    return SupportReply(support, x[support], base + float(costs[support].sum()))


def reply_to_support(level: Level, support: IntArray) -> tuple[DualPoint, bool]:
    """The dual point that maximises the Lagrangian on a support.

    It is the solution of the quadratic program on the support.  When that program is
    infeasible the Lagrangian is unbounded along a Farkas ray, and the reply is the
    point on the ray where the dual function starts to fall: there, some other support
    answers the ray.

    Returns
    -------
    dual : DualPoint
        The reply.
    is_attained : bool
        Whether it is a maximiser, not a point on a ray.
    """
    fit = fit_support(level.truncated, support)
    if fit.x is None:
        return _along(level, farkas_ray(level, support)), False
    alpha = 2.0 * (level.factor[:, support] @ fit.x[support])
    return DualPoint(alpha, fit.beta), True


def farkas_ray(level: Level, support: IntArray) -> FloatArray:
    """Multipliers that contradict the rows on an infeasible support."""
    off = np.ones(level.problem.n, dtype=bool)
    off[support] = False
    branch = Choice(np.zeros_like(off), off, limit=level.problem.n)
    return least_violation(level.problem, branch).ray


def _along(level: Level, ray: FloatArray) -> DualPoint:
    problem = level.problem
    push = float(np.abs(problem.rows.matrix.T @ ray).max())
    start = float(np.abs(problem.c).max()) or 1.0
    step = start / push if push > 0 else start
    best = -np.inf
    point = level.zero()
    for _ in range(DOUBLINGS):
        point = DualPoint(np.zeros(level.k), step * ray)
        value = reply_to_dual(level, point).value
        if value <= best:
            break
        best, step = value, 2.0 * step
    return point
