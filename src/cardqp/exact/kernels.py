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

from cardqp._compiled import compiled, inner, inner_fast
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.exact.data import Data, RowData, Step

ROOT_STEPS = 100
NEWTON_STEPS = 30
DAMPINGS = 12
TILT_STEPS, TILT_ACCURACY = 30, 1e-3
CHECK_EVERY = 5
GATHER_SHARE = 0.8
"""Variables are taken out of the data if at most this share is left."""
NEAR_SHARE = 0.7
"""A variable matters if it gains this share of what the last slot does."""
ROUNDS, ROUND_ITER = 5, 40
"""How often the variables that matter are looked for; iterations in the first round,
which grow with the number of the round."""


@inner
def make_step(data: Data, status: IntArray, slots: int) -> Step:
    """What the prox needs to know about a branch."""
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
    return Step(size, rho, root, free[:count], float(slots), most)


@inner
def sides(data: Data, j: int, v: float) -> tuple[float, float]:
    """The least and the largest size of a nonzero on the side on which v lies."""
    if v > 0:
        return max(data.lower[j], 0.0), data.upper[j]
    return max(-data.upper[j], 0.0), -data.lower[j]


@inner
def switch(
    v: float, rho: float, least: float, most: float, r: float
) -> tuple[float, float]:
    """The switch z of one free variable and its derivative in r, for v > 0."""
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
    """The limit at which a fractional switch puts ``x / z``; 0 if it is at none."""
    if rho * most * most * r * r < 1.0:
        return most
    return least if rho * least * least * r * r > 1.0 else 0.0


@inner_fast
def total_open(gauge: FloatArray, rho: FloatArray, r: float) -> tuple[float, float]:
    """Sum of the switches of unbounded free variables, and its derivative in r."""
    total, slope = 0.0, 0.0
    for i in range(len(gauge)):
        z = min(max(gauge[i] * r - rho[i], 0.0), 1.0)
        total += z
        slope += gauge[i] if 0.0 < z < 1.0 else 0.0
    return total, slope


@inner
def total_bounded(
    data: Data, step: Step, v: FloatArray, r: float
) -> tuple[float, float]:
    """Sum of the switches of free variables with bounds, and its derivative in r."""
    total, slope = 0.0, 0.0
    for j in step.free:
        least, most = sides(data, j, v[j])
        z, dz = switch(abs(v[j]), step.rho[j], least, most, r)
        total += z
        slope += dz
    return total, slope


@inner_fast
def find_r(data: Data, step: Step, v: FloatArray, guess: float) -> float:
    """The largest r up to ``r_most`` at which the switches fit into the slots.

    Newton's method on a piecewise smooth increasing function, kept inside a bracket.
    """
    count = len(step.free)
    gauge, rho = np.empty(count), np.empty(count)
    n_pulled = 0
    for i in range(count):
        j = step.free[i]
        gauge[i] = abs(v[j]) * step.root[j]
        rho[i] = step.rho[j]
        n_pulled += gauge[i] > 0
    if n_pulled <= step.slots:
        return step.r_most
    low, high = 0.0, step.r_most
    start = guess if 0.0 < guess < high else min(1.0, 0.5 * high)
    may_be_most = not np.isinf(step.r_most) or not data.is_open
    r = step.r_most if may_be_most else start
    for _ in range(ROOT_STEPS):
        if data.is_open:
            total, slope = total_open(gauge, rho, r)
        else:
            total, slope = total_bounded(data, step, v, r)
        excess = total - step.slots
        if abs(excess) <= 1e-13 * max(step.slots, 1.0):
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
        following = r - excess / slope if slope > 0 else -1.0
        if not low < following < high:
            following = 4.0 * r + 1e-300 if np.isinf(high) else 0.5 * (low + high)
        if following == r or high <= low * (1.0 + 1e-15):
            break
        r = following
    return low if low > 0 else r


@inner
def guess_r(step: Step, x: FloatArray) -> float:
    """About the r at which x is the result of a prox; 0 if x does not tell."""
    total = 0.0
    for j in step.free:
        total += abs(x[j]) * step.root[j]
    return step.slots / total if total > 0 else 0.0


@inner_fast
def fill_open(
    step: Step, status: IntArray, v: FloatArray, r: float, x: FloatArray, z: FloatArray
) -> None:
    """Switches and point at a finite r, for unbounded variables."""
    for j in range(len(v)):
        z[j] = min(max(abs(v[j]) * step.root[j] * r - step.rho[j], 0.0), 1.0)
    for j in range(len(v)):
        if status[j] != 0:
            z[j] = 1.0 if status[j] > 0 else 0.0
    for j in range(len(v)):
        x[j] = v[j] * z[j] / (z[j] + step.rho[j])


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
    """Proximal step without rows; fills x and z and returns r."""
    r = find_r(data, step, v, guess)
    if data.is_open and not np.isinf(r):
        fill_open(step, status, v, r, x, z)
        return r
    for j in range(len(v)):
        if status[j] != 0:
            z[j] = 1.0 if status[j] > 0 else 0.0
        else:
            least, most = sides(data, j, v[j])
            z[j], _ = switch(abs(v[j]), step.rho[j], least, most, r)
        x[j] = 0.0
        if z[j] > 0:
            point = v[j] / (z[j] + step.rho[j])
            x[j] = z[j] * min(max(point, data.lower[j]), data.upper[j])
    return r


@inner_fast
def multiply_rows(A: FloatArray, x: FloatArray) -> FloatArray:
    """``A x`` (a plain loop compiles faster than BLAS is looked up)."""
    product = np.empty(len(A))
    for i in range(len(A)):
        total = 0.0
        for j in range(len(x)):
            total += A[i, j] * x[j]
        product[i] = total
    return product


@inner
def dot(x: FloatArray, y: FloatArray) -> float:
    """The inner product."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@inner
def combine_rows(A: FloatArray, nu: FloatArray) -> FloatArray:
    """``A' nu``."""
    total = np.zeros(A.shape[1])
    for i in range(len(nu)):
        if nu[i] != 0:
            for j in range(A.shape[1]):
                total[j] += nu[i] * A[i, j]
    return total


@inner
def shift(v: FloatArray, A: FloatArray, nu: FloatArray) -> FloatArray:
    """``v - A' nu``: the point whose plain prox respects the multipliers."""
    result = combine_rows(A, nu)
    for j in range(len(v)):
        result[j] = v[j] - result[j]
    return result


@inner
def copy_into(target: FloatArray, source: FloatArray) -> None:
    """Overwrite an array (a plain loop compiles ten times faster than a slice)."""
    for j in range(len(source)):
        target[j] = source[j]


@inner_fast
def row_value(
    step: Step,
    v: FloatArray,
    nu: FloatArray,
    excess: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """The concave function of the row multipliers that the prox maximises."""
    price = 0.0 if np.isinf(step.r_most) else 0.5 / (step.r_most * step.r_most)
    value = 0.0
    for j in range(len(v)):
        value += 0.5 * (x[j] - v[j]) ** 2
        if z[j] > 0:
            value += 0.5 * step.rho[j] * x[j] * x[j] / z[j] + price * z[j]
    for i in range(len(excess)):
        value += nu[i] * excess[i]
    return value


@inner
def row_excess(
    rows: RowData, nu: FloatArray, x: FloatArray
) -> tuple[FloatArray, float]:
    """``A x - b`` and the largest departure from complementarity."""
    excess = multiply_rows(rows.A, x)
    worst = 0.0
    for i in range(len(excess)):
        excess[i] -= rows.b[i]
        if rows.equal[i] or nu[i] > 0:
            worst = max(worst, abs(excess[i]))
        else:
            worst = max(worst, excess[i])
    return excess, worst


@inner
def row_curvature(
    data: Data,
    step: Step,
    v: FloatArray,
    A: FloatArray,
    active: IntArray,
    r: float,
    z: FloatArray,
) -> FloatArray:
    """Generalised Jacobian of ``A x(nu)``: A (D - y y' / tau) A' on active rows.

    ``D`` is the derivative of x at a fixed multiplier of ``sum z``; the rank-one term
    comes from that multiplier when the slots are full.
    """
    n, p = len(v), len(active)
    rho, lower, upper = step.rho, data.lower, data.upper
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
        least, most = sides(data, j, v[j])
        limit = active_limit(rho[j], least, most, r)
        sign = 1.0 if v[j] > 0 else -1.0
        if limit > 0:
            y[j] = sign / limit
            tau += 1.0 / (limit * limit)
        else:
            y[j] = sign * np.sqrt(rho[j]) * r
            tau += abs(v[j]) * np.sqrt(rho[j]) * r * r * r
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
    if r < step.r_most and tau > 0:
        for a in range(p):
            for e in range(p):
                J[a, e] -= Ay[a] * Ay[e] / tau
    return J


@inner_fast
def bend(data: Data, step: Step, v: FloatArray, r: float, z: FloatArray) -> float:
    """The generalised derivative of ``direction' x`` along the direction.

    As ``row_curvature`` for one row.
    """
    total, across, tau = 0.0, 0.0, 0.0
    for j in range(len(v)):
        is_split, size = 0.0 < z[j] < 1.0, abs(v[j])
        least, most = sides(data, j, v[j])
        at = size / (1.0 + step.rho[j])
        share = at / size if z[j] > 0 and least < at < most else 0.0
        share = 1.0 if is_split else share
        total += data.direction[0, j] * data.direction[0, j] * share
        limit = active_limit(step.rho[j], least, most, r)
        is_curved = limit == 0.0
        pull = step.root[j] * r if is_curved else 1.0 / limit
        pull = pull if is_split else 0.0
        across += data.direction[0, j] * (pull if v[j] > 0 else -pull)
        tau += size * pull * r * r if is_curved else pull * pull
    if r < step.r_most and tau > 0:
        total -= across * across / tau
    return max(total, 0.0)


@inner_fast
def prox_tilted(
    data: Data,
    step: Step,
    status: IntArray,
    y: FloatArray,
    slope: FloatArray,
    tilt: float,
    guess: float,
    v: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, float]:
    """Proximal step in the metric ``I / size + sigma direction direction'``.

    It is the plain prox at ``y - size (slope + tilt direction)`` with the tilt at which
    ``direction'(x - y) = tilt / sigma``: one decreasing equation, solved by semismooth
    Newton steps inside a bracket.  Fills v, x and z; returns r and the tilt.  If sigma
    is zero, it is the plain prox.
    """
    n, direction, sigma = len(y), data.direction, data.sigma
    size = 0.0
    for j in range(n):
        size += abs(direction[0, j] * y[j])
    low, high, r = -np.inf, np.inf, guess
    for _ in range(TILT_STEPS):
        for j in range(n):
            v[j] = y[j] - step.size * (slope[j] + tilt * direction[0, j])
        r = prox(data, step, status, v, r, x, z)
        if sigma == 0:
            break
        moved = 0.0
        for j in range(n):
            moved += direction[0, j] * (x[j] - y[j])
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
        steepness = 1.0 / sigma + step.size * bend(data, step, v, r, z)
        following = tilt + value / steepness
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == tilt:
            break
        tilt = following
    return r, tilt


@inner
def active_rows(equal: BoolArray, nu: FloatArray, excess: FloatArray) -> IntArray:
    """Rows that take part in the next step: equalities, active and violated ones."""
    active = np.empty(len(nu), dtype=np.intp)
    count = 0
    for i in range(len(nu)):
        if equal[i] or nu[i] > 0 or excess[i] > 0:
            active[count] = i
            count += 1
    return active[:count]


@inner
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


@inner
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


@inner
def prox_at(
    data: Data,
    rows: RowData,
    step: Step,
    status: IntArray,
    v: FloatArray,
    guess: float,
    nu: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, FloatArray, float, FloatArray, float]:
    """The prox at given multipliers of the rows; fills x and z.

    Returns r, the point that was projected, the value, the excess and the departure
    of the rows from complementarity.
    """
    shifted = shift(v, rows.A, nu)
    r = prox(data, step, status, shifted, guess, x, z)
    excess, worst = row_excess(rows, nu, x)
    return r, shifted, row_value(step, v, nu, excess, x, z), excess, worst


@inner
def prox_rows(
    data: Data,
    rows: RowData,
    step: Step,
    status: IntArray,
    v: FloatArray,
    guess: float,
    nu: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, float]:
    """Proximal step with rows: damped semismooth Newton in their multipliers.

    Starts at ``nu`` and updates it; fills x and z.  Returns r and the departure of the
    rows from complementarity.
    """
    size = 1.0
    for i in range(len(nu)):
        size = max(size, abs(rows.b[i]))
    r, shifted, value, excess, worst = prox_at(
        data, rows, step, status, v, guess, nu, x, z
    )
    x_try, z_try = np.empty(len(x)), np.empty(len(x))
    damping = 1e-10
    for _ in range(NEWTON_STEPS):
        if worst <= 1e-10 * size:
            break
        active = active_rows(rows.equal, nu, excess)
        J = row_curvature(data, step, shifted, rows.A, active, r, z)
        rising = False
        for _ in range(DAMPINGS):
            nu_try = newton_step(J, excess, active, rows.equal, nu, damping)
            r_try, shifted_try, value_try, excess_try, worst_try = prox_at(
                data, rows, step, status, v, r, nu_try, x_try, z_try
            )
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


@inner_fast
def multiply(data: Data, x: FloatArray) -> FloatArray:
    """``Q x`` from the rows of Q, or of the transposed factor, where x is nonzero.

    Rows are added four at a time, which halves the traffic to memory.
    """
    M, n, width = data.M, len(x), data.M.shape[1]
    used = np.empty(n + 3, dtype=np.intp)
    count = 0
    for j in range(n):
        if x[j] != 0:
            used[count] = j
            count += 1
    y = np.zeros(width)
    first = count % 4
    for i in range(first):
        j = used[i]
        for k in range(width):
            y[k] += x[j] * M[j, k]
    for i in range(first, count, 4):
        a, b, c, d = used[i], used[i + 1], used[i + 2], used[i + 3]
        xa, xb, xc, xd = x[a], x[b], x[c], x[d]
        for k in range(width):
            y[k] += xa * M[a, k] + xb * M[b, k] + xc * M[c, k] + xd * M[d, k]
    return y if data.is_gram else multiply_rows(M, y)


@inner
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


@inner
def price_all(
    data: Data,
    status: IntArray,
    Qx: FloatArray,
    x: FloatArray,
    row_slope: FloatArray,
) -> tuple[float, FloatArray]:
    """Theorem 1 at the tangent in x, without margins and without what the rows cost.

    Returns the bound before any free variable is switched on, and their gains.
    """
    total, gains = 0.0, np.zeros(len(x))
    for j in range(len(x)):
        total -= x[j] * Qx[j]
        if status[j] < 0:
            continue
        g = data.c[j] + 2.0 * Qx[j] + row_slope[j]
        t = min(max(-g / (2.0 * data.w[j]), data.lower[j]), data.upper[j])
        cost = t * (g + data.w[j] * t) + data.theta
        if status[j] > 0:
            total += cost
        elif cost < 0:
            gains[j] = -cost
    return total, gains


@inner_fast
def relaxed_value(data: Data, Qx: FloatArray, x: FloatArray, z: FloatArray) -> float:
    """The objective of the relaxation."""
    value = 0.0
    for j in range(len(x)):
        value += x[j] * (data.c[j] + Qx[j])
        if z[j] > 0:
            value += data.w[j] * x[j] * x[j] / z[j] + data.theta * z[j]
    return value


@inner_fast
def turns_back(
    data: Data, step: Step, y: FloatArray, x: FloatArray, x_new: FloatArray
) -> bool:
    """Whether the step from y goes against the last move, in the metric: restart."""
    turn, before, after = 0.0, 0.0, 0.0
    for j in range(len(x)):
        turn += (y[j] - x_new[j]) * (x_new[j] - x[j])
        before += data.direction[0, j] * (y[j] - x_new[j])
        after += data.direction[0, j] * (x_new[j] - x[j])
    return turn + step.size * data.sigma * before * after > 0


@inner
def switch_off(x: FloatArray, status: IntArray) -> bool:
    """Set x to zero where it is switched off; whether it is nonzero elsewhere."""
    is_nonzero = False
    for j in range(len(x)):
        if status[j] < 0:
            x[j] = 0.0
        is_nonzero = is_nonzero or x[j] != 0
    return is_nonzero


@inner
def live_variables(status: IntArray) -> IntArray:
    """The variables that are not switched off; all, if most of them are not."""
    n, count = len(status), 0
    live = np.empty(n, dtype=np.intp)
    for j in range(n):
        if status[j] >= 0:
            live[count] = j
            count += 1
    if count > GATHER_SHARE * n:
        count = n
        for j in range(n):
            live[j] = j
    return live[:count]


@inner
def survey(
    data: Data, status: IntArray, slots: int, x: FloatArray, live: IntArray
) -> tuple[float, IntArray]:
    """The dual bound at x of a problem without rows, and the variables that matter.

    These are switched on, nonzero, or gain not much less than the last variable that
    gets a slot; all that are live, if they are not fewer.
    """
    Qx = multiply(data, x)
    total, gains = price_all(data, status, Qx, x, np.zeros(len(x)))
    ranked = gains.copy()
    bound = total - largest_sum(ranked, slots)
    least = np.inf
    for i in range(min(slots, len(ranked))):
        least = min(least, ranked[i])
    enough = NEAR_SHARE * (least + data.theta) - data.theta
    kept, count = np.empty(len(live), dtype=np.intp), 0
    for j in live:
        if status[j] > 0 or x[j] != 0 or (status[j] == 0 and gains[j] >= enough):
            kept[count] = j
            count += 1
    return bound, kept[:count] if count <= GATHER_SHARE * len(live) else live


@inner
def pick(values: FloatArray, kept: IntArray) -> FloatArray:
    """Some of the values."""
    part = np.empty(len(kept))
    for a in range(len(kept)):
        part[a] = values[kept[a]]
    return part


@inner
def pick_columns(A: FloatArray, kept: IntArray) -> FloatArray:
    """Some columns of a matrix."""
    part = np.empty((len(A), len(kept)))
    for i in range(len(A)):
        for a in range(len(kept)):
            part[i, a] = A[i, kept[a]]
    return part


@inner
def spread(part: FloatArray, kept: IntArray, values: FloatArray) -> FloatArray:
    """Fill ``values``: with ``part`` at the variables kept, zero elsewhere."""
    for j in range(len(values)):
        values[j] = 0.0
    for a in range(len(kept)):
        values[kept[a]] = part[a]
    return values


@inner
def gather(data: Data, kept: IntArray) -> Data:
    """The data of some variables."""
    count = len(kept)
    width = count if data.is_gram else data.M.shape[1]
    M = np.empty((count, width))
    for a in range(count):
        row = data.M[kept[a]]
        for e in range(width):
            M[a, e] = row[kept[e]] if data.is_gram else row[e]
    return Data(
        M,
        data.is_gram,
        pick(data.c, kept),
        pick(data.w, kept),
        pick(data.lower, kept),
        pick(data.upper, kept),
        data.is_open,
        data.theta,
        data.lipschitz,
        pick_columns(data.direction, kept),
        data.sigma,
    )


@inner
def contains(larger: IntArray, smaller: IntArray) -> bool:
    """Whether increasing indices are all among others."""
    at = 0
    for j in smaller:
        while at < len(larger) and larger[at] < j:
            at += 1
        if at == len(larger) or larger[at] != j:
            return False
    return True


@inner
def is_enough(
    bound: float, value: float, cutoff: float, tolerance: float, slack: float
) -> bool:
    """Whether it is not worth to bring value and bound of a relaxation closer.

    The branch is closed, they agree, or what lies between them is small as compared
    with what the branch lacks to be closed: it will be split anyway.
    """
    if bound >= cutoff or value - bound <= tolerance:
        return True
    return value < cutoff < np.inf and value - bound <= slack * (cutoff - value)


@inner
def advance(
    x: FloatArray,
    Qx: FloatArray,
    y: FloatArray,
    Qy: FloatArray,
    x_new: FloatArray,
    Qx_new: FloatArray,
    push: float,
) -> None:
    """Move x to its new place, and y beyond it by a share of the way."""
    for j in range(len(x)):
        y[j] = x_new[j] + push * (x_new[j] - x[j])
        Qy[j] = Qx_new[j] + push * (Qx_new[j] - Qx[j])
        x[j] = x_new[j]
        Qx[j] = Qx_new[j]


@compiled
def relax(
    data: Data,
    rows: RowData | None,
    status: IntArray,
    slots: int,
    cutoff: float,
    tolerance: float,
    slack: float,
    max_iter: int,
    start: FloatArray,
    nu: FloatArray,
) -> tuple[float, FloatArray, FloatArray, FloatArray, float, bool]:
    """Solve the relaxation of a node as far as it is worth.

    Works with the variables that matter, and looks at the others in the end: if the
    bound suffers from them, once more with those that matter then.  With rows, and
    from a cold start, all variables matter that are not switched off.  Steps are taken
    in the metric of the data; with rows, sigma is zero.

    ``start`` and ``nu`` are the warm start and are updated.  (One long function: what
    calls it is compiled together with all that it calls, so layers are expensive.)

    Returns
    -------
    bound, anchor, beta : the best dual bound, and where it was found
    z : the switches of the last x
    worst : departure of the rows from complementarity
    is_done : whether it stopped before the iteration limit
    """
    is_warm = switch_off(start, status)
    best, best_anchor, beta, here = -np.inf, start.copy(), nu.copy(), nu.copy()
    switches, worst, value, tilt = np.zeros(len(start)), 0.0, 0.0, 0.0
    live, n_iter, is_done = live_variables(status), 0, False
    kept, is_fresh = live, True
    if rows is None and is_warm:
        _, kept = survey(data, status, slots, start, live)
    for n_round in range(1, ROUNDS + 1):
        if is_fresh:
            n, x = len(kept), pick(start, kept)
            part = gather(data, kept) if n < len(start) else data
            if rows is not None:
                part_rows = RowData(pick_columns(rows.A, kept), rows.b, rows.equal)
            inside = np.empty(n, dtype=np.int8)
            for j in range(n):
                inside[j] = status[kept[j]]
            step, Qx = make_step(part, inside, slots), multiply(part, x)
            y, Qy, row_slope, paid = x.copy(), Qx.copy(), np.zeros(n), 0.0
            x_new, z, v, slope = np.empty(n), np.zeros(n), np.empty(n), np.empty(n)
            bound, anchor, r, momentum = -np.inf, x.copy(), guess_r(step, x), 1.0
        last = max_iter
        if len(kept) < len(live):
            last = min(max_iter, n_iter + ROUND_ITER * n_round)
        while n_iter < last and not is_done:
            n_iter += 1
            for j in range(n):
                slope[j] = part.c[j] + 2.0 * Qy[j]
                v[j] = y[j] - step.size * slope[j]
            if rows is not None:
                r, worst = prox_rows(part, part_rows, step, inside, v, r, nu, x_new, z)
            else:
                r, tilt = prox_tilted(
                    part, step, inside, y, slope, tilt, r, v, x_new, z
                )
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            push = (momentum - 1.0) / following
            if turns_back(part, step, y, x, x_new):
                following, push = 1.0, 0.0
            advance(x, Qx, y, Qy, x_new, multiply(part, x_new), push)
            momentum = following
            if n_iter % CHECK_EVERY == 0 or n_iter == last or n_iter == 1:
                for i in range(len(nu)):
                    here[i] = nu[i] / step.size
                if rows is not None:
                    row_slope = combine_rows(part_rows.A, here)
                    paid = dot(rows.b, here)
                total, gains = price_all(part, inside, Qx, x, row_slope)
                total -= largest_sum(gains, slots) + paid
                if total > bound:
                    bound = total
                    copy_into(anchor, x)
                    copy_into(beta, here)
                value = relaxed_value(part, Qx, x, z)
                is_done = bound >= cutoff or (
                    worst <= 1e-6 and is_enough(bound, value, cutoff, tolerance, slack)
                )
        spread(x, kept, start)
        spread(z, kept, switches)
        whole, wanted = spread(anchor, kept, np.empty(len(start))), live
        if len(kept) < len(live):
            bound, wanted = survey(data, status, slots, whole, live)
            is_done = is_enough(bound, value, cutoff, tolerance, slack)
        if bound > best:
            best, best_anchor = bound, whole
        if is_done or n_iter == max_iter:
            break
        wanted = wanted if n_round < ROUNDS - 1 else live
        is_fresh = not contains(kept, wanted)
        kept = wanted if is_fresh else kept
    return best, best_anchor, beta, switches, worst, is_done
