"""Compiled: the proximal step where bounds are zero or infinite, without branches.

No bound holds ``x / z`` there: the switch of an undecided variable is
``|v| sqrt(rho) r - rho``, cut off at 0 and 1, or zero if the variable may not have the
sign of v.  Most time of a search is spent in these loops, and to hand over many arrays
would take longer than they do: the vectors of a node are the rows of one array.
"""

import numpy as np

from cardqp._compiled import inner, inner_fast, spliced
from cardqp._typing import FloatArray, IntArray
from cardqp.relaxation.scaled_data import Data

# Tolerances of compiled code are constants: Numba compiles them in.
ROOT_STEPS = 100
"""A safety: bracketed Newton steps end after a few."""

RHO, ROOT, UP, DOWN, ON, LOWER, UPPER, GAUGE = range(8)
"""The rows of ``open_vectors``.

``ROOT`` is the root of rho.  ``UP`` and ``DOWN`` are the same for undecided variables
that may be positive, or negative, and zero for others; ``ON`` is one for variables that
are switched on, and zero for others.  ``GAUGE`` is ``|v|`` times the root that belongs
to the sign of v; each step fills it in.
"""


@inner
def open_vectors(data: Data, rho: FloatArray, status: IntArray) -> FloatArray:
    """The vectors of a node that its steps need, as rows of an array."""
    vectors = np.zeros((8, len(rho)))
    for j in range(len(rho)):
        root = np.sqrt(rho[j])
        vectors[RHO, j], vectors[ROOT, j] = rho[j], root
        vectors[LOWER, j], vectors[UPPER, j] = data.lower[j], data.upper[j]
        if status[j] > 0:
            vectors[ON, j] = 1.0
        if status[j] == 0:
            vectors[UP, j] = root if data.upper[j] > 0 else 0.0
            vectors[DOWN, j] = root if data.lower[j] < 0 else 0.0
    return vectors


@spliced
def total_open(gauge: FloatArray, rho: FloatArray, r: float) -> tuple[float, float]:
    """Sum of the switches, and its derivative in r."""
    total, slope = 0.0, 0.0
    for i in range(len(gauge)):
        z = min(max(gauge[i] * r - rho[i], 0.0), 1.0)
        total += z
        slope += gauge[i] if 0.0 < z < 1.0 else 0.0
    return total, slope


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
    gauge: FloatArray, rho: FloatArray, remaining: float, r_most: float, guess: float
) -> float:
    """The largest r, up to ``r_most``, whose switches sum to ``remaining`` at most."""
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
        total, slope = total_open(gauge, rho, r)
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


@inner_fast
def prox_open(
    vectors: FloatArray,
    remaining: float,
    r_most: float,
    v: FloatArray,
    guess: float,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """Take a proximal step without rows; fills x and z and returns r."""
    rho, up, down, on = vectors[RHO], vectors[UP], vectors[DOWN], vectors[ON]
    lower, upper, gauge = vectors[LOWER], vectors[UPPER], vectors[GAUGE]
    for j in range(len(v)):
        gauge[j] = max(v[j] * up[j], -v[j] * down[j])
    r = find_open_r(gauge, rho, remaining, r_most, guess)
    if np.isinf(r):
        for j in range(len(v)):
            z[j] = 1.0 if gauge[j] > 0 else on[j]
    else:
        for j in range(len(v)):
            z[j] = max(min(gauge[j] * r - rho[j], 1.0), on[j])
    for j in range(len(v)):
        x[j] = z[j] * min(max(v[j] / (z[j] + rho[j]), lower[j]), upper[j])
    return r


@inner_fast
def open_derivative(
    vectors: FloatArray,
    direction: FloatArray,
    r_most: float,
    v: FloatArray,
    r: float,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """An element of the generalised derivative of ``direction' x`` along the direction.

    Here x is the proximal step as a function of its argument v.
    """
    rho, root, gauge = vectors[RHO], vectors[ROOT], vectors[GAUGE]
    total, across, tau = 0.0, 0.0, 0.0
    for j in range(len(v)):
        is_split = 0.0 < z[j] < 1.0
        # A variable that is on, and held at zero by a bound, does not move.
        share = 1.0 / (1.0 + rho[j]) if x[j] != 0.0 else 0.0
        total += direction[j] * direction[j] * (1.0 if is_split else share)
        sensitivity = root[j] if is_split else 0.0
        across += direction[j] * (sensitivity if v[j] > 0 else -sensitivity)
        tau += gauge[j] if is_split else 0.0
    # At r_most the multiplier is the price alone, and does not react.
    if r < r_most and tau > 0:
        total -= across * across / (tau * r)
    return max(total, 0.0)


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

    Returns tau.
    """
    rho, root, gauge = vectors[RHO], vectors[ROOT], vectors[GAUGE]
    tau = 0.0
    for j in range(len(v)):
        is_split = 0.0 < z[j] < 1.0
        share = 1.0 / (1.0 + rho[j]) if x[j] != 0.0 else 0.0
        D[j] = 1.0 if is_split else share
        sensitivity = root[j] * r if is_split else 0.0
        y[j] = sensitivity if v[j] > 0 else -sensitivity
        tau += gauge[j] if is_split else 0.0
    return tau * r * r * r if tau > 0 else 0.0
