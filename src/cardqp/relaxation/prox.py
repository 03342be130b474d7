r"""Compiled: the proximal step of the perspective relaxation, without rows.

With ``v`` the argument of the proximal operator and ``rho = 2 w / L``, the step is

.. math::
    \min_{x, z}\; \tfrac12 |x - v|^2 + \tfrac12 \sum_j \rho_j x_j^2 / z_j
    + (\theta / L) \sum_j z_j
    \quad \text{s.t.} \quad 0 \le z \le 1,\; \sum_j z_j \le K,\;
    l_j z_j \le x_j \le u_j z_j .

It separates once the multiplier ``mu`` of ``sum z`` is known, and comes down to one
increasing scalar equation.  The multiplier is written as ``mu = 1 / (2 r^2)``: in ``r``
the switches are piecewise smooth, and linear where no bound holds ``x / z``, so that
Newton's method needs few steps (docs/theory.md#prox).
"""

import numpy as np

from cardqp._compiled import inner, inner_fast, spliced
from cardqp._typing import FloatArray, IntArray
from cardqp.relaxation.array_loops import filled
from cardqp.relaxation.cluster_selection import members_of
from cardqp.relaxation.group_selection import group_room
from cardqp.relaxation.open_prox import (
    DOWN,
    GAUGE,
    LOWER,
    ON,
    RHO,
    ROOT,
    ROOT_STEPS,
    UP,
    UPPER,
    following_r,
    open_derivative,
    prox_open,
)
from cardqp.relaxation.scaled_data import Data, GroupData, RankOneMetric, Step

# Tolerances of compiled code are constants: Numba compiles them in.
RANK_ONE_STEPS, RANK_ONE_ACCURACY = 30, 1e-3
"""The most Newton steps for the multiplier of a rank-one metric, and its relative
accuracy: an inexact step only costs iterations, never the validity of a bound."""


@inner
def make_step(data: Data, status: IntArray, remaining: int) -> Step:
    """The constants of the proximal step in a node."""
    n, free = len(status), np.empty(len(status), dtype=np.intp)
    count = 0
    for j in range(n):
        if status[j] == 0:
            free[count] = j
            count += 1
    size, vectors = 1.0 / data.lipschitz, np.zeros((GAUGE + 1, n))
    for j in range(n):
        rho = 2.0 * size * data.w[j]
        root = np.sqrt(rho)
        vectors[RHO, j], vectors[ROOT, j] = rho, root
        vectors[LOWER, j], vectors[UPPER, j] = data.lower[j], data.upper[j]
        if status[j] > 0:
            vectors[ON, j] = 1.0
        if status[j] == 0 and data.upper[j] > 0:
            vectors[UP, j] = root
        if status[j] == 0 and data.lower[j] < 0:
            vectors[DOWN, j] = root
    most = np.inf if data.theta == 0 else np.sqrt(0.5 / (size * data.theta))
    room, cap = group_room(data.groups, status), filled(n, np.inf)
    required, required_end = members_of(data.clusters)
    return Step(
        size,
        vectors[RHO],
        free[:count],
        float(remaining),
        most,
        room,
        cap,
        required,
        required_end,
        vectors,
    )


@inner
def sides(data: Data, j: int, v: float) -> tuple[float, float]:
    """The least and the largest ``|x / z|`` on the side of zero on which v lies."""
    if v > 0:
        return max(data.lower[j], 0.0), data.upper[j]
    return max(-data.upper[j], 0.0), -data.lower[j]


@inner
def switch(
    v: float, rho: float, least: float, most: float, r: float
) -> tuple[float, float]:
    """The switch z of one undecided variable and its derivative in r, for v > 0."""
    if v <= 0.0 or most <= 0.0:
        return 0.0, 0.0
    limit = active_limit(rho, least, most, r)
    if limit > 0.0:
        slope = 1.0 / (limit * limit * r * r * r)
        z = (v - 0.5 * rho * limit - 0.5 / (r * r * limit)) / limit
    elif np.isinf(r):
        return 1.0, 0.0
    else:
        slope = v * np.sqrt(rho)
        z = slope * r - rho
    if z <= 0.0:
        return 0.0, 0.0
    if z >= 1.0:
        return 1.0, 0.0
    return z, slope


@inner
def active_limit(rho: float, least: float, most: float, r: float) -> float:
    """The bound at which a fractional switch puts ``x / z``; 0 if it is at none."""
    if rho * most * most * r * r < 1.0:
        return most
    return least if rho * least * least * r * r > 1.0 else 0.0


@inner
def total_bounded(
    data: Data, step: Step, free: IntArray, v: FloatArray, r: float
) -> tuple[float, float]:
    """Sum of the switches of some variables, and its derivative in r.

    For variables with bounds, and with caps on r that groups set.
    """
    total, slope = 0.0, 0.0
    for j in free:
        least, most = sides(data, j, v[j])
        z, dz = switch(abs(v[j]), step.rho[j], least, most, min(r, step.cap[j]))
        total += z
        slope += dz if r < step.cap[j] else 0.0
    return total, slope


@inner
def find_r(
    data: Data,
    step: Step,
    free: IntArray,
    remaining: float,
    v: FloatArray,
    guess: float,
) -> float:
    """The largest r, up to ``r_most``, whose switches sum to ``remaining`` at most.

    The sum is piecewise smooth and increasing in r: Newton's method, kept inside a
    bracket by bisection.
    """
    n_nonzero = 0
    for j in free:
        n_nonzero += v[j] != 0
    # Variables with v = 0 stay zero at any r: the limit cannot bind.
    if n_nonzero <= remaining:
        return step.r_most
    low, high = 0.0, step.r_most
    # r changes little from one iteration to the next, so the last one is a good guess.
    start = guess if 0.0 < guess < high else min(1.0, 0.5 * high)
    r = step.r_most
    for _ in range(ROOT_STEPS):
        total, slope = total_bounded(data, step, free, v, r)
        excess = total - remaining
        if abs(excess) <= 1e-13 * max(remaining, 1.0):
            return r
        if r == step.r_most:
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
def cap_groups(groups: GroupData | None, data: Data, step: Step, v: FloatArray) -> None:
    """Set the cap on r in each group: the largest r at which it meets its own limit.

    With the limits of groups and of all, the switch of a variable is that at the lesser
    of r and its group's cap, since the family of sets that are counted is nested.
    """
    if groups is None:
        return
    members = np.empty(len(step.undecided), dtype=np.intp)
    for g in range(len(step.group_slots)):
        count, guess = 0, 0.0
        for j in step.undecided:
            if groups.label[j] == g:
                members[count] = j
                count += 1
                guess = step.cap[j]
                step.cap[j] = np.inf
        remaining = float(max(step.group_slots[g], 0))
        if count == 0:
            continue
        r = 0.0
        if remaining > 0:
            r = find_r(data, step, members[:count], remaining, v, guess)
        for i in range(count):
            step.cap[members[i]] = r


@inner
def guess_r(step: Step, x: FloatArray) -> float:
    """An estimate of the r whose proximal step gives x; 0 if x is zero.

    Where switches are fractional, ``z = |x| sqrt(rho) r``, and they sum to the limit.
    """
    total = 0.0
    for j in step.undecided:
        total += abs(x[j]) * step.vectors[ROOT, j]
    return step.remaining / total if total > 0 else 0.0


@spliced
def take_step(
    data: Data,
    step: Step,
    status: IntArray,
    v: FloatArray,
    guess: float,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """Take a proximal step without rows; fills x and z and returns r."""
    if data.is_open:
        return prox_open(
            step.vectors,
            step.required,
            step.required_end,
            step.remaining,
            step.r_most,
            v,
            guess,
            x,
            z,
        )
    return prox(data, step, status, v, guess, x, z)


@inner
def prox(
    data: Data,
    step: Step,
    status: IntArray,
    v: FloatArray,
    guess: float,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """Take a proximal step with bounds or groups: see ``take_step``."""
    # Each group alone first: its cap on r does not depend on the others.
    cap_groups(data.groups, data, step, v)
    r = find_r(data, step, step.undecided, step.remaining, v, guess)
    for j in range(len(v)):
        if status[j] != 0:
            z[j] = 1.0 if status[j] > 0 else 0.0
        else:
            least, most = sides(data, j, v[j])
            own = min(r, step.cap[j])
            z[j], _ = switch(abs(v[j]), step.rho[j], least, most, own)
        x[j] = 0.0
        if z[j] > 0:
            point = v[j] / (z[j] + step.rho[j])
            x[j] = z[j] * min(max(point, data.lower[j]), data.upper[j])
    return r


@inner_fast
def generalised_derivative(
    data: Data,
    direction: FloatArray,
    step: Step,
    v: FloatArray,
    r: float,
    z: FloatArray,
) -> float:
    """An element of the generalised derivative of ``direction' x`` along the direction.

    Here x is the proximal step as a function of its argument v; this is
    ``row_curvature`` for one row.
    """
    total, across, tau = 0.0, 0.0, 0.0
    for j in range(len(v)):
        is_split, size = 0.0 < z[j] < 1.0, abs(v[j])
        least, most = sides(data, j, v[j])
        at = size / (1.0 + step.rho[j])
        share = at / size if z[j] > 0 and least < at < most else 0.0
        share = 1.0 if is_split else share
        total += direction[j] * direction[j] * share
        limit = active_limit(step.rho[j], least, most, r)
        is_curved = limit == 0.0
        root = step.vectors[ROOT, j]
        sensitivity = root * r if is_curved else 1.0 / limit
        sensitivity = sensitivity if is_split else 0.0
        across += direction[j] * (sensitivity if v[j] > 0 else -sensitivity)
        tau += size * sensitivity * r * r if is_curved else sensitivity * sensitivity
    if r < step.r_most and tau > 0:
        total -= across * across / tau
    return max(total, 0.0)


@inner_fast
def prox_rank_one(
    data: Data,
    metric: RankOneMetric,
    step: Step,
    status: IntArray,
    y: FloatArray,
    slope: FloatArray,
    multiplier: float,
    guess: float,
    v: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, float]:
    """Take a proximal step in the metric ``I / size + sigma direction direction'``.

    It is the plain one at ``y - size (slope + multiplier direction)`` with the
    multiplier at which ``direction'(x - y) = multiplier / sigma`` (Becker & Fadili
    2012; Becker, Fadili & Ochs 2019): one decreasing equation, solved by semismooth
    Newton steps (Qi & Sun 1993) inside a bracket.  Fills v, x and z; returns r and the
    multiplier.  If sigma is zero, it is the plain step.
    """
    n, direction, sigma = len(y), metric.direction[0], metric.sigma[0]
    size = 0.0
    for j in range(n):
        size += abs(direction[j] * y[j])
    low, high, r = -np.inf, np.inf, guess
    for _ in range(RANK_ONE_STEPS):
        for j in range(n):
            v[j] = y[j] - step.size * (slope[j] + multiplier * direction[j])
        r = take_step(data, step, status, v, r, x, z)
        if sigma == 0:
            break
        movement = 0.0
        for j in range(n):
            movement += direction[j] * (x[j] - y[j])
        value = movement - multiplier / sigma
        if (
            abs(value)
            <= RANK_ONE_ACCURACY * (abs(movement) + abs(multiplier) / sigma)
            + 1e-15 * size
        ):
            break
        # The derivative is at most -1/sigma, which gives the other end of the bracket.
        if value > 0:
            low, high = multiplier, min(high, multiplier + value * sigma)
        else:
            low, high = max(low, multiplier + value * sigma), multiplier
        if data.is_open:
            slack = open_derivative(
                step.vectors,
                step.required,
                step.required_end,
                direction,
                step.r_most,
                v,
                r,
                x,
                z,
            )
        else:
            slack = generalised_derivative(data, direction, step, v, r, z)
        steepness = 1.0 / sigma + step.size * slack
        following = multiplier + value / steepness
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == multiplier:
            break  # the bracket has shrunk to neighbouring numbers
        multiplier = following
    return r, multiplier
