"""Sums of the largest losses of each row of a matrix, in one pass, compiled.

A heap of the largest entries so far is kept for each row; entries that do not exceed
its least one, almost all of them, cost one comparison.
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
