"""Compiled: the search for the best support by dropping variables from all of them.

Furnival & Wilson (1974), for problems without rows and bounds.  With ``G`` the matrix
``Q + diag(ridge)``, a support ``T`` gains a quarter of ``c'G^{-1}c`` on ``T``, and no
more than a larger one.  A node of this tree has variables that are in and others that
are free; it keeps the gain ``g`` of all of them together and, for the free ones, their
block ``H`` of the inverse of ``G`` and their coefficients ``b``.  Dropping a variable
loses exactly ``b_j^2 / H_jj``.  See docs/theory.md#dropping.
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import ZERO, compiled, inner, inner_fast
from cardqp._typing import FloatArray, IntArray

# Compiled in, as all constants of compiled code.
GATHER_SHARE = 0.6
"""Variables are taken out of a node's matrix if at most this share of it is free."""

DONE, PAUSED, FOUND = 0, 1, 2
"""Why :func:`advance` returns."""


class DropState(NamedTuple):
    """The open nodes of a search by dropping: one on each level, depth first.

    Attributes
    ----------
    H, b : (levels, n, n) and (levels, n) arrays
        The inverse's block, and the coefficients.
    variable : (levels, n) int array
        The variable of each row of ``H``.
    order, loss : (levels, n) arrays
        The rows of free variables by decreasing loss, and these losses.
    gain : (levels,) array
        The gain of all variables of a node, four times in units of the objective.
    size, n_free, n_dropped, n_in : (levels,) int arrays
        The rows of ``H``, the free variables among them, how many of these have been
        dropped already, and how many variables are in.
    inside : (s,) int array
        The variables that are in.  Nodes on later levels have those of earlier ones.
    R, c : (s + 1, n, n) and (s + 1, n) arrays
        The matrix ``G``, and the linear cost, once the first variables that
        are in have been eliminated: none of them, one, two and so on.
    own : (s + 1,) array
        What these variables gain.
    slope, room : (n,) arrays
        Scratch space.
    at : (2,) int array
        The last level in use, -1 once the search is over; and how many variables have
        been eliminated.
    """

    H: FloatArray
    b: FloatArray
    variable: IntArray
    order: IntArray
    loss: FloatArray
    gain: FloatArray
    size: IntArray
    n_free: IntArray
    n_dropped: IntArray
    n_in: IntArray
    inside: IntArray
    R: FloatArray
    c: FloatArray
    own: FloatArray
    slope: FloatArray
    room: FloatArray
    at: IntArray


@inner
def put_inside(state: DropState, place: int, j: int) -> None:
    """Put a variable into the support; eliminations after that place are void."""
    if state.inside[place] != j:
        state.inside[place] = j
        state.at[1] = min(state.at[1], place)


@inner_fast
def eliminate_inside(state: DropState, count: int) -> None:
    """Eliminate the first variables that are in from the matrix of ``G``."""
    n = len(state.slope)
    for q in range(state.at[1], count):
        R, c, out, after = state.R[q], state.c[q], state.R[q + 1], state.c[q + 1]
        row, p = R[state.inside[q]], state.inside[q]
        pivot = 1.0 / row[p]
        t = c[p] * pivot
        state.own[q + 1] = state.own[q] + c[p] * t
        for i in range(n):
            after[i] = c[i] - t * row[i]
            share, source, target = row[i] * pivot, R[i], out[i]
            for j in range(n):
                target[j] = source[j] - share * row[j]
    state.at[1] = max(state.at[1], count)


@inner_fast
def look_ahead(state: DropState, at: int, p: int) -> float:
    """Compute coefficients and pivots of a level once its row p is dropped.

    Returns the gain that is left.
    """
    H, b, m = state.H[at], state.b[at], state.size[at]
    row, slope, room = H[p], state.slope, state.room
    pivot = 1.0 / row[p]
    t = b[p] * pivot
    for i in range(m):
        slope[i] = b[i] - t * row[i]
        room[i] = H[i, i] - row[i] * row[i] * pivot
    return float(state.gain[at] - b[p] * t)


@inner
def sort_losses(state: DropState, at: int, places: int, most: float) -> int:
    """Order the free variables of the next level by what dropping them loses.

    Those that lose ``most`` or more cannot be dropped and come first.  Returns their
    number, or -1 if there are more than ``places``.
    """
    order, loss = state.order[at + 1], state.loss[at + 1]
    slope, room = state.slope, state.room
    first, last = state.n_dropped[at], state.n_free[at]
    n_kept = 0
    for q in range(first, last):
        i = state.order[at, q]
        own = slope[i] * slope[i] / room[i]
        n_kept += own >= most
        if n_kept > places:
            return -1
        # By insertion: the order hardly changes from level to level.
        k = q - first
        while k > 0 and loss[k - 1] < own:
            order[k], loss[k] = order[k - 1], loss[k - 1]
            k -= 1
        order[k], loss[k] = i, own
    return n_kept


@inner_fast
def drop_row(state: DropState, at: int, p: int) -> None:
    """Fill the matrix of the next level, in which row p is dropped: all its rows."""
    H, out, row, m = state.H[at], state.H[at + 1], state.H[at, p], state.size[at]
    pivot = 1.0 / row[p]
    for i in range(m):
        t, source, target = row[i] * pivot, H[i], out[i]
        for j in range(m):
            target[j] = source[j] - t * row[j]
        state.b[at + 1, i] = state.slope[i]
        state.variable[at + 1, i] = state.variable[at, i]
    state.size[at + 1] = m


@inner_fast
def drop_and_gather(state: DropState, at: int, p: int) -> None:
    """Fill the matrix of the next level, in which row p is dropped: free rows only."""
    H, out, row, m = state.H[at], state.H[at + 1], state.H[at, p], state.n_free[at + 1]
    order, pivot, part = state.order[at + 1], 1.0 / row[p], np.empty(m)
    for q in range(m):
        part[q] = row[order[q]]
    for q in range(m):
        i = order[q]
        t, source, target = row[i] * pivot, H[i], out[q]
        for r in range(m):
            target[r] = source[order[r]] - t * part[r]
        state.b[at + 1, q] = state.slope[i]
        state.variable[at + 1, q] = state.variable[at, i]
    for q in range(m):
        order[q] = q
    state.size[at + 1] = m


@inner
def branch(state: DropState, at: int, threshold: float) -> None:
    """Drop the next variable of a level, which is in from then on.

    The node without it is opened on the next level, unless it is closed at once.
    """
    first, n_in = state.n_dropped[at], state.n_in[at]
    p = state.order[at, first]
    state.n_dropped[at] += 1
    state.n_in[at] += 1
    if not state.gain[at] - state.loss[at, first] > threshold:
        return
    gain = look_ahead(state, at, p)
    places = len(state.inside) - n_in
    n_kept = sort_losses(state, at, places, gain - threshold)
    if n_kept < 0:
        return
    order, loss = state.order[at + 1], state.loss[at + 1]
    n_free = state.n_free[at] - first - 1 - n_kept
    for q in range(n_kept):
        put_inside(state, n_in + q, state.variable[at, order[q]])
    for q in range(n_free):
        order[q], loss[q] = order[q + n_kept], loss[q + n_kept]
    state.gain[at + 1], state.n_in[at + 1] = gain, n_in + n_kept
    state.n_free[at + 1], state.n_dropped[at + 1] = n_free, 0
    state.at[0] += 1
    remaining = places - n_kept
    if remaining <= 2 or n_free <= remaining:
        # No matrix is needed where nothing more is dropped.
        for q in range(n_free):
            state.variable[at + 1, q], order[q] = state.variable[at, order[q]], q
    elif n_free > GATHER_SHARE * state.size[at]:
        drop_row(state, at, p)
    else:
        drop_and_gather(state, at, p)


@inner_fast
def best_pair(
    R: FloatArray, c: FloatArray, free: IntArray, least: float
) -> tuple[float, int, int]:
    """Return the largest gain of a pair, if above ``least``, and the pair or -1."""
    n, best, best_i, best_j = len(free), least, -1, -1
    room, slope = np.empty(n), np.empty(n)
    for q in range(n):
        room[q], slope[q] = R[free[q], free[q]], c[free[q]]
    for q in range(n):
        row, pivot, own = R[free[q]], 1.0 / room[q], slope[q] * slope[q] / room[q]
        # Most rows hold no better pair: a first loop without divisions finds that out.
        excess = 0.0
        for r in range(q + 1, n):
            t = row[free[r]] * pivot
            left, change = room[r] - t * row[free[r]], slope[r] - t * slope[q]
            excess = max(excess, change * change - (best - own) * left)
        if excess > 0.0:
            for r in range(q + 1, n):
                t = row[free[r]] * pivot
                left, change = room[r] - t * row[free[r]], slope[r] - t * slope[q]
                if own + change * change / left > best:
                    best = own + change * change / left
                    best_i, best_j = free[q], free[r]
    return best, best_i, best_j


@inner
def best_single(R: FloatArray, c: FloatArray, free: IntArray) -> int:
    """Return the variable that gains most."""
    best, at = -1.0, -1
    for j in free:
        if c[j] * c[j] / R[j, j] > best:
            best, at = c[j] * c[j] / R[j, j], j
    return at


@inner
def complete(
    state: DropState, free: IntArray, n_in: int, remaining: int, least: float
) -> tuple[float, int]:
    """Fill up to two places, or all; return the gain and the size of the support.

    The support is put inside; its size is 0 if it gains no more than ``least``.
    """
    if remaining >= len(free):
        for q in range(len(free)):
            put_inside(state, n_in + q, free[q])
        n_in, remaining = n_in + len(free), 0
    eliminate_inside(state, n_in)
    R, c, gain = state.R[n_in], state.c[n_in], state.own[n_in]
    if remaining == 1:
        i = best_single(R, c, free)
        put_inside(state, n_in, i)
        gain += c[i] * c[i] / R[i, i]
    elif remaining == 2:
        own, i, j = best_pair(R, c, free, least - gain)
        if i < 0:
            # The sum may be rounded to more than ``least``, without a pair.
            return least, 0
        gain += own
        put_inside(state, n_in, i)
        put_inside(state, n_in + 1, j)
    return gain, n_in + remaining if gain > least else 0


@compiled
def advance(
    state: DropState, threshold: float, least: float, n_steps: int
) -> tuple[int, int, float, IntArray]:
    """Go on with a search until it is over, a support is found, or it pauses.

    A node is closed if all its variables together gain no more than the threshold;
    supports that gain no more than ``least`` are of no interest.  The state is changed.
    Returned are why, after how many nodes, and the support with its gain.
    """
    none = np.zeros(0, dtype=np.intp)
    for steps in range(n_steps):
        at = state.at[0]
        if at < 0:
            return DONE, steps, 0.0, none
        first, last, n_in = state.n_dropped[at], state.n_free[at], state.n_in[at]
        if first > 0:
            # Later levels have used this place.
            put_inside(state, n_in - 1, state.variable[at, state.order[at, first - 1]])
        remaining = len(state.inside) - n_in
        if remaining > 2 and remaining < last - first:
            branch(state, at, threshold)
            continue
        state.at[0] -= 1
        free = np.empty(last - first, dtype=np.intp)
        for q in range(first, last):
            free[q - first] = state.variable[at, state.order[at, q]]
        gain, size = complete(state, free, n_in, remaining, least)
        if size > 0:
            return FOUND, steps, gain, state.inside[:size].copy()
    return PAUSED, n_steps, 0.0, none


@compiled
def estimate_steps(state: DropState, threshold: float, draws: FloatArray) -> float:
    """Estimate the steps of a search that has not begun by random dives (Knuth 1975).

    A node with K places left has K - 2 children, and ends with an enumeration.  It is
    closed if all its variables together gain no more than the threshold.  Each row of
    ``draws`` has the random numbers of a dive.
    """
    total = 0.0
    for dive in range(len(draws)):
        weight, at = 1.0, ZERO
        while True:
            total += 2.0 * weight
            n_in = state.n_in[at]
            remaining, n_free = len(state.inside) - n_in, state.n_free[at]
            if remaining <= 2 or n_free <= remaining:
                break
            first = int(draws[dive, at] * (remaining - 2))
            weight *= remaining - 2
            for q in range(first):
                put_inside(state, n_in + q, state.variable[at, state.order[at, q]])
            state.n_dropped[at], state.n_in[at] = first, n_in + first
            branch(state, at, threshold)
            state.n_dropped[at], state.n_in[at] = 0, n_in
            if state.at[0] == at:
                break
            at += 1
        state.at[0] = 0
    return total / len(draws)
