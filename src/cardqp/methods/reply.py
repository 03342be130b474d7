"""The two best replies of the min-max game (docs/theory.md#best-response)."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.separable import separable_minimum
from cardqp.methods.game import Dual, Game
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems.support_qp import fit_support
from cardqp.subproblems.violation import least_violation

DOUBLINGS = 200
"""The most doublings of a step along a ray; without a limit a ray along which the
dual function never falls would not end."""


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


def reply_to_dual(game: Game[Dual], dual: Dual) -> SupportReply:
    """Return the support that minimises the Lagrangian at a dual point."""
    problem, rows = game.problem, game.problem.rows
    gradient, offset = game.plane(dual)
    slope, base = problem.c + gradient, problem.constant - offset
    if len(rows):
        slope += rows.matrix.T @ dual.beta
        base -= float(rows.rhs @ dual.beta)
    x, costs = separable_minimum(slope, problem.ridge, problem.lower, problem.upper)
    costs += problem.rule.prices(problem.n)
    support = problem.rule.select(costs)
    return SupportReply(support, x[support], base + float(costs[support].sum()))


def reply_to_support(game: Game[Dual], support: IntArray) -> tuple[Dual, bool]:
    """Return the dual point that maximises the Lagrangian on a support.

    It is the solution of the quadratic program on the support.  When that program is
    infeasible the Lagrangian is unbounded along a Farkas ray, and the reply is the
    point on the ray where the dual function starts to fall: there, some other support
    answers the ray.  Also returned is whether the reply is a maximiser.
    """
    fit = fit_support(game.truncated, support)
    if fit.x is None:
        return _along(game, farkas_ray(game.problem, support)), False
    return game.touching(fit.x, fit.beta), True


def row_steps(problem: SparseQP) -> FloatArray:
    """Return units of the multipliers in which curvatures match those of ``alpha``."""
    sizes = problem.rows.matrix**2 @ (1.0 / problem.ridge)
    return 1.0 / np.where(sizes > 0, sizes, 1.0)


def farkas_ray(problem: SparseQP, support: IntArray) -> FloatArray:
    """Return multipliers that contradict the rows on an infeasible support."""
    off = np.ones(problem.n, dtype=bool)
    off[support] = False
    branch = Subproblem(np.zeros_like(off), off, limit=problem.n)
    return least_violation(problem, branch).ray


def _along(game: Game[Dual], ray: FloatArray) -> Dual:
    """Return the first point on a ray, by doubling, where the dual function falls."""
    problem = game.problem
    row_gradient = float(np.abs(problem.rows.matrix.T @ ray).max())
    start = float(np.abs(problem.c).max()) or 1.0
    step = start / row_gradient if row_gradient > 0 else start
    best, origin = -np.inf, np.zeros(problem.n)
    point = game.zero()
    for _ in range(DOUBLINGS):
        point = game.touching(origin, step * ray)
        value = reply_to_dual(game, point).value
        if value <= best:
            break
        best, step = value, 2.0 * step
    return point
