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

    ``factor`` is what correlations are multiplied by.  Only j < i is marked.
    """
    count = 0
    for i in range(len(s)):
        a, row = s[i], is_strong[i]
        for j in range(i):
            r = factor * R[i, j]
            gain, left = a * a - 2.0 * a * s[j] * r + s[j] * s[j], 1.0 - r * r
            is_enough = gain - enough * left > -SPARE * enough
            row[j] = is_enough | (left < LEAST_ROOM)
            count += row[j]
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
def has_strong_third(
    R: FloatArray, s: FloatArray, i: int, j: int, factor: float, enough: float
) -> bool:
    """Whether any variable may be strong with a pair, j < i, that is eliminated first.

    Nothing is stored: hardly any pair has one.
    """
    t = factor * R[i, j]
    left = 1.0 - t * t
    if left < LEAST_ROOM:
        return True
    pivot = 1.0 / np.sqrt(left)
    y = (s[j] - t * s[i]) * pivot
    lacking = enough - s[i] * s[i] - y * y
    if not lacking > SPARE * enough:
        return True
    # Counts, unlike maxima, are taken of several variables at a time.
    count, start, limit = 0, s[i], -SPARE * enough
    for k in range(len(s)):
        p = factor * R[i, k]
        q = (factor * R[j, k] - t * p) * pivot
        slope, room = s[k] - p * start - q * y, 1.0 - p * p - q * q
        is_strong = (slope * slope - lacking * room > limit) | (room < LEAST_ROOM)
        count += is_strong & (k != i) & (k != j)
    return count > 0


@inner_fast
def list_pairs(is_strong: BoolArray, parts: IntArray) -> int:
    """List the strong pairs; return their number."""
    count = 0
    for i in range(len(is_strong)):
        for j in range(i):
            if is_strong[i, j]:
                parts[count, 0], parts[count, 1] = i, j
                count += 1
    return count


@inner_fast
def list_triples(
    R: FloatArray,
    s: FloatArray,
    factor: float,
    enough: float,
    is_strong: BoolArray,
    parts: IntArray,
) -> int:
    """List the triples with a strong pair that are strong; return their number.

    Beyond the end of ``parts`` they are not all listed, nor counted.
    """
    n, count = len(s), 0
    row, slope, room = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        for j in range(i):
            if not is_strong[i, j]:
                continue
            if not has_strong_third(R, s, i, j, factor, enough):
                continue
            lacking = enough - add_pair(R, s, i, j, factor, row, slope, room)
            is_whole = not lacking > SPARE * enough
            for k in range(n):
                excess = slope[k] * slope[k] - lacking * room[k]
                if not (is_whole or excess > -SPARE * enough or room[k] < LEAST_ROOM):
                    continue
                # With an earlier pair that is strong it has been listed already.
                is_listed = (k < j and is_strong[i, k]) or (
                    k < i and is_strong[max(j, k), min(j, k)]
                )
                if k == i or k == j or is_listed:
                    continue
                if count == len(parts):
                    return count + 1
                parts[count, 0], parts[count, 1], parts[count, 2] = i, j, k
                count += 1
    return count


@inner_fast
def best_last(
    slope: FloatArray, room: FloatArray, gain: float, best: float, chosen: IntArray
) -> tuple[float, int]:
    """The best gain with one more variable, and that variable; -1 if it is no better."""
    count, at, lacking = 0, -1, best - gain
    for k in range(len(slope)):
        count += slope[k] * slope[k] > lacking * room[k]
    if count > 0:
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
    found = np.full(remaining, -1)
    L, slope, gained = eliminate(G, c, fixed_in, free)
    n, best = len(free), 4.0 * least - gained
    if not best > 0.0:
        return np.nan, found
    R, s = normalise(G, L, slope, free)
    enough, factor = best / remaining, remaining - 1.0
    is_strong = np.zeros((n, n), dtype=np.bool_)
    count = mark_strong(R, s, factor, 2.0 * enough, is_strong)
    if not n * count <= MOST_WORK:
        return np.nan, found
    most = count if remaining == 3 else int(MOST_WORK / n)
    parts = np.empty((most, remaining - 1), dtype=np.intp)
    if remaining == 3:
        list_pairs(is_strong, parts)
    else:
        count = list_triples(R, s, 0.5 * factor, 3.0 * enough, is_strong, parts)
    if count > most:
        return np.nan, found
    row, slope, room = np.empty(n), np.empty(n), np.empty(n)
    last_slope, last_room, i, j, pair = slope, room, -1, -1, 0.0
    if remaining == 4:
        last_slope, last_room = np.empty(n), np.empty(n)
    for part in parts[:count]:
        if part[0] != i or part[1] != j:
            i, j = part[0], part[1]
            pair = add_pair(R, s, i, j, 1.0, row, slope, room)
        gain = pair
        if remaining == 4:
            gain += add_third(R, i, part[2], row, slope, room, last_slope, last_room)
        best, at = best_last(last_slope, last_room, gain, best, part)
        if at >= 0:
            found[:-1], found[-1] = part, at
    if found[0] < 0:
        return least, found
    return 0.25 * (gained + best), free[found]
