"""Compiled: the best few of a handful of variables, by trying all ways."""

import numpy as np

from cardqp._compiled import compiled
from cardqp._typing import FloatArray, IntArray


@compiled
def best_subset(
    H: FloatArray, slope: FloatArray, remaining: int, price: float
) -> tuple[float, IntArray]:
    """The variables with the least ``slope'x + x'Hx + price |x|_0``, at most ``slots``.

    Variables are taken in increasing order.  Each that is taken is eliminated from what
    follows, so that the gain of the next one is known at once and the last one need not
    be eliminated: C(k, slots - 1) small eliminations.

    Returns
    -------
    gain : float
        How much below zero the value is.
    chosen : int array
        The variables.
    """
    k, remaining = len(slope), min(remaining, len(slope))
    M, v = np.empty((remaining + 1, k, k)), np.empty((remaining + 1, k))
    for i in range(k):
        v[0, i] = slope[i]
        for e in range(k):
            M[0, i, e] = H[i, e]
    gained, following = np.zeros(remaining + 1), np.zeros(remaining + 1, dtype=np.intp)
    path, chosen = (
        np.empty(remaining, dtype=np.intp),
        np.empty(remaining, dtype=np.intp),
    )
    best, count, depth = 0.0, 0, 0 if remaining > 0 else -1
    while depth >= 0:
        j = following[depth]
        if j == k:
            depth -= 1
            continue
        following[depth] += 1
        room, gradient = M[depth, j, j], v[depth, j]
        gain = gained[depth] + 0.25 * gradient * gradient / room - price
        path[depth] = j
        if gain > best:
            best, count = gain, depth + 1
            for i in range(count):
                chosen[i] = path[i]
        if depth + 1 < remaining:
            for i in range(j + 1, k):
                share = M[depth, j, i] / room
                v[depth + 1, i] = v[depth, i] - share * gradient
                for e in range(i, k):
                    M[depth + 1, i, e] = M[depth, i, e] - share * M[depth, j, e]
            depth += 1
            gained[depth], following[depth] = gain, j + 1
    return best, chosen[:count]
