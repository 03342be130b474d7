"""Compiled: the proximal step where bounds are zero or infinite, without branches.

No bound holds ``x / z`` there: the switch of an undecided variable is
``|v| sqrt(rho) r - rho``, cut off at 0 and 1, or zero if the variable may not have the
sign of v.  Clusters of which a variable is required set a least r of their own.

Most time of a search is spent in these loops, and to hand over many arrays would take
longer than they do: the vectors of a node are the rows of one array.
"""

import numpy as np

from cardqp._compiled import inner, inner_fast
from cardqp._typing import FloatArray, IntArray

# Tolerances of compiled code are constants: Numba compiles them in.
ROOT_STEPS = 100
"""A safety: bracketed Newton steps end after a few."""

RHO, ROOT, UP, DOWN, ON, LOWER, UPPER, FLOOR, GAUGE = range(9)
"""The rows of the vectors of a node, of which ``make_step`` fills in the first seven.

``ROOT`` is the root of rho.  ``UP`` and ``DOWN`` are the same for undecided variables
that may be positive, or negative, and zero for others; ``ON`` is one for variables that
are switched on, and zero for others; ``FLOOR`` is the least r, set by clusters in each
step.  ``GAUGE`` is ``|v|`` times the root that belongs to the sign of v; each step
fills it in.
"""


@inner
def following_r(
    low: float, high: float, r: float, excess: float, slope: float
) -> float:
    """The next r of Newton's method for an increasing function, inside a bracket."""
    following = r - excess / slope if slope > 0 else -1.0
    if low < following < high:
        return following
    # Where the function is flat, or the Newton step leaves the bracket: bisect, or
    # enlarge the bracket as long as it has no upper end.
    return 4.0 * r + 1e-300 if np.isinf(high) else 0.5 * (low + high)


@inner_fast
def find_open_r(
    gauge: FloatArray,
    rho: FloatArray,
    floor: FloatArray,
    remaining: float,
    r_most: float,
    guess: float,
) -> float:
    """The largest r, up to ``r_most``, whose switches sum to ``remaining`` at most.

    The sum is piecewise linear and increasing in r: Newton's method, kept inside a
    bracket by bisection.
    """
    n_nonzero = 0
    for i in range(len(gauge)):
        n_nonzero += gauge[i] > 0
    # Variables with v = 0 stay zero at any r: the limit cannot bind.
    if n_nonzero <= remaining:
        return r_most
    low, high = 0.0, r_most
    # r changes little from one iteration to the next, so the last one is a good guess.
    start = guess if 0.0 < guess < high else min(1.0, 0.5 * high)
    # The sum at r = inf counts the nonzeros, which are more than remain.
    r = start if np.isinf(r_most) else r_most
    for _ in range(ROOT_STEPS):
        total, slope = 0.0, 0.0
        for i in range(len(gauge)):
            z = min(max(gauge[i] * max(r, floor[i]) - rho[i], 0.0), 1.0)
            total += z
            slope += gauge[i] if 0.0 < z < 1.0 and r >= floor[i] else 0.0
        excess = total - remaining
        if abs(excess) <= 1e-13 * max(remaining, 1.0):
            return r
        if r == r_most:
            if excess < 0:
                return r
            r = start
            continue
        if excess > 0:
            high = r
        else:
            low = r
        following = following_r(low, high, r, excess, slope)
        if following == r or high <= low * (1.0 + 1e-15):
            break
        r = following
    # The lower end of the bracket respects the limit, whatever rounding does.
    return low if low > 0 else r


@inner
def floor_clusters(
    vectors: FloatArray, required: IntArray, required_end: IntArray
) -> int:
    """Set the least r in each required cluster: that at which its switches sum to one.

    Where r is larger, the cluster is met anyway.  Returns how many clusters have no
    nonzero in v: they take up a slot, with switches that do not matter.
    """
    n_zero, start = 0, 0
    rho, gauge, floor = vectors[RHO], vectors[GAUGE], vectors[FLOOR]
    for end in required_end:
        size, n_nonzero, r, guess = end - start, 0, 0.0, 0.0
        own_gauge, own_rho = np.empty(size), np.empty(size)
        for i in range(size):
            j = required[start + i]
            own_gauge[i], own_rho[i], guess = gauge[j], rho[j], floor[j]
            if gauge[j] > 0:
                n_nonzero += 1
                # What a single nonzero needs to be switched on.
                r = (1.0 + rho[j]) / gauge[j]
        if n_nonzero > 1:
            r = find_open_r(own_gauge, own_rho, np.zeros(size), 1.0, np.inf, guess)
        n_zero += n_nonzero == 0
        for j in required[start:end]:
            floor[j] = r
        start = end
    return n_zero


@inner_fast
def prox_open(
    vectors: FloatArray,
    required: IntArray,
    required_end: IntArray,
    remaining: float,
    r_most: float,
    v: FloatArray,
    guess: float,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """Take a proximal step without rows; fills x and z and returns r."""
    rho, up, down, on = vectors[RHO], vectors[UP], vectors[DOWN], vectors[ON]
    lower, upper = vectors[LOWER], vectors[UPPER]
    floor, gauge = vectors[FLOOR], vectors[GAUGE]
    for j in range(len(v)):
        gauge[j] = max(v[j] * up[j], -v[j] * down[j])
    if len(required_end) > 0:
        remaining -= floor_clusters(vectors, required, required_end)
    r = find_open_r(gauge, rho, floor, remaining, r_most, guess)
    if np.isinf(r):
        for j in range(len(v)):
            z[j] = 1.0 if gauge[j] > 0 else on[j]
    else:
        for j in range(len(v)):
            z[j] = max(min(gauge[j] * max(r, floor[j]) - rho[j], 1.0), on[j])
    for j in range(len(v)):
        x[j] = z[j] * min(max(v[j] / (z[j] + rho[j]), lower[j]), upper[j])
    return r


@inner_fast
def open_movement(
    vectors: FloatArray,
    v: FloatArray,
    r: float,
    x: FloatArray,
    z: FloatArray,
    D: FloatArray,
    y: FloatArray,
) -> float:
    """Fill in how x follows v, and the multiplier of ``sum z``: see ``row_curvature``.

    Returns tau.  Clusters have an r of their own where their floor is larger.
    """
    rho, root, gauge = vectors[RHO], vectors[ROOT], vectors[GAUGE]
    floor, tau = vectors[FLOOR], 0.0
    for j in range(len(v)):
        is_split = 0.0 < z[j] < 1.0
        # A variable that is on, and held at zero by a bound, does not move.
        share = 1.0 / (1.0 + rho[j]) if x[j] != 0.0 else 0.0
        D[j] = 1.0 if is_split else share
        is_moved = is_split and floor[j] <= r
        sensitivity = root[j] * r if is_moved else 0.0
        y[j] = sensitivity if v[j] > 0 else -sensitivity
        tau += gauge[j] if is_moved else 0.0
    return tau * r * r * r if tau > 0 else 0.0


@inner
def cluster_curvature(
    vectors: FloatArray,
    required: IntArray,
    required_end: IntArray,
    direction: FloatArray,
    v: FloatArray,
    r: float,
    z: FloatArray,
) -> float:
    """How much less ``direction' x`` moves because clusters have an r of their own."""
    root, gauge, floor = vectors[ROOT], vectors[GAUGE], vectors[FLOOR]
    total, start = 0.0, 0
    for end in required_end:
        across, tau, own = 0.0, 0.0, 0.0
        for j in required[start:end]:
            own = floor[j]
            if own > r and 0.0 < z[j] < 1.0:
                across += direction[j] * (root[j] if v[j] > 0 else -root[j])
                tau += gauge[j]
        start = end
        if tau > 0:
            total += across * across / (tau * own)
    return total


@inner_fast
def open_derivative(
    vectors: FloatArray,
    required: IntArray,
    required_end: IntArray,
    direction: FloatArray,
    r_most: float,
    v: FloatArray,
    r: float,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """An element of the generalised derivative of ``direction' x`` along the direction.

    Here x is the proximal step as a function of its argument v; this is
    ``row_curvature`` for one row.
    """
    D, y, total, across = np.empty(len(v)), np.empty(len(v)), 0.0, 0.0
    tau = open_movement(vectors, v, r, x, z, D, y)
    for j in range(len(v)):
        total += direction[j] * direction[j] * D[j]
        across += direction[j] * y[j]
    # At r_most the multiplier is the price alone, and does not react.
    if r < r_most and tau > 0:
        total -= across * across / tau
    if len(required_end) > 0:
        total -= cluster_curvature(vectors, required, required_end, direction, v, r, z)
    return max(total, 0.0)
