"""Compiled: the best completion of a support by three or four variables.

A completion that gains more than a given number has a pair of variables that does so in
a certain sense, with correlations taken larger than they are, and so has every larger
part of it (docs/theory.md#strong-parts).  Few pairs do: only these are completed.
"""

import numpy as np

from cardqp._compiled import compiled, inner_fast
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.relaxation.completion import eliminate

MOST_FREE = {3: 400, 4: 250}
"""The most undecided variables of which three, or four, are chosen by strong pairs: all
pairs are looked at."""

# Compiled in, as all constants of compiled code.
SPARE = 1e-9
"""Parts count as strong if they lack no more than this share: rounding is far less."""

LEAST_ROOM = 1e-3
"""Parts whose enlarged correlations leave less than this of a variable are strong."""

MOST_WORK = 3e6
"""The most completions that are tried one by one: longer, and relaxations are better."""


@inner_fast
def normalise(
    G: FloatArray, L: FloatArray, slope: FloatArray, free: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The Schur complement on the free variables with a unit diagonal, and the slope.

    Both are scaled alike, so that gains are the same.
    """
    n, m = len(free), len(L)
    R, s, scale = np.empty((n, n)), np.empty(n), np.empty(n)
    for j in range(n):
        room = G[free[j], free[j]]
        for p in range(m):
            room -= L[p, m + j] * L[p, m + j]
        scale[j] = 1.0 / np.sqrt(room)
        s[j] = slope[j] * scale[j]
    for i in range(n):
        row = G[free[i]]
        for j in range(i, n):
            R[i, j] = row[free[j]]
        for p in range(m):
            t = L[p, m + i]
            for j in range(i, n):
                R[i, j] -= t * L[p, m + j]
        for j in range(i, n):
            R[i, j] *= scale[i] * scale[j]
        for j in range(i + 1, n):
            R[j, i] = R[i, j]
    return R, s


@inner_fast
def mark_strong(
    R: FloatArray, s: FloatArray, factor: float, enough: float, is_strong: BoolArray
) -> int:
    """Mark the pairs that gain enough with enlarged correlations; return their number.

    ``factor`` is what correlations are multiplied by.
    """
    n, count = len(s), 0
    for i in range(n):
        a, excess, largest = s[i], -np.inf, 0.0
        for j in range(i):
            r = factor * R[i, j]
            gain = a * a - 2.0 * a * s[j] * r + s[j] * s[j]
            excess = max(excess, gain - enough * (1.0 - r * r))
            largest = max(largest, r * r)
        # Most rows hold no such pair: the first loop, without branches, finds that out.
        if excess <= -SPARE * enough and largest < 1.0 - LEAST_ROOM:
            continue
        for j in range(i):
            r = factor * R[i, j]
            excess = a * a - 2.0 * a * s[j] * r + s[j] * s[j] - enough * (1.0 - r * r)
            if excess > -SPARE * enough or r * r >= 1.0 - LEAST_ROOM:
                is_strong[i, j] = is_strong[j, i] = True
                count += 1
    return count


@inner_fast
def add_pair(
    R: FloatArray,
    s: FloatArray,
    i: int,
    j: int,
    factor: float,
    row: FloatArray,
    slope: FloatArray,
    room: FloatArray,
) -> float:
    """Eliminate a pair; return its gain, infinite if hardly any room is left for it.

    ``row`` becomes the row of j in the Cholesky factor, ``slope`` and ``room`` what is
    left of the slope and the diagonal of the other variables.
    """
    t = factor * R[i, j]
    left = 1.0 - t * t
    if left < LEAST_ROOM and factor > 1.0:
        return np.inf
    pivot = 1.0 / np.sqrt(left)
    y = (s[j] - t * s[i]) * pivot
    for k in range(len(s)):
        p = factor * R[i, k]
        q = (factor * R[j, k] - t * p) * pivot
        row[k], slope[k], room[k] = q, s[k] - p * s[i] - q * y, 1.0 - p * p - q * q
    slope[i] = slope[j] = 0.0
    room[i] = room[j] = 1.0
    return s[i] * s[i] + y * y


@inner_fast
def list_strong(
    slope: FloatArray, room: FloatArray, gain: float, enough: float, hits: IntArray
) -> int:
    """List the variables that gain enough after a pair; return their number."""
    n, lacking, excess, least = len(slope), enough - gain, -np.inf, np.inf
    if not lacking > SPARE * enough:
        for k in range(n):
            hits[k] = k
        return n
    for k in range(n):
        excess = max(excess, slope[k] * slope[k] - lacking * room[k])
        least = min(least, room[k])
    if excess <= -SPARE * enough and least >= LEAST_ROOM:
        return 0
    count = 0
    for k in range(n):
        excess = slope[k] * slope[k] - lacking * room[k]
        if excess > -SPARE * enough or room[k] < LEAST_ROOM:
            hits[count] = k
            count += 1
    return count


@inner_fast
def best_last(
    slope: FloatArray, room: FloatArray, gain: float, best: float, chosen: IntArray
) -> tuple[float, int]:
    """The best gain with one more variable, and that variable; -1 if it is no better."""
    excess, at, lacking = 0.0, -1, best - gain
    for k in range(len(slope)):
        excess = max(excess, slope[k] * slope[k] - lacking * room[k])
    if excess > 0.0:
        for k in range(len(slope)):
            total, is_new = gain + slope[k] * slope[k] / room[k], True
            for other in chosen:
                is_new = is_new and other != k
            if total > best and is_new:
                best, at = total, k
    return best, at


@inner_fast
def add_third(
    R: FloatArray,
    i: int,
    k: int,
    row: FloatArray,
    slope: FloatArray,
    room: FloatArray,
    slope_after: FloatArray,
    room_after: FloatArray,
) -> float:
    """Eliminate a third variable; return what it gains."""
    p, q, pivot = R[i, k], row[k], 1.0 / np.sqrt(room[k])
    y = slope[k] * pivot
    for j in range(len(slope)):
        r = (R[k, j] - p * R[i, j] - q * row[j]) * pivot
        slope_after[j], room_after[j] = slope[j] - r * y, room[j] - r * r
    slope_after[k], room_after[k] = 0.0, 1.0
    return y * y


@compiled
def best_beyond(
    G: FloatArray,
    c: FloatArray,
    fixed_in: IntArray,
    free: IntArray,
    remaining: int,
    least: float,
) -> tuple[float, IntArray]:
    """The gain of the best support, if it is more than ``least``, and its variables.

    ``remaining`` is 3 or 4, and less than the number of free variables.  Without a
    better support the gain is ``least``; it is not a number if there is too much to be
    tried.
    """
    L, slope, gained = eliminate(G, c, fixed_in, free)
    n, best, work = len(free), 4.0 * least - gained, 0.0
    enough, factor = best / remaining, remaining - 1.0
    chosen, found = np.full(remaining, -1), np.full(remaining, -1)
    if not best > 0.0:
        return np.nan, chosen
    R, s = normalise(G, L, slope, free)
    is_strong = np.zeros((n, n), dtype=np.bool_)
    if not n * mark_strong(R, s, factor, 2.0 * enough, is_strong) <= MOST_WORK:
        return np.nan, chosen
    row, slope, room, hits = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.intp)
    slope_after, room_after = np.empty(n), np.empty(n)
    for i in range(n):
        for j in range(i + 1, n):
            if not is_strong[i, j]:
                continue
            chosen[0], chosen[1], count, work = i, j, 1, work + n
            if remaining == 4:
                chosen[2] = -1
                pair = add_pair(R, s, i, j, 0.5 * factor, row, slope, room)
                count = list_strong(slope, room, pair, 3.0 * enough, hits)
            if count > 0:
                pair = add_pair(R, s, i, j, 1.0, row, slope, room)
            for hit in range(count):
                gain, at = pair, -1
                if remaining == 3:
                    best, at = best_last(slope, room, gain, best, chosen)
                else:
                    k = hits[hit]
                    # A part with an earlier pair that is strong is met with that one.
                    is_met = k < j and is_strong[i, k] or k < i and is_strong[j, k]
                    if k == i or k == j or is_met:
                        continue
                    work += n
                    gain += add_third(
                        R, i, k, row, slope, room, slope_after, room_after
                    )
                    chosen[2] = k
                    best, at = best_last(slope_after, room_after, gain, best, chosen)
                if at >= 0:
                    found[:], found[-1] = chosen, at
            if work > MOST_WORK:
                return np.nan, chosen
    if found[0] < 0:
        return least, found
    return 0.25 * (gained + best), free[found]
