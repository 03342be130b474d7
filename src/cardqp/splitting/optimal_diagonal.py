r"""The diagonal with the best bound, by a barrier method.

The convex program (``diagonal_program.py``) is the dual of the semidefinite one of
Zheng, Sun & Li (2014), after the QCR method of Billionnet, Elloumi & Plateau (2009),
with the multipliers of rows and the signs of variables; see
docs/theory.md#optimal-diagonal.  Whatever comes out is a valid split as long as
``Q - diag(d)`` is positive semidefinite, which is proved elsewhere.
"""

from collections.abc import Callable

import numpy as np

from cardqp._typing import FloatArray
from cardqp.splitting.diagonal_program import (
    BarrierPoint,
    DiagonalProgram,
    barrier_terms,
    newton_step,
    positive_terms,
)
from cardqp.splitting.settings import BarrierSettings


def optimal_diagonal(
    data: DiagonalProgram,
    d: FloatArray,
    x: FloatArray,
    beta: FloatArray,
    size: float,
    is_over: Callable[[], bool],
    settings: BarrierSettings,
) -> FloatArray:
    """Improve a diagonal by a barrier method, from a solved relaxation.

    At first ``Q - diag(d)`` is positive definite, ``ridge + d`` is positive, and ``x``
    is the relaxed minimiser with row multipliers ``beta``.  The ``size`` of the
    objective sets the scale of the barrier; if it is zero, there is nothing to gain.
    The diagonal is feasible wherever the iterations end.
    """
    n = len(data.c)
    barrier = settings.first * size / n
    if not barrier > 0:
        return d
    point = starting_point(data, d, x, beta, barrier)
    terms = barrier_terms(data, point)
    for _ in range(settings.max_steps):
        if is_over():
            break
        found = newton_step(data, point, barrier)
        if found is None:
            break
        step, decrement = found
        # Cheap limits first: each value of the barrier function takes a factorisation.
        longest = min(1.0, settings.to_boundary * _way_to_boundary(data, point, step))
        search = _line_search(data, point, step, terms, barrier, longest, decrement)
        if search is None:
            break
        length, point, terms = search
        # A nearly full step means that Newton's method converges: exact centring would
        # only cost steps.
        is_full = length > 0.9
        enough = settings.nearly_centred if is_full else settings.centred
        if decrement < enough * n * barrier:
            if barrier <= settings.last * size / n:
                break
            barrier *= settings.factor
    return point.d


def starting_point(
    data: DiagonalProgram,
    d: FloatArray,
    x: FloatArray,
    beta: FloatArray,
    barrier: float,
) -> BarrierPoint:
    """A strictly feasible point from a relaxed minimiser and its row multipliers.

    At the optimum ``t`` lies between the last gain that counts and the next one.
    """
    rows = data.rows
    beta = np.where(
        rows.is_equality,
        beta,
        np.maximum(beta, barrier / (rows.magnitude(x) + barrier)),
    )
    slope = data.c + beta @ rows.matrix + 2.0 * (data.Q @ x - d * x)
    room = 0.1 * np.abs(slope).mean() + barrier
    p = np.where(data.signs == 0, slope, np.maximum(-data.signs * slope, 0.0) + room)
    gains = p**2 / (data.ridge + d)
    ranked = np.sort(gains[data.undecided > 0])[::-1]
    last = ranked[min(data.remaining, len(ranked)) - 1]
    following = ranked[min(data.remaining, len(ranked) - 1)]
    t = max(0.5 * (last + following), 1e-3 * ranked[0], 1e-3 * barrier)
    # Off the boundary by a few times the barrier, about where the central path is.
    u = np.maximum(gains - data.undecided * t, 0.0) + 8.0 * barrier
    return BarrierPoint(slope, d, beta, u, p, float(t))


def _way_to_boundary(
    data: DiagonalProgram, point: BarrierPoint, step: BarrierPoint
) -> float:
    """How many steps it takes to where a linear constraint ends the domain."""
    values = positive_terms(data, point)
    change = positive_terms(data, point.moved(step, 1.0)) - values
    falling = change < 0
    limits = -values[falling] / change[falling]
    return float(limits.min(initial=np.inf))


def _line_search(
    data: DiagonalProgram,
    point: BarrierPoint,
    step: BarrierPoint,
    terms: tuple[float, float],
    barrier: float,
    length: float,
    decrement: float,
) -> tuple[float, BarrierPoint, tuple[float, float]] | None:
    """A step length that decreases the barrier function enough; None if there is none.

    Backtracking with Armijo's condition, from the longest one.  Also the point there,
    and the terms of the barrier function, which take a factorisation.
    """
    before = terms[0] - barrier * terms[1]
    while decrement > 0 and length > 1e-6:
        moved = point.moved(step, length)
        terms = barrier_terms(data, moved)
        if terms[0] - barrier * terms[1] <= before - 0.01 * length * decrement:
            return length, moved, terms
        length *= 0.6
    return None
