"""Good supports to begin with: those of one size less, grown, and their exchanges."""

from collections.abc import Iterable

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray

Support = tuple[int, ...]
Pool = dict[Support, float]
"""Gains of supports."""

MOST_EXCHANGES = 20
"""The most exchanges of one support."""

VISIBLE = 1e-6
"""A column is not added if less than this share of it is left by those that are in."""


def good_supports(
    G: FloatArray, c: FloatArray, smaller: Iterable[IntArray], inside: IntArray, n: int
) -> Pool:
    """Supports with one variable more than some, and what exchanges make of the best.

    Parameters
    ----------
    G, c : arrays
        The matrix, and the linear cost.
    smaller : iterable of int arrays
        Supports of equal size.
    inside : int array
        Variables that are in every support.
    n : int
        How many of the best are exchanged.
    """
    pool: Pool = {}
    for support in smaller:
        pool |= grown(G, c, tuple(support.tolist()))
    for best in sorted(pool, key=pool.__getitem__, reverse=True)[:n]:
        _exchange(G, c, best, frozenset(inside.tolist()), pool)
    return pool


def grown(G: FloatArray, c: FloatArray, support: Support) -> Pool:
    """All supports with one variable more, but for those that depend on the others."""
    index = np.array(support, dtype=np.intp)
    B, solved, own = G[index], np.zeros((0, len(c))), np.zeros(0)
    if support:
        try:
            factor = scipy.linalg.cho_factor(B[:, index], check_finite=False)
        except np.linalg.LinAlgError:
            return {}
        solved = scipy.linalg.cho_solve(factor, B, check_finite=False)
        own = scipy.linalg.cho_solve(factor, c[index], check_finite=False)
    room = G.diagonal() - np.einsum("ij,ij->j", B, solved)
    slope = c - own @ B
    is_free = room > VISIBLE * G.diagonal()
    is_free[index] = False
    base = float(c[index] @ own)
    return {
        tuple(sorted((*support, j))): base + float(slope[j] ** 2 / room[j])
        for j in np.flatnonzero(is_free).tolist()
    }


def _exchange(
    G: FloatArray, c: FloatArray, support: Support, inside: frozenset[int], pool: Pool
) -> None:
    """Exchange single variables as long as that helps; all that is seen is kept."""
    for _ in range(MOST_EXCHANGES):
        seen: Pool = {}
        for j in support:
            if j not in inside:
                seen |= grown(G, c, tuple(i for i in support if i != j))
        pool |= seen
        best = max(seen, key=seen.__getitem__, default=support)
        if not seen or best == support or seen[best] <= pool[support]:
            return
        support = best
