"""Compiled: whether any support of a branch gains more than a given number.

Such a support has strong parts: pairs, and triples, that gain their share with
correlations taken larger than they are (docs/theory.md#strong-parts).  What is not part
of a support with a strong pair need not be looked at, and few pairs are strong.

Rounding: for the matrix with a unit diagonal as it is computed, whatever is not found
to be strong is not, since ``PART_MARGIN`` is more than all errors of the tests; that
matrix and the gains differ from the exact ones as by any other elimination
(docs/rounding.md, Lemmas 13 and 14).
"""

import numpy as np

from cardqp._compiled import compiled, inner_fast
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.arithmetic.rounding import COMPLETION_UNIT, PART_MARGIN, PART_ROOM
from cardqp.certificate.completions import block_with_ridge, objective_with, reduce
from cardqp.problem import SparseQP

MOST_FREE = {3: 400, 4: 400}
"""The most undecided variables of which three, or four, are chosen."""

MOST_WORK = 8e6
"""The most supports that are tried for a branch.  The search tries fewer; a forged
certificate must not make the checker try more."""


@inner_fast
def normalise(
    G: FloatArray, c: FloatArray, first: int
) -> tuple[FloatArray, FloatArray, bool]:
    """Scale the variables from ``first`` on to a unit diagonal.

    Only j >= i of G is read.  The slopes, scaled alike, are the first of four rows.
    Also whether all pivots are positive and all entries finite.
    """
    n, size, is_sound = len(c) - first, 0.0, True
    R, slopes, scale = np.empty((n, n)), np.empty((4, n)), np.empty(n)
    for j in range(n):
        is_sound = is_sound and G[first + j, first + j] > 0.0
        scale[j] = 1.0 / np.sqrt(G[first + j, first + j])
        slopes[0, j] = c[first + j] * scale[j]
        size += abs(slopes[0, j])
    for i in range(n):
        for j in range(i, n):
            R[i, j] = G[first + i, first + j] * scale[i] * scale[j]
            size += abs(R[i, j])
        for j in range(i, n):
            R[j, i] = R[i, j]
    return R, slopes, is_sound and size < np.inf


@inner_fast
def find_strong_pairs(
    R: FloatArray, s: FloatArray, remaining: int, start: float, is_strong: BoolArray
) -> int:
    """Mark pairs that gain enough if correlations are enlarged; return their number.

    That is their share of ``start``, with which supports of ``remaining`` variables are
    compared.  Of the two ways to write a pair, only that with the larger variable first
    is marked.
    """
    factor, enough, count = remaining - 1.0, 2.0 * start / remaining, 0
    for i in range(len(s)):
        own, row = s[i], is_strong[i]
        for j in range(i):
            r = factor * R[i, j]
            gain, room = own * own + s[j] * s[j] - 2.0 * r * own * s[j], 1.0 - r * r
            is_weak = gain - enough * room <= -PART_MARGIN * enough
            row[j] = not (is_weak & (room >= PART_ROOM))
            count += row[j]
    return count


@inner_fast
def find_strong_thirds(
    R: FloatArray, s: FloatArray, i: int, j: int, start: float, is_third: BoolArray
) -> int:
    """Mark variables that gain enough with a pair if correlations are enlarged.

    That is three quarters of ``start``, with which supports of four are compared.
    Return their number.  All do if the pair gains enough by itself, or has no room.
    """
    factor, enough, n, count, first = 1.5, 0.75 * start, len(s), 0, s[i]
    t = factor * R[i, j]
    room = max(1.0 - t * t, PART_ROOM)
    pivot = 1.0 / np.sqrt(room)
    second = (s[j] - t * first) * pivot
    lacking, limit = enough - first * first - second * second, -PART_MARGIN * enough
    is_any = 1.0 - t * t < PART_ROOM or not lacking > -limit
    for k in range(n):
        p = factor * R[i, k]
        q = (factor * R[j, k] - t * p) * pivot
        slope, room = s[k] - p * first - q * second, 1.0 - p * p - q * q
        is_weak = (slope * slope - lacking * room <= limit) & (room >= PART_ROOM)
        is_third[k] = (is_any | (not is_weak)) & (k != i) & (k != j)
        count += is_third[k]
    return count


@inner_fast
def extend(
    R: FloatArray,
    k: int,
    level: int,
    rows: FloatArray,
    slopes: FloatArray,
    rooms: FloatArray,
) -> float:
    """Eliminate one more variable; return what it gains, infinite if it has no room.

    ``rows[q]`` is the row of the Cholesky factor of the variable number q;
    ``slopes[q]`` and ``rooms[q]`` are what the first q leave of slopes and diagonal.
    """
    n, room = len(R), rooms[level, k]
    if not room > 0.0:
        return np.inf
    pivot = 1.0 / np.sqrt(room)
    y = slopes[level, k] * pivot
    for j in range(n):
        rows[level, j] = pivot * R[k, j]
    for q in range(level):
        t = rows[q, k] * pivot
        for j in range(n):
            rows[level, j] -= t * rows[q, j]
    for j in range(n):
        r = rows[level, j]
        slopes[level + 1, j] = slopes[level, j] - y * r
        rooms[level + 1, j] = rooms[level, j] - r * r
    # As if it were not there: chosen once more, it would gain nothing.
    slopes[level + 1, k], rooms[level + 1, k] = 0.0, 1.0
    return float(y * y)


@inner_fast
def with_last(slope: FloatArray, room: FloatArray, gain: float, most: float) -> float:
    """The larger of ``most`` and the largest gain with one more variable.

    It is infinite if a variable has no room.
    """
    # Counts, unlike maxima, are taken of several variables at a time.
    n_larger, n_without, lacking = 0, 0, most - gain
    for j in range(len(slope)):
        n_larger += slope[j] * slope[j] > lacking * room[j]
        n_without += not room[j] > 0.0
    if n_without > 0:
        return np.inf
    if n_larger > 0:
        for j in range(len(slope)):
            most = max(most, gain + slope[j] * slope[j] / room[j])
    return most


@inner_fast
def complete_pair(
    R: FloatArray,
    i: int,
    j: int,
    is_strong: BoolArray,
    is_third: BoolArray,
    rows: FloatArray,
    slopes: FloatArray,
    rooms: FloatArray,
    most: float,
) -> tuple[float, int]:
    """The larger of ``most`` and the largest gain of supports with a strong pair.

    They have one variable more than ``rows``; if that is four, the pair is completed
    by a third one that is marked first.  Also how many parts were completed.  The gain
    is infinite if a pivot is lost.
    """
    n, m, n_kept, count, gain, pair = len(R), len(rows), 0, 0, 0.0, 0.0
    for k in range(n if m == 3 else 1):
        # Triples with a strong pair that came before were seen with that one.
        if m == 3 and (
            not is_third[k]
            or (k < j and is_strong[i, k])
            or (k < i and is_strong[max(j, k), min(j, k)])
        ):
            continue
        gain = pair
        for q in range(n_kept, m):
            chosen = i if q == 0 else j if q == 1 else k
            gain += extend(R, chosen, q, rows, slopes, rooms)
            pair = gain if q == 1 else pair
        # Without a pivot the rows to be tried are those of another part, or of none.
        if not gain < np.inf:
            return np.inf, count + 1
        most, n_kept = with_last(slopes[m], rooms[m], gain, most), 2
        count += 1
    return most, count


@compiled
def largest_gain_beyond(
    G: FloatArray, c: FloatArray, n_inside: int, remaining: int, least: float
) -> float:
    """Return a quarter of the largest ``c'G^{-1}c`` over the supports of a branch.

    It is ``least`` if no support has more, and infinite if nothing is proved.  The
    first ``n_inside`` variables are in the support, with ``remaining`` of the others:
    three or four, which must be fewer than there are.  G and c are written over.
    """
    n, total = len(c) - n_inside, 0.0
    for i in range(n_inside):
        total += reduce(G, c, i, G, c)
    R, slopes, is_sound = normalise(G, c, n_inside)
    s, start = slopes[0], 4.0 * least - total
    if not (0.0 < start < np.inf and is_sound):
        return np.inf
    most, is_strong = start, np.empty((n, n), np.bool_)
    work = n * find_strong_pairs(R, s, remaining, start, is_strong)
    rows, rooms = np.empty((remaining - 1, n)), np.ones((4, n))
    is_third, count = np.empty(n, np.bool_), 1
    for i in range(n):
        for j in range(i):
            if work > MOST_WORK:
                return np.inf
            if not is_strong[i, j]:
                continue
            if remaining == 4:
                count = find_strong_thirds(R, s, i, j, start, is_third)
            if count > 0:
                most, tried = complete_pair(
                    R, i, j, is_strong, is_third, rows, slopes, rooms, most
                )
                work += n * tried
    return least if most <= start else 0.25 * (total + most)


def cut_off_bound(
    problem: SparseQP,
    fixed_in: IntArray,
    free: IntArray,
    remaining: int,
    cutoff: float,
    error: float,
) -> float:
    """Return a lower bound on the objective over all supports of a branch.

    They have the variables fixed in and ``remaining`` free ones: three or four, of
    more.  If the cutoff holds, no better bound is looked for.  The ``error`` is that of
    :func:`~cardqp.certificate.completions.gain_error` for the largest support.  The
    bound is ``-inf`` if nothing is proved, as for problems with constraints or a
    penalty.
    """
    is_plain = problem.is_unconstrained and problem.rule.penalty == 0
    is_few = remaining < len(free) <= MOST_FREE.get(remaining, 0)
    if not (is_plain and is_few and np.isfinite(error)):
        return -np.inf
    # The largest gain that leaves the cutoff: two differences, a sum, a quotient and
    # its product with the sum again are off by less than this margin.
    margin = 2.0 * COMPLETION_UNIT * (abs(problem.constant) + abs(cutoff))
    least = (problem.constant - cutoff - margin) / (1.0 + error)
    index = np.concatenate([fixed_in, free])
    G, c = block_with_ridge(problem, index), problem.c[index]
    gain = largest_gain_beyond(G, c, len(fixed_in), remaining, least)
    # Whatever is not known to be less may be more, also what is not a number.
    return (
        cutoff if gain <= least else min(cutoff, objective_with(problem, gain, error))
    )
