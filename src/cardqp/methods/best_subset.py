"""Compiled enumeration of all supports within a small set of variables."""

import numpy as np

from cardqp._compiled import compiled
from cardqp._typing import FloatArray, IntArray


@compiled
def best_subset(
    H: FloatArray, slope: FloatArray, remaining: int, penalty: float
) -> tuple[float, IntArray]:
    """Minimise ``slope'x + x'Hx + penalty |x|_0`` over supports of at most a size.

    Parameters
    ----------
    H : (k, k) array
        Symmetric and positive definite.
    slope : (k,) array
        The linear cost.
    remaining : int
        The largest size of a support.
    penalty : float
        The cost of each variable in the support.

    Returns
    -------
    gain : float
        Minus the least value.
    chosen : int array
        The support that attains it.

    Notes
    -----
    Variables are taken in increasing order.  Each one taken is eliminated from those
    that follow (docs/theory.md#completions), so that the gain of the next one is known
    at once and the last one need not be eliminated: C(k, remaining - 1) small
    eliminations.
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
        gain = gained[depth] + 0.25 * gradient * gradient / room - penalty
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
