r"""Compiled loops of the perspective relaxation.

The relaxation of a node is

.. math::
    \min_x\; c^\top x + x^\top Q x
    + \min_z \Bigl\{ \sum_j w_j x_j^2 / z_j + \theta z_j \;:\;
      l_j z_j \le x_j \le u_j z_j,\; 0 \le z \le 1,\; \sum_j z_j \le s \Bigr\}
    \quad \text{s.t. rows,}

solved by an accelerated proximal gradient method with restarts.  All arrays are in
scaled units (see ``relaxation.py``).  ``status`` is 1 for a variable switched on, 0
for a free one and -1 for one switched off; ``slots`` counts the free ones that may be
switched on.  In the prox, ``v`` is the point to be projected, ``rho = 2 w / L``, and
the multiplier of ``sum z`` is written as ``mu = 1 / (2 r^2)``: in ``r`` the switches
are piecewise linear.

All kernels are in one file because Numba's cache on disk notices changes of the file
of the function that is called, not of files it calls into.
"""

import numpy as np

from cardqp._compiled import compiled
from cardqp._typing import BoolArray, FloatArray, IntArray

ROOT_STEPS = 100
NEWTON_STEPS = 30
DAMPINGS = 12
TILT_STEPS, TILT_ACCURACY = 30, 1e-3
CHECK_EVERY = 5


@compiled
def switch(v: float, rho: float, u: float, r: float) -> tuple[float, float]:
    """The switch z of one free variable and its derivative in r, for v > 0."""
    if v <= 0.0 or u <= 0.0:
        return 0.0, 0.0
    if np.isinf(r):
        return 1.0, 0.0
    if rho * u * u * r * r >= 1.0:
        slope = v * np.sqrt(rho)
        z = slope * r - rho
    else:
        slope = 1.0 / (u * u * r * r * r)
        z = (v - 0.5 * rho * u - 0.5 / (r * r * u)) / u
    if z <= 0.0:
        return 0.0, 0.0
    if z >= 1.0:
        return 1.0, 0.0
    return z, slope


@compiled
def total_switch(
    v: FloatArray,
    rho: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    status: FloatArray,
    r: float,
) -> tuple[float, float]:
    """Sum of the switches of free variables, and its derivative."""
    total, slope = 0.0, 0.0
    for j in range(len(v)):
        if status[j] == 0:
            side = upper[j] if v[j] > 0 else -lower[j]
            z, dz = switch(abs(v[j]), rho[j], side, r)
            total += z
            slope += dz
    return total, slope


@compiled
def find_r(
    v: FloatArray,
    rho: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    status: FloatArray,
    slots: float,
    r_most: float,
    guess: float,
) -> float:
    """The largest r up to ``r_most`` at which the switches fit into the slots.

    Newton's method on a piecewise smooth increasing function, kept inside a bracket.
    """
    total, _ = total_switch(v, rho, lower, upper, status, r_most)
    if total <= slots:
        return r_most
    low, high = 0.0, r_most
    r = guess if 0.0 < guess < r_most else min(1.0, 0.5 * r_most)
    for _ in range(ROOT_STEPS):
        total, slope = total_switch(v, rho, lower, upper, status, r)
        excess = total - slots
        if abs(excess) <= 1e-13 * max(slots, 1.0):
            return r
        if excess > 0:
            high = r
        else:
            low = r
        following = r - excess / slope if slope > 0 else -1.0
        if not low < following < high:
            following = 4.0 * r + 1e-300 if np.isinf(high) else 0.5 * (low + high)
        if following == r or high <= low * (1.0 + 1e-15):
            break
        r = following
    return low if low > 0 else r


@compiled
def prox(
    v: FloatArray,
    rho: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    status: FloatArray,
    slots: float,
    r_most: float,
    guess: float,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """Proximal step without rows; fills x and z and returns r."""
    r = find_r(v, rho, lower, upper, status, slots, r_most, guess)
    for j in range(len(v)):
        if status[j] > 0:
            z[j] = 1.0
        elif status[j] < 0:
            z[j] = 0.0
        else:
            side = upper[j] if v[j] > 0 else -lower[j]
            z[j], _ = switch(abs(v[j]), rho[j], side, r)
        if z[j] > 0:
            x[j] = z[j] * min(max(v[j] / (z[j] + rho[j]), lower[j]), upper[j])
        else:
            x[j] = 0.0
    return r


@compiled
def combine_rows(A: FloatArray, nu: FloatArray) -> FloatArray:
    """``A' nu``."""
    total = np.zeros(A.shape[1])
    for i in range(len(nu)):
        if nu[i] != 0:
            for j in range(A.shape[1]):
                total[j] += nu[i] * A[i, j]
    return total


@compiled
def shift(v: FloatArray, A: FloatArray, nu: FloatArray) -> FloatArray:
    """``v - A' nu``: the point whose plain prox respects the multipliers."""
    result = combine_rows(A, nu)
    for j in range(len(v)):
        result[j] = v[j] - result[j]
    return result


@compiled
def copy_into(target: FloatArray, source: FloatArray) -> None:
    """Overwrite an array (a plain loop compiles ten times faster than a slice)."""
    for j in range(len(source)):
        target[j] = source[j]


@compiled
def row_value(
    v: FloatArray,
    rho: FloatArray,
    r_most: float,
    A: FloatArray,
    b: FloatArray,
    nu: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """The concave function of the row multipliers that the prox maximises."""
    price = 0.0 if np.isinf(r_most) else 0.5 / (r_most * r_most)
    value = 0.0
    for j in range(len(v)):
        value += 0.5 * (x[j] - v[j]) ** 2
        if z[j] > 0:
            value += 0.5 * rho[j] * x[j] * x[j] / z[j] + price * z[j]
    for i in range(len(b)):
        value += nu[i] * (np.dot(A[i], x) - b[i])
    return value


@compiled
def row_excess(
    A: FloatArray, b: FloatArray, equal: BoolArray, nu: FloatArray, x: FloatArray
) -> tuple[FloatArray, float]:
    """``A x - b`` and the largest departure from complementarity."""
    excess = np.empty(len(b))
    worst = 0.0
    for i in range(len(b)):
        excess[i] = np.dot(A[i], x) - b[i]
        if equal[i] or nu[i] > 0:
            worst = max(worst, abs(excess[i]))
        else:
            worst = max(worst, excess[i])
    return excess, worst


@compiled
def row_curvature(
    v: FloatArray,
    rho: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    A: FloatArray,
    active: IntArray,
    r: float,
    is_full: bool,
    z: FloatArray,
) -> FloatArray:
    """Generalised Jacobian of ``A x(nu)``: A (D - y y' / tau) A' on active rows.

    ``D`` is the derivative of x at a fixed multiplier of ``sum z``; the rank-one term
    comes from that multiplier when the slots are full.
    """
    n, p = len(v), len(active)
    D, y, tau = np.zeros(n), np.zeros(n), 0.0
    for j in range(n):
        if z[j] <= 0:
            continue
        if z[j] >= 1:
            point = v[j] / (1.0 + rho[j])
            if lower[j] < point < upper[j]:
                D[j] = 1.0 / (1.0 + rho[j])
            continue
        D[j] = 1.0
        side = upper[j] if v[j] > 0 else -lower[j]
        sign = 1.0 if v[j] > 0 else -1.0
        if rho[j] * side * side * r * r >= 1.0:
            y[j] = sign * np.sqrt(rho[j]) * r
            tau += abs(v[j]) * np.sqrt(rho[j]) * r * r * r
        else:
            y[j] = sign / side
            tau += 1.0 / (side * side)
    J = np.zeros((p, p))
    Ay = np.zeros(p)
    for a in range(p):
        for j in range(n):
            Ay[a] += A[active[a], j] * y[j]
        for e in range(a + 1):
            t = 0.0
            for j in range(n):
                if D[j] > 0:
                    t += A[active[a], j] * A[active[e], j] * D[j]
            J[a, e] = t
            J[e, a] = t
    if is_full and tau > 0:
        for a in range(p):
            for e in range(p):
                J[a, e] -= Ay[a] * Ay[e] / tau
    return J


@compiled
def prox_tilted(
    y: FloatArray,
    slope: FloatArray,
    direction: FloatArray,
    sigma: float,
    step: float,
    tilt: float,
    rho: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    status: FloatArray,
    slots: float,
    r_most: float,
    guess: float,
    v: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, float]:
    """Proximal step in the metric ``I / step + sigma direction direction'``.

    It is the plain prox at ``y - step (slope + tilt direction)`` with the tilt at which
    ``direction'(x - y) = tilt / sigma``: one decreasing equation, solved by semismooth
    Newton steps inside a bracket.  Fills v, x and z; returns r and the tilt.
    """
    n = len(y)
    size = 0.0
    for j in range(n):
        size += abs(direction[j] * y[j])
    as_row = direction.reshape((1, n))
    only = np.zeros(1, dtype=np.intp)
    low, high, r = -np.inf, np.inf, guess
    for _ in range(TILT_STEPS):
        for j in range(n):
            v[j] = y[j] - step * (slope[j] + tilt * direction[j])
        r = prox(v, rho, lower, upper, status, slots, r_most, r, x, z)
        moved = 0.0
        for j in range(n):
            moved += direction[j] * (x[j] - y[j])
        value = moved - tilt / sigma
        if (
            abs(value)
            <= TILT_ACCURACY * (abs(moved) + abs(tilt) / sigma) + 1e-15 * size
        ):
            break
        # The derivative is at most -1/sigma, which gives the other end.
        if value > 0:
            low, high = tilt, min(high, tilt + value * sigma)
        else:
            low, high = max(low, tilt + value * sigma), tilt
        bend = row_curvature(v, rho, lower, upper, as_row, only, r, r < r_most, z)
        following = tilt + value / (1.0 / sigma + step * max(bend[0, 0], 0.0))
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == tilt:
            break
        tilt = following
    return r, tilt


@compiled
def active_rows(equal: BoolArray, nu: FloatArray, excess: FloatArray) -> IntArray:
    """Rows that take part in the next step: equalities, active and violated ones."""
    active = np.empty(len(nu), dtype=np.intp)
    count = 0
    for i in range(len(nu)):
        if equal[i] or nu[i] > 0 or excess[i] > 0:
            active[count] = i
            count += 1
    return active[:count]


@compiled
def solve_damped(J: FloatArray, rhs: FloatArray, damping: float) -> FloatArray:
    """Solve ``(J + damping (I + diag J)) y = rhs`` by a Cholesky factorisation.

    Rows can be dependent, so pivots are kept away from zero.
    """
    p = len(rhs)
    R, y = J.copy(), rhs.copy()
    for a in range(p):
        R[a, a] += damping * (1.0 + J[a, a])
        for e in range(a):
            R[a, a] -= R[a, e] * R[a, e]
        R[a, a] = np.sqrt(max(R[a, a], 1e-14 * (1.0 + J[a, a])))
        for i in range(a + 1, p):
            for e in range(a):
                R[i, a] -= R[i, e] * R[a, e]
            R[i, a] /= R[a, a]
    for a in range(p):
        for e in range(a):
            y[a] -= R[a, e] * y[e]
        y[a] /= R[a, a]
    for a in range(p - 1, -1, -1):
        for e in range(a + 1, p):
            y[a] -= R[e, a] * y[e]
        y[a] /= R[a, a]
    return y


@compiled
def newton_step(
    J: FloatArray,
    excess: FloatArray,
    active: IntArray,
    equal: BoolArray,
    nu: FloatArray,
    damping: float,
) -> FloatArray:
    """Multipliers after a damped Newton step, inequalities kept nonnegative."""
    rhs = np.empty(len(active))
    for a in range(len(active)):
        rhs[a] = excess[active[a]]
    move = solve_damped(J, rhs, damping)
    following = nu.copy()
    for a in range(len(active)):
        i = active[a]
        following[i] += move[a]
        if not equal[i] and following[i] < 0:
            following[i] = 0.0
    return following


@compiled
def prox_rows(
    v: FloatArray,
    rho: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    status: FloatArray,
    slots: float,
    r_most: float,
    guess: float,
    A: FloatArray,
    b: FloatArray,
    equal: BoolArray,
    nu: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, float]:
    """Proximal step with rows: damped semismooth Newton in their multipliers.

    Starts at ``nu`` and updates it; fills x and z.  Returns r and the departure of the
    rows from complementarity.
    """
    shifted = shift(v, A, nu)
    r = prox(shifted, rho, lower, upper, status, slots, r_most, guess, x, z)
    value = row_value(v, rho, r_most, A, b, nu, x, z)
    excess, worst = row_excess(A, b, equal, nu, x)
    size = 1.0
    for i in range(len(b)):
        size = max(size, abs(b[i]))
    x_try, z_try = np.empty_like(x), np.empty_like(z)
    damping = 1e-10
    for _ in range(NEWTON_STEPS):
        if worst <= 1e-10 * size:
            break
        active = active_rows(equal, nu, excess)
        J = row_curvature(shifted, rho, lower, upper, A, active, r, r < r_most, z)
        rising = False
        for _ in range(DAMPINGS):
            nu_try = newton_step(J, excess, active, equal, nu, damping)
            shifted_try = shift(v, A, nu_try)
            r_try = prox(
                shifted_try, rho, lower, upper, status, slots, r_most, r, x_try, z_try
            )
            value_try = row_value(v, rho, r_most, A, b, nu_try, x_try, z_try)
            excess_try, worst_try = row_excess(A, b, equal, nu_try, x_try)
            if value_try > value or worst_try < 0.5 * worst:
                rising = True
                break
            damping = max(16.0 * damping, 1e-10)
        if not rising:
            break
        damping = max(0.1 * damping, 1e-12)
        value, worst, r = value_try, worst_try, r_try
        copy_into(nu, nu_try)
        copy_into(x, x_try)
        copy_into(z, z_try)
        shifted, excess = shifted_try, excess_try
    return r, worst / size


@compiled
def multiply(M: FloatArray, is_gram: bool, x: FloatArray) -> FloatArray:
    """``Q x`` from the rows of Q, or of the transposed factor, where x is nonzero."""
    y = np.zeros(M.shape[1])
    for j in range(len(x)):
        if x[j] != 0:
            for i in range(M.shape[1]):
                y[i] += x[j] * M[j, i]
    return y if is_gram else np.dot(M, y)


@compiled
def largest_sum(values: FloatArray, count: int) -> float:
    """Sum of the ``count`` largest values, which are reordered (quickselect)."""
    n = len(values)
    if count < n:
        low, high = 0, n - 1
        while low < high:
            pivot = values[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while values[i] > pivot:
                    i += 1
                while values[j] < pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if count - 1 <= j:
                high = j
            elif count - 1 >= i:
                low = i
            else:
                break
    total = 0.0
    for i in range(min(count, n)):
        total += values[i]
    return total


@compiled
def dual_value(
    Qx: FloatArray,
    x: FloatArray,
    c: FloatArray,
    w: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    theta: float,
    A: FloatArray,
    b: FloatArray,
    beta: FloatArray,
    status: FloatArray,
    slots: float,
) -> float:
    """Theorem 1 at the tangent in x, without rounding margins."""
    n = len(c)
    row_slope = combine_rows(A, beta)
    total = -float(np.dot(x, Qx)) - float(np.dot(beta, b))
    gains = np.zeros(n)
    for j in range(n):
        if status[j] < 0:
            continue
        g = c[j] + 2.0 * Qx[j] + row_slope[j]
        t = min(max(-g / (2.0 * w[j]), lower[j]), upper[j])
        cost = t * (g + w[j] * t) + theta
        if status[j] > 0:
            total += cost
        elif cost < 0:
            gains[j] = -cost
    return total - largest_sum(gains, int(slots))


@compiled
def relaxed_value(
    Qx: FloatArray,
    x: FloatArray,
    z: FloatArray,
    c: FloatArray,
    w: FloatArray,
    theta: float,
) -> float:
    """The objective of the relaxation."""
    value = 0.0
    for j in range(len(x)):
        value += x[j] * (c[j] + Qx[j])
        if z[j] > 0:
            value += w[j] * x[j] * x[j] / z[j] + theta * z[j]
    return value


@compiled
def turns_back(
    y: FloatArray,
    x: FloatArray,
    x_new: FloatArray,
    direction: FloatArray,
    weight: float,
) -> bool:
    """Whether the step from y goes against the last move, in the metric: restart."""
    turn, before, after = 0.0, 0.0, 0.0
    for j in range(len(x)):
        turn += (y[j] - x_new[j]) * (x_new[j] - x[j])
        before += direction[j] * (y[j] - x_new[j])
        after += direction[j] * (x_new[j] - x[j])
    return turn + weight * before * after > 0


@compiled
def relax(
    M: FloatArray,
    is_gram: bool,
    c: FloatArray,
    w: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    theta: float,
    A: FloatArray,
    b: FloatArray,
    equal: BoolArray,
    status: FloatArray,
    slots: float,
    lipschitz: float,
    direction: FloatArray,
    sigma: float,
    cutoff: float,
    tolerance: float,
    slack: float,
    max_iter: int,
    x: FloatArray,
    nu: FloatArray,
) -> tuple[float, FloatArray, FloatArray, FloatArray, float, bool]:
    """Solve the relaxation of a node as far as it is worth.

    Steps are taken in the metric ``lipschitz I + sigma direction direction'``, which
    lies above ``2 Q``; with rows, sigma is zero.

    Stops when the bound reaches the cutoff (the node is closed), when value and bound
    agree, or when the value is below the cutoff and the bound is near it (within
    ``slack`` of the distance to the cutoff: the node will be branched anyway).
    ``x`` and ``nu`` are the warm start and are updated.

    Returns
    -------
    bound, anchor, beta : the best dual bound, and where it was found
    z : the switches of the last x
    worst : departure of the rows from complementarity
    is_done : whether it stopped before the iteration limit
    """
    n = len(c)
    step = 1.0 / lipschitz
    rho = 2.0 * step * w
    r_most = np.inf if theta == 0 else np.sqrt(0.5 / (step * theta))
    for j in range(n):
        if status[j] < 0:
            x[j] = 0.0
    Qx = multiply(M, is_gram, x)
    y, Qy = x.copy(), Qx.copy()
    x_new, z, v = np.empty(n), np.zeros(n), np.empty(n)
    best, anchor, beta = -np.inf, x.copy(), nu / step
    worst, r, tilt, momentum, is_done = 0.0, 0.0, 0.0, 1.0, False
    slope = np.empty(n)
    for n_iter in range(1, max_iter + 1):
        for j in range(n):
            slope[j] = c[j] + 2.0 * Qy[j]
            v[j] = y[j] - step * slope[j]
        if sigma > 0:
            r, tilt = prox_tilted(
                y,
                slope,
                direction,
                sigma,
                step,
                tilt,
                rho,
                lower,
                upper,
                status,
                slots,
                r_most,
                r,
                v,
                x_new,
                z,
            )
        elif len(b) > 0:
            r, worst = prox_rows(
                v,
                rho,
                lower,
                upper,
                status,
                slots,
                r_most,
                r,
                A,
                b,
                equal,
                nu,
                x_new,
                z,
            )
        else:
            r = prox(v, rho, lower, upper, status, slots, r_most, r, x_new, z)
        Qx_new = multiply(M, is_gram, x_new)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        push = (momentum - 1.0) / following
        if turns_back(y, x, x_new, direction, step * sigma):
            following, push = 1.0, 0.0
        for j in range(n):
            y[j] = x_new[j] + push * (x_new[j] - x[j])
            Qy[j] = Qx_new[j] + push * (Qx_new[j] - Qx[j])
            x[j] = x_new[j]
            Qx[j] = Qx_new[j]
        momentum = following
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter or n_iter == 1:
            here = nu / step
            bound = dual_value(
                Qx, x, c, w, lower, upper, theta, A, b, here, status, slots
            )
            if bound > best:
                best = bound
                copy_into(anchor, x)
                copy_into(beta, here)
            value = relaxed_value(Qx, x, z, c, w, theta)
            near = worst <= 1e-6
            is_done = best >= cutoff or (near and value - best <= tolerance)
            if near and value < cutoff < np.inf:
                is_done = is_done or value - best <= slack * (cutoff - value)
            if is_done:
                break
    return best, anchor, beta, z, worst, is_done
