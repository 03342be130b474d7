"""What exchanges gain at most, where there are rows or bounds.

Supports are fitted only where that promises a better point.  All exchanges are bounded
by one compiled function: without the bounds of variables that stay, the multipliers of
the rows that are best for an exchange solve a small system (docs/theory.md#exchanges).
"""

import numpy as np

from cardqp._compiled import compiled, spliced
from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.separable import separable_minimum
from cardqp.problem import SparseQP
from cardqp.relaxation.row_prox import solve_damped

MOST_ROWS = 32
"""The most rows whose multipliers are optimised: each exchange takes the cube."""

# Compiled in, as all constants of compiled code.
STEPS = 4
"""The most Newton steps in the multipliers: they end where the active rows repeat."""

DAMPING = 1e-8
"""Of the Newton steps, relative to the curvature: rows may be dependent, and hold to
1e-9 only.  It costs the square of this."""


def slope_at(problem: SparseQP, x: FloatArray, beta: FloatArray) -> FloatArray:
    """The gradient of the objective with the multipliers of the rows."""
    slope = problem.c + 2.0 * (problem.quadratic.apply(x) + problem.ridge * x)
    return np.asarray(slope + beta @ problem.rows.matrix)


def costs_alone(problem: SparseQP, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far each variable moves if all others stay, and the change, not positive."""
    curvature = problem.quadratic.diagonal + problem.ridge
    return separable_minimum(slope, curvature, problem.lower, problem.upper)


def exchange_bounds(
    problem: SparseQP,
    x: FloatArray,
    beta: FloatArray,
    support: IntArray,
    entering: IntArray,
) -> FloatArray:
    """A lower bound on the change of the objective by each exchange, up to rounding.

    Entry ``[i, j]`` belongs to ``support[i]`` leaving and ``entering[j]`` entering; in
    the last row nothing leaves, in the last column nothing enters.  Rows and bounds are
    replaced by multipliers (weak duality): those of bounds at the fit, and those of
    rows that are best for an exchange that would be an improvement otherwise.  Only the
    variable that enters is held by its bounds.  The new support pays its price.
    Exchanges that are not allowed are infinite.
    """
    s = len(support)
    try:
        least = _by_multipliers(problem, x, beta, support, entering)
    except np.linalg.LinAlgError:
        # The ridge is lost in the rounding of Q.
        least = np.full((s + 1, len(entering) + 1), -np.inf)
    least[s, -1] = np.inf
    if len(problem.forced_in):
        least[:s][np.isin(support, problem.forced_in)] = np.inf
    if s >= problem.rule.limit:
        least[s] = np.inf
    return least


def _by_multipliers(
    problem: SparseQP,
    x: FloatArray,
    beta: FloatArray,
    support: IntArray,
    entering: IntArray,
) -> FloatArray:
    """The bounds of all exchanges, whether they are allowed or not."""
    form, rows, slope = problem.quadratic, problem.rows, slope_at(problem, x, beta)
    used = slice(len(rows) if len(rows) <= MOST_ROWS else 0)
    A, is_free = rows.matrix[used], rows.is_equality[used]
    H = np.linalg.inv(form.block(support) + np.diag(problem.ridge[support]))
    across = form.columns(support)[entering].T
    B, P, ridge = H @ across, A[:, support] @ H, problem.ridge[entering]
    schur = form.diagonal[entering] + ridge - np.einsum("ij,ij->j", across, B)
    return bound_exchanges(
        x[support],
        -slope[support],
        np.array(H.diagonal()),
        B,
        slope[entering],
        # A Schur complement is at least the ridge, whatever rounding makes of it.
        np.maximum(schur, ridge),
        problem.lower[entering],
        problem.upper[entering],
        P,
        P @ A[:, support].T,
        A[:, entering] - P @ across,
        A @ x - rows.rhs[used],
        np.where(is_free, -np.inf, -beta[used]),
        problem.rule.penalty,
    )


@compiled
def bound_exchanges(
    x: FloatArray,
    held: FloatArray,
    weight: FloatArray,
    B: FloatArray,
    slope: FloatArray,
    schur: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    P: FloatArray,
    M: FloatArray,
    W: FloatArray,
    excess: FloatArray,
    floor: FloatArray,
    price: float,
) -> FloatArray:
    """Bounds for all exchanges of a support of ``s`` variables, by ``p`` others.

    With ``G`` the form on the support and ``H`` its inverse, ``K`` the form between the
    support and those that may enter, and ``A`` and ``E`` the rows on either:

    Parameters
    ----------
    x, held, weight : (s,) arrays
        The point, the multipliers of its bounds, and the diagonal of ``H``.
    B : (s, p) array
        ``H K``.
    slope, schur, lower, upper : (p,) arrays
        Slopes at the point, Schur complements and bounds of those that may enter.
    P, M, W : (m, s), (m, m) and (m, p) arrays
        ``A H``, ``A H A'`` and ``E - P K``.
    excess, floor : (m,) arrays
        By how much the point exceeds the right-hand sides of the rows, and how far
        their multipliers may move down.
    price : float
        What a variable in the support costs.
    """
    (s, p), m = B.shape, len(excess)
    least, start, curvature = np.empty((s + 1, p + 1)), np.empty(m), np.empty((m, m))
    own, pull = np.zeros(m), np.empty(m)
    for i in range(s + 1):
        # Without the variable that leaves, if one does.
        inverse, share, lost = 0.0, 0.0, price
        if i < s:
            inverse, share = 1.0 / weight[i], x[i] / weight[i]
            lost = x[i] * (share + held[i])
        for k in range(m):
            own[k] = P[k, i] if i < s else 0.0
            start[k] = excess[k] - share * own[k]
            for q in range(k + 1):
                curvature[k, q] = M[k, q] - inverse * own[k] * own[q]
                curvature[q, k] = curvature[k, q]
        for j in range(p + 1):
            # That nothing enters is a variable without room.
            g, room, low, high, paid = 0.0, 1.0, 0.0, 0.0, lost - price
            b = B[i, j] if i < s and j < p else 0.0
            if j < p:
                low, high, paid = lower[j], upper[j], lost
                g, room = slope[j] - 2.0 * share * b, schur[j] + inverse * b * b
            t = min(max(-0.5 * g / room, low), high)
            least[i, j] = paid + t * (g + room * t)
            if m > 0 and not least[i, j] >= 0.0:
                for k in range(m):
                    pull[k] = (W[k, j] if j < p else 0.0) + inverse * b * own[k]
                least[i, j] = ascend(
                    paid, start, curvature, M, pull, floor, g, room, low, high
                )
    return least


@spliced
def ascend(
    paid: float,
    start: FloatArray,
    curvature: FloatArray,
    size: FloatArray,
    pull: FloatArray,
    floor: FloatArray,
    g: float,
    room: float,
    low: float,
    high: float,
) -> float:
    """The largest value that is found of the dual function of an exchange.

    In the change ``d >= floor`` of the multipliers of the rows it is ``paid + start'd -
    d'(curvature) d / 4`` plus the least ``(g + pull'd) t + room t^2`` between ``low``
    and ``high``.  Once it is not negative, the exchange is of no use.
    """
    m, best, is_whole = len(start), -np.inf, True
    d, excess = np.zeros(m), np.empty(m)
    for step in range(STEPS + 1):
        slope = g
        for k in range(m):
            slope += pull[k] * d[k]
        t = min(max(-0.5 * slope / room, low), high)
        value = paid + t * (slope + room * t)
        for k in range(m):
            bend = 0.0
            for q in range(m):
                bend += curvature[k, q] * d[q]
            value += d[k] * (start[k] - 0.25 * bend)
            excess[k] = start[k] - 0.5 * bend + t * pull[k]
        # After a step that was cut short, the next one may still lead further up.
        is_last = m == 0 or step == STEPS or (is_whole and not value > best)
        best = max(best, value)
        if is_last or not best < 0.0:
            break
        give = 1.0 / room if low < t < high else 0.0
        is_whole = move(d, excess, curvature, size, pull, give, floor)
    return best


@spliced
def move(
    d: FloatArray,
    excess: FloatArray,
    curvature: FloatArray,
    size: FloatArray,
    pull: FloatArray,
    give: float,
    floor: FloatArray,
) -> bool:
    """Move multipliers by a Newton step; return whether none is stopped at its floor.

    Those at their floor stay there, if their rows hold.  The curvature is a difference
    of terms of the given size, which are the units; the variable that enters gives way
    to rows as well, unless it is at a bound.
    """
    m, is_whole = len(d), True
    K, y, unit = np.zeros((m, m)), np.zeros(m), np.zeros(m)
    for k in range(m):
        terms = size[k, k] + give * pull[k] * pull[k]
        if terms > 0.0 and (d[k] > floor[k] or excess[k] > 0.0):
            unit[k] = 1.0 / np.sqrt(terms)
            y[k] = 2.0 * unit[k] * excess[k]
        for q in range(k + 1):
            K[k, q] = curvature[k, q] + give * pull[k] * pull[q]
            K[k, q] *= unit[k] * unit[q]
    y = solve_damped(K, y, DAMPING)
    for k in range(m):
        if unit[k] > 0.0:
            moved = d[k] + unit[k] * y[k]
            is_whole = is_whole and moved >= floor[k]
            d[k] = max(moved, floor[k])
    return is_whole
