"""Compiled: whether any support of a branch gains more than a given number.

Such a support has strong parts: pairs, and triples, that gain their share with
correlations taken larger than they are (docs/theory.md#strong-parts).  What is not part
of a support with a strong pair need not be looked at, and few pairs are strong.

Rounding: for the matrix with a unit diagonal as it is computed, whatever is not found
to be strong is not, since ``SPARE`` is more than all errors of the tests; that matrix
and the gains differ from the exact ones as by any other elimination.
"""

import numpy as np

from cardqp._compiled import compiled, inner_fast
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.arithmetic.rounding import COMPLETION_UNIT
from cardqp.certificate.completions import block_with_ridge, objective_with, reduce
from cardqp.problem import SparseQP

MOST_FREE = {3: 400, 4: 400}
"""The most undecided variables of which three, or four, are chosen."""

SPARE = 1e-9
"""The share of what a part must gain by which it may fall short and still be strong."""

LEAST_ROOM = 1e-3
"""A part is strong, whatever it gains, if enlarged correlations leave less of one of
its variables than this share."""

MOST_WORK = 8e6
"""The most supports that are tried for a branch.  The search tries fewer; a forged
certificate must not make the checker try more."""


@inner_fast
def normalise(G: FloatArray, c: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
    """Scale the variables from ``first`` on to a unit diagonal, and their slopes.

    Only j >= i of G is read.  Slopes are not numbers if a pivot is not positive or the
    matrix is not finite.
    """
    n, size = len(c) - first, 0.0
    R, s, scale = np.empty((n, n)), np.empty(n), np.empty(n)
    for j in range(n):
        scale[j] = 1.0 / np.sqrt(G[first + j, first + j])
        s[j] = c[first + j] * scale[j]
    for i in range(n):
        for j in range(i, n):
            R[i, j] = G[first + i, first + j] * scale[i] * scale[j]
            size += abs(R[i, j])
            R[j, i] = R[i, j]
    if not size < np.inf:
        s[:] = np.nan
    return R, s


@inner_fast
def find_strong_pairs(
    R: FloatArray, s: FloatArray, factor: float, enough: float, is_strong: BoolArray
) -> int:
    """Mark pairs that gain enough if correlations are enlarged; return their number.

    Of the two ways to write a pair, only that with the larger variable first is marked.
    """
    count = 0
    for i in range(len(s)):
        own, row = s[i], is_strong[i]
        for j in range(i):
            r = factor * R[i, j]
            gain, room = own * own + s[j] * s[j] - 2.0 * r * own * s[j], 1.0 - r * r
            is_weak = gain - enough * room <= -SPARE * enough
            row[j] = not (is_weak & (room >= LEAST_ROOM))
            count += row[j]
    return count


@inner_fast
def extend(
    R: FloatArray,
    k: int,
    level: int,
    factor: float,
    rows: FloatArray,
    slopes: FloatArray,
    rooms: FloatArray,
) -> float:
    """Eliminate one more variable; return what it gains, infinite if it has no room.

    ``rows[q]`` is the row of the Cholesky factor of the variable number q, ``slopes[q]``
    and ``rooms[q]`` are what the first q variables leave of slopes and diagonal.
    Correlations are multiplied by ``factor``.
    """
    n, room = len(R), rooms[level, k]
    least = LEAST_ROOM if factor > 1.0 else 0.0
    if not room > least:
        return np.inf
    pivot = 1.0 / np.sqrt(room)
    y, row, scaled = slopes[level, k] * pivot, rows[level], factor * pivot
    for j in range(n):
        row[j] = scaled * R[k, j]
    for q in range(level):
        t = rows[q, k] * pivot
        for j in range(n):
            row[j] -= t * rows[q, j]
    row[k] = room * pivot
    for j in range(n):
        slopes[level + 1, j] = slopes[level, j] - y * row[j]
        rooms[level + 1, j] = rooms[level, j] - row[j] * row[j]
    # As if it were not there: chosen once more, it would gain nothing.
    slopes[level + 1, k], rooms[level + 1, k] = 0.0, 1.0
    return y * y


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
def find_strong_thirds(
    slope: FloatArray, room: FloatArray, gain: float, enough: float, is_third: BoolArray
) -> int:
    """Mark the variables that gain enough with a pair; return their number.

    All do if the pair gains enough by itself, or has no room.
    """
    lacking, limit, count = enough - gain, -SPARE * enough, 0
    if not lacking > SPARE * enough:
        is_third[:] = True
        return len(slope)
    for j in range(len(slope)):
        is_weak = slope[j] * slope[j] - lacking * room[j] <= limit
        is_third[j] = not (is_weak & (room[j] >= LEAST_ROOM))
        count += is_third[j]
    return count


@compiled
def largest_gain_beyond(
    G: FloatArray, c: FloatArray, n_inside: int, remaining: int, least: float
) -> float:
    """Return a quarter of the largest ``c'G^{-1}c`` over the supports of a branch.

    It is ``least`` if no support has more, and infinite if nothing is proved.  The
    first ``n_inside`` variables are in the support, with ``remaining`` of the others:
    three or four, which must be fewer than there are.
    """
    n, total, work = len(c) - n_inside, 0.0, 0.0
    rest, slope = G.copy(), c.copy()
    for i in range(n_inside):
        total += reduce(rest, slope, i, rest, slope)
    R, s = normalise(rest, slope, n_inside)
    start, factor, size = 4.0 * least - total, remaining - 1.0, np.abs(s).sum()
    if not (0.0 < start < np.inf and size < np.inf):
        return np.inf
    most, enough, is_strong = start, start / remaining, np.empty((n, n), np.bool_)
    if n * find_strong_pairs(R, s, factor, 2.0 * enough, is_strong) > MOST_WORK:
        return np.inf
    rows, slopes, rooms = np.empty((3, n)), np.empty((4, n)), np.ones((4, n))
    # The same for parts, with correlations enlarged.
    part_rows, part_slopes, part_rooms = rows.copy(), slopes.copy(), rooms.copy()
    slopes[0], part_slopes[0], is_third = s, s, np.empty(n, np.bool_)
    for i in range(n):
        first = extend(R, i, 0, 1.0, rows, slopes, rooms)
        extend(R, i, 0, 0.5 * factor, part_rows, part_slopes, part_rooms)
        for j in range(i):
            if not is_strong[i, j]:
                continue
            if remaining == 4:
                part = first + extend(
                    R, j, 1, 0.5 * factor, part_rows, part_slopes, part_rooms
                )
                count = find_strong_thirds(
                    part_slopes[2], part_rooms[2], part, 3.0 * enough, is_third
                )
                if count == 0:
                    continue
            pair = first + extend(R, j, 1, 1.0, rows, slopes, rooms)
            if remaining == 3:
                work, most = work + n, with_last(slopes[2], rooms[2], pair, most)
                continue
            for k in range(n):
                # Triples with a strong pair that came before have been seen with it.
                is_seen = (k < j and is_strong[i, k]) or (
                    k < i and is_strong[max(j, k), min(j, k)]
                )
                if is_third[k] and k != i and k != j and not is_seen:
                    triple = pair + extend(R, k, 2, 1.0, rows, slopes, rooms)
                    most = with_last(slopes[3], rooms[3], triple, most)
                    work += n
            if work > MOST_WORK:
                return np.inf
    return 0.25 * (total + most) if most > start else least


def cut_off_bound(
    problem: SparseQP,
    fixed_in: IntArray,
    free: IntArray,
    remaining: int,
    cutoff: float,
    error: float,
) -> float:
    """Return a lower bound on the objective over all supports of a branch.

    Parameters
    ----------
    problem : SparseQP
        The problem; with constraints or a penalty nothing is proved.
    fixed_in, free : int arrays
        The variables in every support of the branch, and the undecided ones.
    remaining : int
        How many undecided variables may be nonzero: three or four, of more.
    cutoff : float
        The bound to be proved: if it holds, no better one is looked for.
    error : float
        The relative error of the gain of the largest support:
        see :func:`~cardqp.certificate.completions.gain_error`.

    Returns
    -------
    float
        ``-inf`` if nothing is proved.
    """
    is_plain = problem.is_unconstrained and problem.rule.penalty == 0
    is_few = remaining < len(free) <= MOST_FREE.get(remaining, 0)
    if not (is_plain and is_few and np.isfinite(error)):
        return -np.inf
    # The largest gain that leaves the cutoff, with all margins; roundings of this
    # quotient are covered by taking the margin of the constant twice.
    room = problem.constant - cutoff - 2.0 * COMPLETION_UNIT * abs(problem.constant)
    least = room / (1.0 + error + 4.0 * COMPLETION_UNIT)
    index = np.concatenate([fixed_in, free])
    G, c = block_with_ridge(problem, index), problem.c[index]
    gain = largest_gain_beyond(G, c, len(fixed_in), remaining, least)
    return min(cutoff, objective_with(problem, gain, error)) if gain > least else cutoff
