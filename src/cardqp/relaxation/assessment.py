"""Compiled: the bound and the fixings that a dual point proves for a node.

Theorems 1 and 2 as in ``bounds/tangent_bound.py``, for one node and in scaled units,
fast enough for millions of nodes.  Scaling is by powers of two, so the margins for
rounding are the same.  Replaying a certificate does not come through here: the checker
has its own evaluation (docs/theory.md#theorem-1, #theorem-2).
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import compiled, compiled_brief, inner, spliced
from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic import rounding
from cardqp.arithmetic.rounding import (
    FIXING_SHARE,
    FIXING_UNIT,
    SEPARABLE_UNIT,
    SMALLEST_NORMAL,
)
from cardqp.relaxation.array_loops import multiply_live_rows
from cardqp.relaxation.group_selection import exchanges
from cardqp.relaxation.scaled_data import Batch, Data, RowData, node_data

combination_unit = inner(rounding.combination_unit)
factor_product_unit = inner(rounding.factor_product_unit)
inner_product_unit = inner(rounding.inner_product_unit)
raised = inner(rounding.raised)
total_unit = inner(rounding.total_unit)


class Margins(NamedTuple):
    """Data for margins: see :class:`cardqp.problem.quadratic.Minorant`.

    Attributes
    ----------
    roots : (n,) array
        Roots of the diagonal of ``Q``, not rounded down.
    psd_violation : (n,) array
        How much ``Q`` may fall short of being positive semidefinite.
    constant : float
        The constant of the objective.
    """

    roots: FloatArray
    psd_violation: FloatArray
    constant: float


@inner
def combine(data: Data, tangent_point: FloatArray) -> tuple[FloatArray, int]:
    """The rows of the matrix or factor, combined by the tangent point, and how many."""
    total, count = np.zeros(data.M.shape[1]), 0
    for j in range(len(tangent_point)):
        if tangent_point[j] != 0:
            count += 1
            for k in range(len(total)):
                total[k] += tangent_point[j] * data.M[j, k]
    return total, count


@inner
def tangent_gram(
    margins: Margins, tangent_point: FloatArray, slope: FloatArray, count: int
) -> tuple[FloatArray, FloatArray, float]:
    """Slope of the tangent plane, its error, and the offset with its error added.

    ``slope`` comes as the combination of ``count`` rows of the matrix.
    """
    unit, reach, touching = inner_product_unit(count), 0.0, 0.0
    for j in range(len(tangent_point)):
        reach += margins.roots[j] * abs(tangent_point[j])
        touching += margins.psd_violation[j] * tangent_point[j] * tangent_point[j]
    error, offset, spread = np.empty(len(tangent_point)), 0.0, 0.0
    for j in range(len(tangent_point)):
        error[j] = 2.0 * unit * reach * margins.roots[j]
        slope[j] *= 2.0
        offset += 0.5 * slope[j] * tangent_point[j]
        noise = error[j] + unit * abs(slope[j])
        spread += 0.5 * noise * abs(tangent_point[j])
    touching *= 2.0 * raised(count + 3)
    return slope, error, offset + spread + touching


@inner
def tangent_factor(
    data: Data, margins: Margins, status: IntArray, alpha: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Slope, error and offset as ``tangent_gram``, for the form given by a factor.

    The plane is ``alpha'Fx - |alpha|^2/4``; ``alpha`` comes as the combination of
    columns of the factor.  The slope is zero where variables are switched off, and of
    no interest.
    """
    square, error = 0.0, np.empty(len(status))
    for k in range(len(alpha)):
        alpha[k] *= 2.0
        square += alpha[k] * alpha[k]
    reach = factor_product_unit(len(alpha)) * np.sqrt(square + SMALLEST_NORMAL)
    for j in range(len(status)):
        error[j] = reach * raised(len(alpha)) * margins.roots[j]
    offset = 0.25 * square * raised(len(alpha))
    return multiply_live_rows(data.M, alpha, status), error, offset


@inner
def cost_down(slope: float, ridge: float, lower: float, upper: float) -> float:
    """The least ``slope x + ridge x^2`` within bounds, rounded down."""
    x = min(max(slope / (-2.0 * ridge), lower), upper)
    size = abs(x) * (abs(slope) + ridge * abs(x))
    return x * (slope + ridge * x) - SEPARABLE_UNIT * size


@spliced
def price(
    data: Data,
    rows: RowData | None,
    margins: Margins,
    status: IntArray,
    tangent_point: FloatArray,
    beta: FloatArray,
    costs: FloatArray,
) -> float:
    """The base of the bound of Theorem 1; fills in the cost of each variable."""
    n, m = len(tangent_point), len(beta)
    combined, count = combine(data, tangent_point)
    if data.is_gram:
        slope, error, offset = tangent_gram(margins, tangent_point, combined, count)
    else:
        slope, error, offset = tangent_factor(data, margins, status, combined)
    size, row_offset, offset_magnitude = np.empty(n), 0.0, 0.0
    for j in range(n):
        size[j] = abs(data.c[j]) + abs(slope[j])
    if rows is not None:
        for i in range(m):
            t = beta[i] if rows.equal[i] else max(beta[i], 0.0)
            row_offset += rows.b[i] * t
            offset_magnitude += abs(rows.b[i] * t)
            for j in range(n):
                slope[j] += rows.A[i, j] * t
                size[j] += abs(rows.A[i, j] * t)
    scale = offset_magnitude + abs(margins.constant) + abs(offset) + abs(row_offset)
    unit = combination_unit(m)
    base = margins.constant - offset - row_offset - unit * scale
    for j in range(n):
        costs[j] = 0.0
        if status[j] < 0:
            continue
        ridge = data.w[j] - 2.0 * margins.psd_violation[j]
        middle = data.c[j] + slope[j]
        noise = error[j] + unit * size[j]
        low = -np.inf
        if ridge > 0:
            below = cost_down(middle - noise, ridge, data.lower[j], data.upper[j])
            above = cost_down(middle + noise, ridge, data.lower[j], data.upper[j])
            low = min(below, above)
        costs[j] = low + data.theta if low == low else -np.inf
    return base


@spliced
def total_cost(
    data: Data, costs: FloatArray, status: IntArray, remaining: int
) -> tuple[float, float, FloatArray, FloatArray]:
    """The least total of costs over the supports of a node, and the size of its terms.

    Also the gains that each variable competes with: see ``exchanges``.
    """
    total, size, gains = 0.0, 0.0, np.zeros(len(costs))
    for j in range(len(costs)):
        if status[j] > 0:
            total += costs[j]
            size += abs(costs[j])
        elif status[j] == 0:
            gains[j] = max(-costs[j], 0.0)
    gained, last, following = exchanges(
        data.groups, data.clusters, status, gains, remaining
    )
    return total - gained, size + gained, last, following


@spliced
def fix(
    status: IntArray,
    remaining: int,
    start: float,
    costs: FloatArray,
    last: FloatArray,
    following: FloatArray,
    cutoff: float,
    decided: IntArray,
    on: FloatArray,
    off: FloatArray,
) -> float:
    """Fill in bounds with variables switched on and off, and what they decide.

    ``start`` is the bound of the node.  Returns the least bound that prunes a part.
    """
    least, share = np.inf, FIXING_SHARE
    for j in range(len(status)):
        if status[j] != 0:
            continue
        on[j] = (
            np.inf if remaining == 0 else start + share * max(costs[j] + last[j], 0.0)
        )
        off[j] = start + share * max(-costs[j] - following[j], 0.0)
        if on[j] >= cutoff:
            decided[j] = -1
            least = min(least, on[j])
        elif off[j] >= cutoff:
            decided[j] = 1
            least = min(least, off[j])
    return least


@compiled
def assess(
    data: Data,
    rows: RowData | None,
    margins: Margins,
    batch: Batch,
    points: FloatArray,
    betas: FloatArray,
    cutoff: float,
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """Bound nodes by Theorem 1 and fix variables by Theorem 2 (reduced-cost fixing).

    Each node has its dual point; parts of it with a bound of at least the cutoff are
    pruned.  Returned are the bounds of the nodes, the least bounds among the parts of
    each that fixings prune, the status after fixing, the bounds with an undecided
    variable switched on, or off, and the cost of each variable.
    """
    count, n = points.shape
    values, least, decided = np.empty(count), np.empty(count), batch.status.copy()
    on, off, costs = np.empty((count, n)), np.empty((count, n)), np.empty((count, n))
    for k in range(count):
        own = node_data(data, batch, k)
        status = batch.status[k]
        remaining = batch.remaining[k]
        base = price(own, rows, margins, status, points[k], betas[k], costs[k])
        total, size, last, following = total_cost(own, costs[k], status, remaining)
        value = base + total - total_unit(n) * (abs(base) + size)
        values[k], least[k] = value if value > -np.inf else -np.inf, np.inf
        for j in range(n):
            on[k, j], off[k, j] = -np.inf, -np.inf
        if value > -np.inf:
            least[k] = fix(
                status,
                remaining,
                value - FIXING_UNIT * abs(value),
                costs[k],
                last,
                following,
                cutoff,
                decided[k],
                on[k],
                off[k],
            )
    return values, least, decided, on, off, costs


def round_points(points: FloatArray, unit: FloatArray, single: bool) -> FloatArray:
    """Tangent points as certificates store them, unscaled.

    The points, which are in scaled units, are changed accordingly.
    """
    stored = points * unit
    if single:
        stored = stored.astype(np.float32).astype(float)
    points[:] = stored / unit
    return stored


@compiled_brief
def largest_share(
    ridge: FloatArray, decided: IntArray, x: FloatArray, costs: FloatArray
) -> int:
    """The variable to branch on; -1 if none is undecided.

    It is the one with the largest ``sqrt(ridge) |x|`` in the relaxed point, on whose
    switch most of the perspective term depends.  If x is zero at all undecided ones, it
    is the cheapest at the dual point.
    """
    best, cheapest, most = -1, -1, 0.0
    for j in range(len(x)):
        if decided[j] != 0:
            continue
        share = np.sqrt(ridge[j]) * abs(x[j])
        if share > most:
            best, most = j, share
        if cheapest < 0 or costs[j] < costs[cheapest]:
            cheapest = j
    return best if best >= 0 else cheapest


@compiled_brief
def nonzeros(x: FloatArray) -> tuple[IntArray, FloatArray]:
    """Where a point is not zero, and its values there."""
    count = 0
    index, value = np.empty(len(x), dtype=np.int32), np.empty(len(x))
    for j in range(len(x)):
        if x[j] != 0:
            index[count], value[count] = j, x[j]
            count += 1
    return index[:count].copy(), value[:count].copy()
