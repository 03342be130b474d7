"""Sums of the largest losses of each row of a matrix, compiled.

At the root in one pass: a heap of the largest entries so far is kept for each row;
entries that do not exceed its least one, almost all of them, cost one comparison.  In
nodes from rows that are sorted.
"""

import numpy as np

from cardqp._compiled import compiled, inner
from cardqp._typing import FloatArray, IntArray


@inner
def replace_least(heap: FloatArray, value: float) -> None:
    """Replace the least entry of a heap, its first, by a larger one."""
    at, n = 0, len(heap)
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and heap[below + 1] < heap[below]:
            below += 1
        if value <= heap[below]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = value


@inner
def keep_largest(row: FloatArray, heap: FloatArray) -> None:
    """Fill a heap with the largest of the nonnegative entries of a row."""
    heap[:] = 0.0
    for value in row:
        # Not the negation: a NaN must not be passed over.
        if not value <= heap[0]:
            replace_least(heap, value)


@compiled
def weighted_sums(
    Q: FloatArray, P: FloatArray, scale: FloatArray, signs: IntArray, count: int
) -> FloatArray:
    """Sums of the ``count`` largest ``loss_ij scale_i`` of each row ``j``.

    ``loss`` is the offdiagonal loss of ``Q - P`` (see
    :func:`cardqp.bounds.sparse_minorant.offdiagonal_loss`), no entry of which is kept.
    """
    n = len(Q)
    sums, row, heap = np.empty(n), np.empty(n), np.empty(count)
    for j in range(n):
        # Rows of symmetric matrices are their columns.
        for i in range(n):
            row[i] = abs(Q[j, i] - P[j, i]) * scale[i]
        if signs[j] != 0:
            for i in range(n):
                if (Q[j, i] - P[j, i]) * signs[i] * signs[j] > 0:
                    row[i] = 0.0
        row[j] = 0.0
        keep_largest(row, heap)
        sums[j] = heap.sum()
    return sums


@inner
def row_total(
    row: FloatArray, order: IntArray, status: IntArray, inside: IntArray, slots: int
) -> float:
    """The losses of a row to all variables inside, and the largest to so many others.

    The entry on the diagonal is zero, so that a variable never meets itself.
    """
    total = 0.0
    for i in inside:
        total += row[i]
    for i in order:
        if slots <= 0 or not row[i] > 0:
            break
        if status[i] == 0:
            total += row[i]
            slots -= 1
    return total


@compiled
def raised_ridge(
    losses: FloatArray,
    order: IntArray,
    weights: FloatArray,
    row_sums: FloatArray,
    ridge: FloatArray,
    status: IntArray,
    limit: int,
    unit: float,
) -> FloatArray:
    """The ridge of a node: see :mod:`cardqp.bounds.node_ridges`.

    ``losses`` come with the order of decreasing ones in each row, with weights and with
    their sums at the root, and ``ridge`` is the one there.

    ``unit`` is the margin for rounding, relative to the ridge and to both sums.
    """
    result, inside = ridge.copy(), np.flatnonzero(status > 0)
    for j in range(len(status)):
        if status[j] < 0:
            continue
        slots = limit - len(inside) - (1 if status[j] == 0 else 0)
        total = row_total(losses[j], order[j], status, inside, slots)
        gain = row_sums[j] - total - unit * (row_sums[j] + total)
        gain = gain / weights[j] - unit * ridge[j]
        # What is not a number is passed over.
        if gain > 0:
            result[j] += gain
    return result
