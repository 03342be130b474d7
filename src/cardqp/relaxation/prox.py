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

from cardqp._compiled import NO, inner, inner_fast, spliced
from cardqp._typing import FloatArray, IntArray
from cardqp.relaxation.array_loops import filled
from cardqp.relaxation.cluster_selection import members_of
from cardqp.relaxation.group_selection import group_room
from cardqp.relaxation.open_prox import (
    ROOT_STEPS,
    following_r,
    open_derivative,
    open_vectors,
    prox_open,
    total_open,
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
    size = 1.0 / data.lipschitz
    rho, root = np.empty(n), np.empty(n)
    for j in range(n):
        rho[j] = 2.0 * size * data.w[j]
        root[j] = np.sqrt(rho[j])
    most = np.inf if data.theta == 0 else np.sqrt(0.5 / (size * data.theta))
    room, cap = group_room(data.groups, status), filled(n, np.inf)
    required, required_end = members_of(data.clusters)
    is_plain = data.is_open and len(required_end) == 0
    return Step(
        size,
        rho,
        root,
        free[:count],
        float(remaining),
        most,
        room,
        cap,
        required,
        required_end,
        np.zeros(n),
        is_plain,
        open_vectors(data, rho, status),
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


@inner_fast
def total_floored(
    gauge: FloatArray, rho: FloatArray, floor: FloatArray, r: float
) -> tuple[float, float]:
    """Sum of switches and derivative where clusters set the least r of variables."""
    total, slope = 0.0, 0.0
    for i in range(len(gauge)):
        z = min(max(gauge[i] * max(r, floor[i]) - rho[i], 0.0), 1.0)
        total += z
        slope += gauge[i] if 0.0 < z < 1.0 and r >= floor[i] else 0.0
    return total, slope


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


@inner_fast
def find_r(
    data: Data,
    step: Step,
    free: IntArray,
    remaining: float,
    v: FloatArray,
    guess: float,
    has_floors: bool,
) -> float:
    """The largest r, up to ``r_most``, whose switches sum to ``remaining`` at most.

    The sum is piecewise smooth and increasing in r: Newton's method, kept inside a
    bracket by bisection.
    """
    count = len(free)
    gauge, rho = np.empty(count), np.empty(count)
    floor = np.empty(count if has_floors else 0)
    n_nonzero = 0
    for i in range(count):
        j = free[i]
        gauge[i] = abs(v[j]) * step.root[j]
        rho[i] = step.rho[j]
        n_nonzero += gauge[i] > 0
    for i in range(len(floor)):
        floor[i] = step.floor[free[i]]
    # Variables with v = 0 stay zero at any r: the limit cannot bind.
    if n_nonzero <= remaining:
        return step.r_most
    low, high = 0.0, step.r_most
    # r changes little from one iteration to the next, so the last one is a good guess.
    start = guess if 0.0 < guess < high else min(1.0, 0.5 * high)
    # Without bounds and price the sum at r = inf counts the nonzeros, which are more.
    may_be_most = not np.isinf(step.r_most) or not data.is_open
    r = step.r_most if may_be_most else start
    for _ in range(ROOT_STEPS):
        if has_floors:
            total, slope = total_floored(gauge, rho, floor, r)
        elif data.is_open:
            total, slope = total_open(gauge, rho, r)
        else:
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
            r = find_r(data, step, members[:count], remaining, v, guess, NO)
        for i in range(count):
            step.cap[members[i]] = r


@inner
def floor_clusters(data: Data, step: Step, v: FloatArray) -> int:
    """Set the least r in each required cluster: that at which its switches sum to one.

    Where r is larger, the cluster is met anyway.  Returns how many clusters have no
    nonzero in v: they take up a slot, with switches that do not matter.
    """
    n_zero, start = 0, 0
    for end in step.required_end:
        members, n_nonzero, r, guess = step.required[start:end], 0, 0.0, 0.0
        start = end
        for j in members:
            n_nonzero += v[j] != 0
            if v[j] != 0:
                # What a single nonzero needs to be switched on.
                r = (1.0 + step.rho[j]) / (abs(v[j]) * step.root[j])
            guess = step.floor[j]
        if n_nonzero > 1:
            r = find_r(data, step, members, 1.0, v, guess, NO)
        n_zero += n_nonzero == 0
        for j in members:
            step.floor[j] = r
    return n_zero


@inner
def guess_r(step: Step, x: FloatArray) -> float:
    """An estimate of the r whose proximal step gives x; 0 if x is zero.

    Where switches are fractional, ``z = |x| sqrt(rho) r``, and they sum to the limit.
    """
    total = 0.0
    for j in step.undecided:
        total += abs(x[j]) * step.root[j]
    return step.remaining / total if total > 0 else 0.0


@inner_fast
def fill_open(
    step: Step, status: IntArray, v: FloatArray, r: float, x: FloatArray, z: FloatArray
) -> None:
    """Fill in switches and point at a finite r, for unbounded variables."""
    for j in range(len(v)):
        z[j] = min(max(abs(v[j]) * step.root[j] * r - step.rho[j], 0.0), 1.0)
    for j in range(len(v)):
        if status[j] != 0:
            z[j] = 1.0 if status[j] > 0 else 0.0
    for j in range(len(v)):
        x[j] = v[j] * z[j] / (z[j] + step.rho[j])


@inner_fast
def raise_to_floors(step: Step, v: FloatArray, x: FloatArray, z: FloatArray) -> None:
    """Fill in switches and point where clusters set a larger r: see ``fill_open``."""
    for j in step.required:
        own = min(max(abs(v[j]) * step.root[j] * step.floor[j] - step.rho[j], 0.0), 1.0)
        z[j] = max(z[j], own)
        x[j] = v[j] * z[j] / (z[j] + step.rho[j])


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
    if step.is_plain:
        return prox_open(step.vectors, step.remaining, step.r_most, v, guess, x, z)
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
    """Take a proximal step with bounds, groups or clusters: see ``take_step``."""
    # Each group alone first: its cap on r does not depend on the others.
    cap_groups(data.groups, data, step, v)
    slots, has_floors = step.remaining, len(step.required_end) > 0
    if has_floors:
        slots -= floor_clusters(data, step, v)
    r = find_r(data, step, step.undecided, slots, v, guess, has_floors)
    # Where clusters are required there are no bounds.
    if data.is_open and not np.isinf(r):
        fill_open(step, status, v, r, x, z)
        raise_to_floors(step, v, x, z)
        return r
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
        sensitivity = step.root[j] * r if is_curved else 1.0 / limit
        sensitivity = sensitivity if is_split else 0.0
        across += direction[j] * (sensitivity if v[j] > 0 else -sensitivity)
        tau += size * sensitivity * r * r if is_curved else sensitivity * sensitivity
    if r < step.r_most and tau > 0:
        total -= across * across / tau
    return max(total, 0.0)


@inner_fast
def clustered_derivative(
    direction: FloatArray, step: Step, v: FloatArray, r: float, z: FloatArray
) -> float:
    """The same without bounds, where some clusters have an r of their own."""
    total, across, tau = 0.0, 0.0, 0.0
    for j in range(len(v)):
        if z[j] <= 0.0:
            continue
        is_split = z[j] < 1.0
        share = 1.0 if is_split else 1.0 / (1.0 + step.rho[j])
        total += direction[j] * direction[j] * share
        if is_split and step.floor[j] <= r:
            sensitivity = step.root[j] * r
            across += direction[j] * (sensitivity if v[j] > 0 else -sensitivity)
            tau += abs(v[j]) * sensitivity * r * r
    if r < step.r_most and tau > 0:
        total -= across * across / tau
    start = 0
    for end in step.required_end:
        across, tau = 0.0, 0.0
        for j in step.required[start:end]:
            own = step.floor[j]
            if own > r and 0.0 < z[j] < 1.0:
                sensitivity = step.root[j] * own
                across += direction[j] * (sensitivity if v[j] > 0 else -sensitivity)
                tau += abs(v[j]) * sensitivity * own * own
        start = end
        if tau > 0:
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
        if step.is_plain:
            slack = open_derivative(step.vectors, direction, step.r_most, v, r, x, z)
        elif len(step.required_end) > 0:
            slack = clustered_derivative(direction, step, v, r, z)
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
