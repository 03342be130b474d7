r"""Compiled loops of the perspective relaxation.

The relaxation of a node is

.. math::
    \min_x\; c^\top x + x^\top Q x
    + \min_z \Bigl\{ \sum_j w_j x_j^2 / z_j + \theta z_j \;:\;
      l_j z_j \le x_j \le u_j z_j,\; 0 \le z \le 1,\; \sum_j z_j \le s \Bigr\}
    \quad \text{s.t. rows,}

solved by an accelerated proximal gradient method (FISTA, Beck & Teboulle 2009) with
adaptive restarts (O'Donoghue & Candès 2015), in a metric with terms of rank one and on
a working set of variables (docs/theory.md#accelerated).  All arrays are in scaled units
(see ``relaxation.py``).  ``status`` is 1 for a variable switched on, 0 for one that is
undecided and -1 for one switched off; ``remaining`` of the undecided ones may be
switched on.
"""

import numpy as np

from cardqp._compiled import compiled, inner, inner_fast, spliced
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.relaxation.array_loops import (
    combine_rows,
    contains,
    copy_into,
    dot,
    multiply_rows,
    pick,
    pick_columns,
    scaled,
    spread,
)
from cardqp.relaxation.cluster_selection import best_members, pick_clusters
from cardqp.relaxation.group_selection import total_gain
from cardqp.relaxation.prox import guess_r, make_step, prox_rank_one
from cardqp.relaxation.row_prox import centre, couple, prox_rows
from cardqp.relaxation.scaled_data import (
    Batch,
    Data,
    GroupData,
    RankOneMetric,
    RowData,
    node_data,
)

# Constants of compiled code are not settings: Numba compiles them in, and a changed one
# would mean to compile anew.
CHECK_EVERY = 5
"""Iterations between two evaluations of the bound."""

ROWS_MET = 1e-6
"""The largest complementarity residual of rows that count as met."""

GATHER_SHARE = 0.8
"""Variables are taken out of the data if at most this share is left: copying a block of
``Q`` costs about as much as one product with it."""

NEAR_SHARE = 0.7
"""A variable joins the working set if it gains this share of what the last variable
that is chosen gains."""

ROUNDS, ROUND_ITER = 5, 40
"""How often the working set is chosen anew; iterations in the first round, which grow
with the number of the round."""


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
    # The remainder first, then blocks of four.
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
def price_all(
    data: Data, status: IntArray, Qx: FloatArray, x: FloatArray, row_slope: FloatArray
) -> tuple[float, FloatArray]:
    """Evaluate Theorem 1 at the tangent in x, without margins for rounding.

    Returns the bound before any undecided variable is switched on and before the
    right-hand sides of the rows, and the gains of undecided variables.
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
    """The objective of the relaxation, without the constant."""
    value = 0.0
    for j in range(len(x)):
        value += x[j] * (data.c[j] + Qx[j])
        if z[j] > 0:
            value += data.w[j] * x[j] * x[j] / z[j] + data.theta * z[j]
    return value


@inner_fast
def overshoot(
    directions: FloatArray,
    weights: FloatArray,
    momentum: float,
    y: FloatArray,
    x: FloatArray,
    x_new: FloatArray,
) -> tuple[float, float]:
    """The next momentum, and the factor of the extrapolation beyond the new point.

    Momentum starts again at 1 where the step from y goes against the last move, in the
    metric: the gradient scheme of adaptive restarts (O'Donoghue & Candès 2015).
    """
    alignment = 0.0
    for j in range(len(x)):
        alignment += (y[j] - x_new[j]) * (x_new[j] - x[j])
    for i in range(len(weights)):
        before, after = 0.0, 0.0
        for j in range(len(x)):
            before += directions[i, j] * (y[j] - x_new[j])
            after += directions[i, j] * (x_new[j] - x[j])
        alignment += weights[i] * before * after
    if alignment > 0:
        return 1.0, 0.0
    following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
    return following, (momentum - 1.0) / following


@inner
def switch_off(x: FloatArray, status: IntArray) -> bool:
    """Set x to zero where it is switched off; return whether it is nonzero then."""
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
    # All of them share the arrays of the problem, without a copy.
    if count > GATHER_SHARE * n:
        count = n
        for j in range(n):
            live[j] = j
    return live[:count]


@inner
def survey(
    data: Data,
    rows: RowData | None,
    status: IntArray,
    remaining: int,
    x: FloatArray,
    beta: FloatArray,
    live: IntArray,
) -> tuple[float, IntArray]:
    """The bound at x and beta over all variables, and the next working set.

    In it are variables that are switched on, nonzero, or gain not much less than the
    last one that is chosen, or than the best of their cluster; all that are not
    switched off, if these are hardly more, or if there are groups.
    """
    Qx, row_slope, row_offset = multiply(data, x), np.zeros(len(x)), 0.0
    if rows is not None:
        row_slope, row_offset = combine_rows(rows.A, beta), dot(rows.b, beta)
    total, gains = price_all(data, status, Qx, x, row_slope)
    ranked, clusters = gains.copy(), data.clusters
    gained = total_gain(data.groups, clusters, status, ranked, remaining)
    bound = total - gained - row_offset
    if data.groups is not None:
        return bound, live
    least = np.inf
    for i in range(min(remaining - clusters.size, len(ranked))):
        least = min(least, ranked[i])
    # Gains are net of the price of a nonzero; shares are taken of gross ones.
    enough = NEAR_SHARE * (least + data.theta) - data.theta
    first, _ = best_members(clusters, gains)
    kept, count = np.empty(len(live), dtype=np.intp), 0
    for j in live:
        is_wanted = (
            status[j] > 0 or x[j] != 0 or (status[j] == 0 and gains[j] >= enough)
        )
        if not is_wanted and clusters.size > 0 and clusters.label[j] >= 0:
            is_wanted = gains[j] >= NEAR_SHARE * gains[first[clusters.label[j]]]
        if is_wanted:
            kept[count] = j
            count += 1
    return bound, kept[:count] if count <= GATHER_SHARE * len(live) else live


@inner
def pick_groups(groups: GroupData | None, kept: IntArray) -> GroupData | None:
    """The groups, restricted to some variables."""
    if groups is None:
        return groups  # a bare None would make the other type optional
    label = np.empty(len(kept), dtype=np.intp)
    for a in range(len(kept)):
        label[a] = groups.label[kept[a]]
    return GroupData(label, groups.limits)


@inner
def gather(data: Data, kept: IntArray) -> Data:
    """The data, restricted to some variables."""
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
        pick_groups(data.groups, kept),
        pick_clusters(data.clusters, kept),
    )


@inner
def is_enough(
    bound: float,
    value: float,
    worst: float,
    cutoff: float,
    tolerance: float,
    slack: float,
) -> bool:
    """Whether a relaxation need not be solved more accurately.

    The node is pruned, value and bound agree, or their difference is small as compared
    with what the node lacks to be pruned: it will be branched on anyway.  The value
    counts only if the rows are met.
    """
    # Where rows are violated, the value can be below the optimum: no gap to go by.
    if bound >= cutoff or worst > ROWS_MET:
        return bound >= cutoff
    if value - bound <= tolerance:
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
    extrapolation: float,
) -> None:
    """Move x to the new point, and y beyond it: Nesterov's extrapolation.

    Products with Q are linear, so that those of y cost nothing.
    """
    for j in range(len(x)):
        y[j] = x_new[j] + extrapolation * (x_new[j] - x[j])
        Qy[j] = Qx_new[j] + extrapolation * (Qx_new[j] - Qx[j])
        x[j] = x_new[j]
        Qx[j] = Qx_new[j]


@spliced
def relax_node(
    data: Data,
    rows: RowData | None,
    metric: RankOneMetric | None,
    status: IntArray,
    remaining: int,
    cutoff: float,
    tolerance: float,
    slack: float,
    max_iter: int,
    start: FloatArray,
    nu: FloatArray,
    best_point: FloatArray,
    best_beta: FloatArray,
    switches: FloatArray,
) -> tuple[float, float, bool]:
    """Solve the relaxation of a node as far as it is worth: see ``relax``.

    Updates the warm start, fills in the dual point with the best bound and the switches
    of the last point.  Returns the bound, the complementarity residual of the rows, and
    whether it stopped before the iteration limit.
    """
    # One long function, and part of its caller: what calls a compiled function is
    # optimised together with all that this calls, so that layers are expensive to
    # compile.
    is_warm = switch_off(start, status)
    best, m = -np.inf, len(nu)
    copy_into(best_point, start)
    # nu are multipliers of the scaled step, beta = lipschitz nu those of Theorem 1.
    beta, here = scaled(nu, data.lipschitz), nu.copy()
    copy_into(best_beta, beta)
    worst, value, multiplier = 0.0, 0.0, 0.0
    if rows is not None:
        coupled = np.zeros(m + len(rows.sigma))
        copy_into(coupled, nu)
    live, n_iter, is_done = live_variables(status), 0, False
    kept, is_fresh = live, True
    # The gains at a cold start say nothing about which variables will matter.
    if is_warm:
        _, kept = survey(data, rows, status, remaining, start, beta, live)
    for n_round in range(1, ROUNDS + 1):
        if is_fresh:
            n, x = len(kept), pick(start, kept)
            part = gather(data, kept) if n < len(start) else data
            part_status = np.empty(n, dtype=np.int8)
            for j in range(n):
                part_status[j] = status[kept[j]]
            step, Qx = make_step(part, part_status, remaining), multiply(part, x)
            if rows is not None:
                coupling = couple(rows, step, kept)
                directions, weights = coupling.A[m:], scaled(rows.sigma, step.size)
            if metric is not None:
                directions = pick_columns(metric.direction, kept)
                weights = scaled(metric.sigma, step.size)
                metric_part = RankOneMetric(directions, metric.sigma)
            y, Qy, row_slope, row_offset = x.copy(), Qx.copy(), np.zeros(n), 0.0
            x_new, z, v, slope = np.empty(n), np.zeros(n), np.empty(n), np.empty(n)
            bound = -np.inf
            tangent_point = x.copy()
            r = guess_r(step, x)
            momentum = 1.0
        # A working set may turn out to be too small, so its rounds begin short.
        last = max_iter
        if len(kept) < len(live):
            last = min(max_iter, n_iter + ROUND_ITER * n_round)
        while n_iter < last and not is_done:
            n_iter += 1
            for j in range(n):
                slope[j] = part.c[j] + 2.0 * Qy[j]
                v[j] = y[j] - step.size * slope[j]
            if rows is not None:
                centre(coupling, m, y)
                r, worst = prox_rows(
                    part, coupling, step, part_status, v, r, coupled, x_new, z
                )
                for i in range(m):
                    nu[i] = coupled[i]
            if metric is not None:
                r, multiplier = prox_rank_one(
                    part,
                    metric_part,
                    step,
                    part_status,
                    y,
                    slope,
                    multiplier,
                    r,
                    v,
                    x_new,
                    z,
                )
            momentum, extrapolation = overshoot(
                directions, weights, momentum, y, x, x_new
            )
            advance(x, Qx, y, Qy, x_new, multiply(part, x_new), extrapolation)
            # The first iterate of a warm start often prunes the node already.
            if n_iter % CHECK_EVERY == 0 or n_iter == last or n_iter == 1:
                for i in range(len(nu)):
                    here[i] = nu[i] / step.size
                if rows is not None:
                    row_slope = combine_rows(coupling.A, here)
                    row_offset = dot(rows.b, here)
                total, gains = price_all(part, part_status, Qx, x, row_slope)
                total -= row_offset + total_gain(
                    part.groups, part.clusters, part_status, gains, remaining
                )
                # Bounds of iterates are not monotone: keep the best.
                if total > bound:
                    bound = total
                    copy_into(tangent_point, x)
                    copy_into(beta, here)
                value = relaxed_value(part, Qx, x, z)
                is_done = is_enough(bound, value, worst, cutoff, tolerance, slack)
        spread(x, kept, start)
        spread(z, kept, switches)
        whole, wanted = spread(tangent_point, kept, np.empty(len(start))), live
        if len(kept) < len(live):
            # Off the working set variables may gain more than was thought: the bound
            # over all of them counts, for what is returned and for the stopping test.
            bound, wanted = survey(data, rows, status, remaining, whole, beta, live)
            is_done = is_enough(bound, value, worst, cutoff, tolerance, slack)
        if bound > best:
            best = bound
            copy_into(best_point, whole)
            copy_into(best_beta, beta)
        if is_done or n_iter == max_iter:
            break
        # The last round is on all variables, so that the iterations can converge.
        wanted = wanted if n_round < ROUNDS - 1 else live
        # If nothing new is wanted, iterations go on with their momentum.
        is_fresh = not contains(kept, wanted)
        kept = wanted if is_fresh else kept
    return best, worst, is_done


@compiled
def relax(
    data: Data,
    rows: RowData | None,
    metric: RankOneMetric | None,
    batch: Batch,
    cutoff: float,
    tolerance: float,
    max_iter: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, BoolArray]:
    """Solve the relaxations of some nodes as far as it is worth.

    Iterations are on a working set of variables; the bound at their end is over all.
    If the others make it too low, the working set is chosen anew.  From a cold start it
    has all variables that are not switched off.

    One of ``rows`` and ``metric`` is None: the other has the metric.  The warm starts
    of the batch are updated.  When to stop: see
    :class:`cardqp.relaxation.relaxation.Effort`.

    Returned are the best bound of each node, and the tangent points and multipliers
    that give it; the switches of the last points; the complementarity residuals of the
    rows; and which nodes stopped before the iteration limit.
    """
    count, n = batch.x.shape
    bounds, points, betas = np.empty(count), np.empty((count, n)), batch.nu.copy()
    switches, worst = np.zeros((count, n)), np.empty(count)
    is_done = np.empty(count, dtype=np.bool_)
    for k in range(count):
        bounds[k], worst[k], is_done[k] = relax_node(
            node_data(data, batch, k),
            rows,
            metric,
            batch.status[k],
            batch.remaining[k],
            cutoff,
            tolerance,
            batch.slack[k],
            max_iter,
            batch.x[k],
            batch.nu[k],
            points[k],
            betas[k],
            switches[k],
        )
    return bounds, points, betas, switches, worst, is_done
