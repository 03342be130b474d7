"""Compiled: the best completion of a support by three or four variables.

A completion that gains more than a given number has a pair of variables that does so in
a certain sense, with correlations taken larger than they are, and so has every larger
part of it (docs/theory.md#strong-parts).  Few pairs do: only these are completed.
"""

import numpy as np

from cardqp._compiled import compiled, inner_fast
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.arithmetic.rounding import PART_MARGIN, PART_ROOM
from cardqp.relaxation.completion import eliminate

MOST_FREE = {3: 400, 4: 250}
"""The most undecided variables of which three, or four, are chosen by strong pairs: all
pairs are looked at."""

# Compiled in, as all constants of compiled code.
MOST_WORK = 3e6
"""The most completions that are tried: beyond that relaxations are quicker."""


@inner_fast
def normalise(
    G: FloatArray, L: FloatArray, slope: FloatArray, free: IntArray
) -> tuple[FloatArray, FloatArray, bool]:
    """The Schur complement on the free variables with a unit diagonal, and the slope.

    Both are scaled alike, so that gains are the same.  The slope is the first of four
    rows.  Also whether all pivots are positive.
    """
    n, m, is_sound = len(free), len(L), True
    R, slopes, scale = np.empty((n, n)), np.empty((4, n)), np.empty(n)
    for j in range(n):
        room = G[free[j], free[j]]
        for p in range(m):
            room -= L[p, m + j] * L[p, m + j]
        is_sound = is_sound and room > 0.0
        scale[j] = 1.0 / np.sqrt(room)
        slopes[0, j] = slope[j] * scale[j]
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
    return R, slopes, is_sound


@inner_fast
def mark_strong(
    R: FloatArray, s: FloatArray, remaining: int, start: float, is_strong: BoolArray
) -> int:
    """Mark the pairs of which one is in each set that gains more; return their number.

    ``start`` is what sets of ``remaining`` variables are to gain, and pairs their share
    of it, with enlarged correlations.  Only j < i is marked.  Pairs that are not, do
    not gain enough in exact arithmetic (docs/rounding.md, Lemma 13).
    """
    factor, enough, count = remaining - 1.0, 2.0 * start / remaining, 0
    for i in range(len(s)):
        a, row = s[i], is_strong[i]
        for j in range(i):
            r = factor * R[i, j]
            gain, left = a * a - 2.0 * a * s[j] * r + s[j] * s[j], 1.0 - r * r
            is_enough = gain - enough * left > -PART_MARGIN * enough
            row[j] = is_enough | (left < PART_ROOM)
            count += row[j]
    return count


@inner_fast
def mark_thirds(
    R: FloatArray, s: FloatArray, i: int, j: int, start: float, is_third: BoolArray
) -> int:
    """Mark the variables that make a strong triple with a pair; return their number.

    ``start`` is what sets of four are to gain.  The pair is eliminated, with enlarged
    correlations.
    """
    factor, enough, first, count = 1.5, 0.75 * start, s[i], 0
    t = factor * R[i, j]
    pivot = 1.0 / np.sqrt(max(1.0 - t * t, PART_ROOM))
    y = (s[j] - t * first) * pivot
    lacking, limit = enough - first * first - y * y, -PART_MARGIN * enough
    is_whole = 1.0 - t * t < PART_ROOM or not lacking > -limit
    # Counts, unlike maxima, are taken of several variables at a time.
    for k in range(len(s)):
        p = factor * R[i, k]
        q = (factor * R[j, k] - t * p) * pivot
        slope, room = s[k] - p * first - q * y, 1.0 - p * p - q * q
        is_strong = (slope * slope - lacking * room > limit) | (room < PART_ROOM)
        is_third[k] = (is_strong | is_whole) & (k != i) & (k != j)
        count += is_third[k]
    return count


@inner_fast
def list_parts(
    R: FloatArray, s: FloatArray, start: float, is_strong: BoolArray, parts: IntArray
) -> int:
    """List the strong parts with one variable less than is chosen; return their number.

    Beyond the end of ``parts`` they are not all listed, nor counted.
    """
    n, count, m = len(s), 0, parts.shape[1]
    is_third = np.empty(n, dtype=np.bool_)
    for i in range(n):
        for j in range(i):
            if not is_strong[i, j]:
                continue
            last = 1
            if m == 3:
                hits = mark_thirds(R, s, i, j, start, is_third)
                last = n if hits > 0 else 0
            for k in range(last):
                # With an earlier pair that is strong a triple has been listed already.
                if m == 3 and (
                    not is_third[k]
                    or (k < j and is_strong[i, k])
                    or (k < i and is_strong[max(j, k), min(j, k)])
                ):
                    continue
                if count == len(parts):
                    return count + 1
                parts[count, m - 1] = k
                parts[count, 0], parts[count, 1] = i, j
                count += 1
    return count


@inner_fast
def add(
    R: FloatArray,
    k: int,
    level: int,
    rows: FloatArray,
    slopes: FloatArray,
    rooms: FloatArray,
) -> float:
    """Eliminate a variable after ``level`` others; return what it gains.

    ``rows`` are those of the Cholesky factor, ``slopes[q]`` and ``rooms[q]`` what the
    first q variables leave of the slope and the diagonal.
    """
    n, pivot = len(R), 1.0 / np.sqrt(rooms[level, k])
    y = slopes[level, k] * pivot
    p = rows[0, k] if level > 0 else 0.0
    q = rows[1, k] if level > 1 else 0.0
    for j in range(n):
        r = (R[k, j] - p * rows[0, j] - q * rows[1, j]) * pivot
        rows[level, j] = r
        slopes[level + 1, j] = slopes[level, j] - y * r
        rooms[level + 1, j] = rooms[level, j] - r * r
    slopes[level + 1, k], rooms[level + 1, k] = 0.0, 1.0
    return float(y * y)


@inner_fast
def best_last(
    slope: FloatArray, room: FloatArray, gain: float, best: float, part: IntArray
) -> tuple[float, int]:
    """The best gain with one more variable, and that one; -1 if it is no better.

    It is infinite if a variable has no room.
    """
    count, at, lacking = 0, -1, best - gain
    for k in range(len(slope)):
        count += slope[k] * slope[k] > lacking * room[k]
    if count > 0:
        for k in range(len(slope)):
            total, is_new = np.inf, True
            if room[k] > 0.0:
                total = gain + slope[k] * slope[k] / room[k]
            for q in range(len(part)):
                is_new = is_new and part[q] != k
            if total > best and is_new:
                best, at = total, k
    return best, at


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
    tried, or if a pivot is lost.
    """
    n, m, found = len(free), remaining - 1, np.empty(remaining, dtype=np.intp)
    L, slope, gained = eliminate(G, c, fixed_in, free)
    start = 4.0 * least - gained
    if not start > 0.0:
        return np.nan, found
    R, slopes, is_sound = normalise(G, L, slope, free)
    if not is_sound:
        return np.nan, found
    best, s = start, slopes[0]
    is_strong = np.empty((n, n), dtype=np.bool_)
    count = mark_strong(R, s, remaining, start, is_strong)
    if not n * count <= MOST_WORK:
        return np.nan, found
    most = count if m == 2 else int(MOST_WORK / n)
    parts = np.empty((most, m), dtype=np.intp)
    count = list_parts(R, s, start, is_strong, parts)
    if count > most:
        return np.nan, found
    rows, rooms, gains = np.zeros((3, n)), np.ones((4, n)), np.zeros(4)
    for at in range(count):
        part = parts[at]
        # What parts with the same pair have in common is kept.
        is_kept = at > 0 and part[0] == parts[at - 1, 0] and part[1] == parts[at - 1, 1]
        for q in range(2 if is_kept else 0, m):
            gains[q + 1] = gains[q] + add(R, part[q], q, rows, slopes, rooms)
        if not gains[m] < np.inf:
            return np.nan, found
        best, last = best_last(slopes[m], rooms[m], gains[m], best, part)
        if last >= 0:
            for q in range(m):
                found[q] = free[part[q]]
            found[m] = free[last]
    return 0.25 * (gained + best) if best > start else least, found
