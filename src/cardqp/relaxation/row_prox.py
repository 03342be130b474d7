"""Compiled: the proximal step with rows, by Newton steps in their multipliers.

The dual of the step is a concave function of the multipliers of the rows, whose
gradient, the rows' excess, is piecewise smooth: a damped semismooth Newton method (Qi &
Sun 1993) maximises it (docs/theory.md#row-prox).  Rows are few, so that its systems are
small whatever the number of variables.

A metric with terms of rank one, ``I / size + sum_i sigma_i d_i d_i'``, comes as more
rows: the step is the plain one at ``v - sum_i nu_i d_i`` with the ``nu`` at which
``d_i'(x - y) = nu_i / (size sigma_i)``.
"""

import numpy as np

from cardqp._compiled import inner, inner_fast, spliced
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.relaxation.array_loops import combine_rows, copy_into, dot, multiply_rows
from cardqp.relaxation.group_selection import label_of
from cardqp.relaxation.open_prox import open_movement
from cardqp.relaxation.prox import active_limit, sides, take_step
from cardqp.relaxation.scaled_data import Coupling, Data, RowData, Step

# Tolerances of compiled code are constants: Numba compiles them in.
NEWTON_STEPS = 30
"""The most Newton steps of one proximal step."""

DAMPINGS = 12
"""How often a Newton step is damped more before it is given up."""

ACCURACY = 1e-9
"""How well rows are met, as a share of the largest right-hand side."""


@inner
def couple(rows: RowData, step: Step, kept: IntArray) -> Coupling:
    """The rows and the directions of the metric, restricted to some variables."""
    m, k, n = len(rows.b), len(rows.sigma), len(kept)
    A, b, dual_regularisation = np.empty((m + k, n)), np.zeros(m + k), np.zeros(m + k)
    equal = np.ones(m + k, dtype=np.bool_)
    for i in range(m):
        b[i], equal[i] = rows.b[i], rows.equal[i]
        for j in range(n):
            A[i, j] = rows.A[i, kept[j]]
    for i in range(k):
        dual_regularisation[m + i] = 1.0 / (step.size * rows.sigma[i])
        for j in range(n):
            A[m + i, j] = rows.directions[i, kept[j]]
    return Coupling(A, b, equal, dual_regularisation)


@inner
def centre(coupling: Coupling, m: int, y: FloatArray) -> None:
    """Let the equations of the metric, which follow the m rows, hold at y."""
    for i in range(m, len(coupling.b)):
        coupling.b[i] = dot(coupling.A[i], y)


@spliced
def shift(v: FloatArray, A: FloatArray, nu: FloatArray) -> FloatArray:
    """``v - A' nu``: the argument of the plain proximal step at given multipliers."""
    result = combine_rows(A, nu)
    for j in range(len(v)):
        result[j] = v[j] - result[j]
    return result


@inner_fast
def row_value(
    step: Step,
    v: FloatArray,
    nu: FloatArray,
    excess: FloatArray,
    dual_regularisation: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> float:
    """The dual function of the step at given multipliers: concave, to be maximised."""
    price = 0.0 if np.isinf(step.r_most) else 0.5 / (step.r_most * step.r_most)
    value = 0.0
    for j in range(len(v)):
        value += 0.5 * (x[j] - v[j]) ** 2
        if z[j] > 0:
            value += 0.5 * step.rho[j] * x[j] * x[j] / z[j] + price * z[j]
    for i in range(len(excess)):
        value += nu[i] * (excess[i] + 0.5 * dual_regularisation[i] * nu[i])
    return value


@inner
def row_excess(
    rows: Coupling, nu: FloatArray, x: FloatArray
) -> tuple[FloatArray, float]:
    """``A x - b - dual_regularisation nu``, and the complementarity residual.

    The latter is the largest violation of a row, or slack of one with a multiplier.
    """
    excess = multiply_rows(rows.A, x)
    worst = 0.0
    for i in range(len(excess)):
        excess[i] -= rows.b[i] + rows.dual_regularisation[i] * nu[i]
        if rows.equal[i] or nu[i] > 0:
            worst = max(worst, abs(excess[i]))
        else:
            worst = max(worst, excess[i])
    return excess, worst


@inner_fast
def square(B: FloatArray) -> FloatArray:
    """``B B'``."""
    p = len(B)
    product = np.empty((p, p))
    for a in range(p):
        for e in range(a + 1):
            total = 0.0
            for i in range(B.shape[1]):
                total += B[a, i] * B[e, i]
            product[a, e] = total
            product[e, a] = total
    return product


@inner
def movement(
    data: Data,
    step: Step,
    v: FloatArray,
    r: float,
    z: FloatArray,
    D: FloatArray,
    y: FloatArray,
    owner: IntArray,
    tau: FloatArray,
) -> None:
    """Fill in how x follows v at a fixed multiplier of ``sum z``, and how that reacts.

    ``D`` is the derivative of x; y that of the switches' limit in the multiplier, and
    tau its sum over the variables that a limit holds: ``owner`` says which, that of a
    group, counted from one, or 0 for the limit of all.
    """
    rho, lower, upper = step.rho, data.lower, data.upper
    for j in range(len(v)):
        if z[j] <= 0:
            continue
        # A full switch: an ordinary ridge, unless a bound holds the variable.
        if z[j] >= 1:
            point = v[j] / (1.0 + rho[j])
            if lower[j] < point < upper[j]:
                D[j] = 1.0 / (1.0 + rho[j])
            continue
        # A fractional one: x / z is fixed by the multiplier, so that x follows v.
        D[j] = 1.0
        least, most = sides(data, j, v[j])
        own = min(r, step.cap[j])
        owner[j] = label_of(data.groups, j) + 1 if step.cap[j] < r else 0
        limit = active_limit(rho[j], least, most, own)
        sign = 1.0 if v[j] > 0 else -1.0
        if limit > 0:
            y[j] = sign / limit
            tau[owner[j]] += 1.0 / (limit * limit)
        else:
            y[j] = sign * np.sqrt(rho[j]) * own
            tau[owner[j]] += abs(v[j]) * np.sqrt(rho[j]) * own * own * own


@inner
def row_curvature(
    data: Data,
    step: Step,
    v: FloatArray,
    rows: Coupling,
    active: IntArray,
    r: float,
    x: FloatArray,
    z: FloatArray,
) -> FloatArray:
    """An element of the generalised Jacobian of the excess, on active rows.

    It is ``A (D - y y' / tau) A'`` plus the dual regularisation on the diagonal.  ``D``
    is the derivative of x at a fixed multiplier of ``sum z``; the rank-one term comes
    from that multiplier where the limit binds, and there is one more for each full
    group.
    """
    n, p, n_groups, A = len(v), len(active), len(step.group_slots), rows.A
    D, y = np.zeros(n), np.zeros(n)
    tau, owner = np.zeros(n_groups + 1), np.zeros(n, dtype=np.intp)
    if data.is_open:
        tau[0] = open_movement(step.vectors, v, r, x, z, D, y)
    else:
        movement(data, step, v, r, z, D, y, owner, tau)
    # Only variables that move count, usually a few of many: gather them for the square.
    Ay = np.zeros((p, n_groups + 1))
    moving, count = np.empty(n, dtype=np.intp), 0
    for j in range(n):
        if D[j] > 0:
            moving[count] = j
            count += 1
    B = np.empty((p, count))
    for a in range(p):
        for i in range(count):
            j = moving[i]
            B[a, i] = A[active[a], j] * np.sqrt(D[j])
            Ay[a, owner[j]] += A[active[a], j] * y[j]
    J = square(B)
    for a in range(p):
        J[a, a] += rows.dual_regularisation[active[a]]
    for k in range(n_groups + 1):
        # At r_most the multiplier is the price alone, and does not react.
        if tau[k] > 0 and (k > 0 or r < step.r_most):
            for a in range(p):
                for e in range(p):
                    J[a, e] -= Ay[a, k] * Ay[e, k] / tau[k]
    return J


@spliced
def active_rows(equal: BoolArray, nu: FloatArray, excess: FloatArray) -> IntArray:
    """Rows of the next Newton system: equations, active and violated ones."""
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

    Rows can be dependent, so pivots are kept away from zero.  Systems are small,
    and a plain loop compiles faster than a call of LAPACK.
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


@spliced
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


@spliced
def prox_at(
    data: Data,
    rows: Coupling,
    step: Step,
    status: IntArray,
    v: FloatArray,
    guess: float,
    nu: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, FloatArray, float, FloatArray, float]:
    """Take the plain step at given multipliers of the rows; fills x and z.

    Returns r, the argument of the step, the dual function, the excess of the rows and
    the complementarity residual.
    """
    shifted = shift(v, rows.A, nu)
    r = take_step(data, step, status, shifted, guess, x, z)
    excess, worst = row_excess(rows, nu, x)
    return (
        r,
        shifted,
        row_value(step, v, nu, excess, rows.dual_regularisation, x, z),
        excess,
        worst,
    )


@inner
def prox_rows(
    data: Data,
    rows: Coupling,
    step: Step,
    status: IntArray,
    v: FloatArray,
    guess: float,
    nu: FloatArray,
    x: FloatArray,
    z: FloatArray,
) -> tuple[float, float]:
    """Take a proximal step with rows: damped semismooth Newton in their multipliers.

    Starts at ``nu`` and updates it; fills x and z.  Returns r and the complementarity
    residual, relative to the largest right-hand side.
    """
    size = 1.0
    for i in range(len(nu)):
        size = max(size, abs(rows.b[i]))
    x_try, z_try, nu_try, r = np.empty(len(x)), np.empty(len(x)), nu.copy(), guess
    # Next to none at first: from a warm start full Newton steps mostly succeed.
    damping, n_steps, n_damped, value, worst = 1e-9, 0, 0, 0.0, np.inf
    while n_damped < DAMPINGS:
        r_try, shifted, value_try, excess_try, worst_try = prox_at(
            data, rows, step, status, v, r, nu_try, x_try, z_try
        )
        # Near the maximum the dual function drowns in rounding: a much smaller
        # residual is progress as well.
        if n_steps == 0 or value_try > value or worst_try < 0.5 * worst:
            value, worst, r, excess = value_try, worst_try, r_try, excess_try
            copy_into(nu, nu_try)
            copy_into(x, x_try)
            copy_into(z, z_try)
            if worst <= ACCURACY * size or n_steps == NEWTON_STEPS:
                break
            active = active_rows(rows.equal, nu, excess)
            J = row_curvature(data, step, shifted, rows, active, r, x, z)
            # As in Levenberg-Marquardt, steps that succeed are damped less and less.
            damping, n_damped = max(0.1 * damping, 1e-12), 0
            n_steps += 1
        else:
            damping = max(16.0 * damping, 1e-10)
            n_damped += 1
        nu_try = newton_step(J, excess, active, rows.equal, nu, damping)
    return r, worst / size
