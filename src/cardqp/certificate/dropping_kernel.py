"""Compiled: the checker's own search for supports by dropping variables.

The state of a node is the matrix ``[[g, b'], [b, H]]`` of its gain ``g``, the
coefficients ``b`` and the block ``H`` of the inverse of ``G``, for variables that may
still be dropped.  To drop a variable is to eliminate it from this matrix.
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import ZERO, compiled, inner, inner_fast
from cardqp._typing import FloatArray, IntArray
from cardqp.certificate.full_gain import FullGain


class Nodes(NamedTuple):
    """The open nodes, one for each variable that has been dropped, depth first.

    Attributes
    ----------
    M : (levels, levels, levels) array
        Their matrices.  Row 0 is that of gain and coefficients; variables that may be
        dropped follow, by decreasing loss.
    name : (levels, levels) int array
        The variable of each row but the first.
    size, following, n_in : (levels,) int arrays
        The number of rows, the next one to be dropped, and how many variables are in.
    loss, order : (levels,) arrays
        Scratch space.
    """

    M: FloatArray
    name: IntArray
    size: IntArray
    following: IntArray
    n_in: IntArray
    loss: FloatArray
    order: IntArray

    @classmethod
    def start(cls, full: FullGain, n_inside: int) -> "Nodes":
        """The root: all variables but the first, which are in, may be dropped."""
        n = len(full.c)
        levels = n - n_inside + 1
        M = np.empty((levels, levels, levels))
        name = np.zeros((levels, levels), np.intp)
        size, following, n_in, order = np.ones((4, levels), np.intp)
        loss = np.zeros(levels)
        loss[1:] = full.b[n_inside:] ** 2 / full.H.diagonal()[n_inside:]
        later = n_inside + np.argsort(-loss[1:], kind="stable")
        M[0, 0, 0], M[0, 0, 1:], M[0, 1:, 0] = full.gain, full.b[later], full.b[later]
        M[0, 1:, 1:], name[0, 1:] = full.H[np.ix_(later, later)], later
        size[0], n_in[0] = levels, n_inside
        return cls(M, name, size, following, n_in, loss, order)


class Inside(NamedTuple):
    """The variables that are in, and what eliminating them one by one leaves.

    Attributes
    ----------
    name : (places,) int array
        The variables; the nodes say how many there are.
    R, c : (places + 1, n, n) and (places + 1, n) arrays
        The matrix and the linear cost after so many eliminations.
    gain : (places + 1,) array
        What the eliminated variables gain.
    done : (1,) int array
        How many eliminations are up to date.
    """

    name: IntArray
    R: FloatArray
    c: FloatArray
    gain: FloatArray
    done: IntArray

    @classmethod
    def start(cls, full: FullGain, n_inside: int, places: int) -> "Inside":
        """The first variables are in; nothing is eliminated."""
        n, name = len(full.c), np.full(places, -1)
        name[:n_inside] = np.arange(n_inside)
        R, c = np.empty((places + 1, n, n)), np.empty((places + 1, n))
        R[0], c[0] = full.G, full.c
        return cls(name, R, c, np.zeros(places + 1), np.zeros(1, np.intp))


@inner_fast
def losses(M: FloatArray, p: int, size: int, loss: FloatArray) -> bool:
    """What dropping each later variable loses once p is dropped; False if unknown."""
    pivot, least = 1.0 / M[p, p], np.inf
    t = M[p, 0] * pivot
    for i in range(p + 1, size):
        room = M[i, i] - M[p, i] * M[p, i] * pivot
        slope = M[0, i] - t * M[p, i]
        least = min(least, room)
        loss[i] = slope * slope / room
    return bool(M[p, p] > 0 and least > 0)


@inner
def sort_later(loss: FloatArray, p: int, size: int, order: IntArray) -> None:
    """List the variables after p by decreasing loss, from place 1 on; 0 stays first."""
    order[0] = 0
    for i in range(p + 1, size):
        k = i - p
        while k > 1 and loss[order[k - 1]] < loss[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i


@inner_fast
def drop(M: FloatArray, p: int, order: IntArray, size: int, out: FloatArray) -> None:
    """Eliminate p; the first of the others, so many of them, are kept in this order."""
    pivot = 1.0 / M[p, p]
    for r in range(size):
        source, target = M[order[r]], out[r]
        t = M[p, order[r]] * pivot
        for q in range(size):
            target[q] = source[order[q]] - t * M[p, order[q]]


@inner_fast
def include(
    R: FloatArray, c: FloatArray, p: int, out: FloatArray, slope: FloatArray
) -> float:
    """Eliminate a variable that is in; return what it gains, infinite if unknown."""
    if not R[p, p] > 0:
        return np.inf
    pivot = 1.0 / R[p, p]
    row = R[p]
    for i in range(len(c)):
        t, source, target = row[i] * pivot, R[i], out[i]
        slope[i] = c[i] - t * c[p]
        for j in range(len(c)):
            target[j] = source[j] - t * row[j]
    return float(c[p] * c[p] * pivot)


@inner_fast
def pair_gain(R: FloatArray, c: FloatArray, free: IntArray, least: float) -> float:
    """Return the most that two of the variables gain, or ``least`` if that is more."""
    n, most = len(free), least
    room, slope = np.empty(n), np.empty(n)
    for q in range(n):
        room[q], slope[q] = R[free[q], free[q]], c[free[q]]
    for q in range(n):
        row, inverse, s = R[free[q]], 1.0 / room[q], slope[q]
        own, excess, lowest = s * s * inverse, 0.0, room[q]
        for r in range(q + 1, n):
            t = row[free[r]] * inverse
            left, change = room[r] - t * row[free[r]], slope[r] - t * s
            excess = max(excess, change * change - (most - own) * left)
            lowest = min(lowest, left)
        if not lowest > 0:
            return np.inf
        if excess > 0:
            for r in range(q + 1, n):
                t = row[free[r]] * inverse
                left, change = room[r] - t * row[free[r]], slope[r] - t * s
                most = max(most, own + change * change / left)
    return most


@inner_fast
def single_gain(R: FloatArray, c: FloatArray, free: IntArray) -> float:
    """Return the most that one of the variables gains."""
    most = 0.0
    for j in free:
        if not R[j, j] > 0:
            return np.inf
        most = max(most, c[j] * c[j] / R[j, j])
    return most


@inner
def put(inside: Inside, place: int, j: int) -> None:
    """Put a variable into the support; eliminations after its place are void."""
    if inside.name[place] != j:
        inside.name[place] = j
        inside.done[0] = min(inside.done[0], place)


@inner
def gain_inside(inside: Inside, count: int) -> float:
    """Return the gain of the first variables of the support, which are eliminated."""
    while inside.done[0] < count:
        q = inside.done[0]
        out, slope = inside.R[q + 1], inside.c[q + 1]
        own = include(inside.R[q], inside.c[q], inside.name[q], out, slope)
        inside.gain[q + 1] = inside.gain[q] + own
        inside.done[0] += 1
    return float(inside.gain[count])


@inner
def fill(nodes: Nodes, inside: Inside, at: int, least: float) -> float:
    """Return the largest gain if up to two places are filled, or ``least`` if more."""
    p, count = nodes.following[at], nodes.n_in[at]
    free = nodes.name[at, p : nodes.size[at]]
    remaining = len(inside.name) - count
    if len(free) <= remaining:
        for q in range(len(free)):
            put(inside, count + q, free[q])
        count, remaining = count + len(free), 0
    gain = gain_inside(inside, count)
    R, c = inside.R[count], inside.c[count]
    if remaining == 1:
        gain += single_gain(R, c, free)
    elif remaining == 2:
        gain += pair_gain(R, c, free, least - gain)
    return max(least, gain) if gain == gain else np.inf


@inner
def descend(nodes: Nodes, inside: Inside, at: int, threshold: float) -> int:
    """Drop the next variable of a node; return the level to go on with, or -2.

    That is the next one unless what is left is ruled out; -2 if a pivot is not
    positive.
    """
    p, n_in, M = nodes.following[at], nodes.n_in[at], nodes.M[at]
    loss = nodes.loss
    order = nodes.order
    n_later = nodes.size[at] - nodes.following[at] - 1
    nodes.following[at] += 1
    nodes.n_in[at] += 1
    if not losses(M, p, nodes.size[at], loss):
        return -2
    left, n_kept = M[0, 0] - M[0, p] * M[0, p] / M[p, p], 0
    sort_later(loss, p, nodes.size[at], order)
    while n_kept < n_later and left - loss[order[n_kept + 1]] <= threshold:
        n_kept += 1
    remaining = len(inside.name) - n_in - n_kept
    if left <= threshold or remaining < 0:
        return at
    for q in range(n_kept):
        put(inside, n_in + q, nodes.name[at, order[q + 1]])
    size = n_later - n_kept + 1
    for q in range(1, size):
        order[q] = order[q + n_kept]
        nodes.name[at + 1, q] = nodes.name[at, order[q]]
    nodes.size[at + 1], nodes.n_in[at + 1] = size, n_in + n_kept
    nodes.following[at + 1] = 1
    if remaining > 2:
        drop(M, p, order, size, nodes.M[at + 1])
    return at + 1


@compiled
def largest_left(
    nodes: Nodes, inside: Inside, threshold: float, least: float, n_steps: float
) -> tuple[float, float]:
    """Return the largest computed gain of a support that no threshold rules out.

    It is ``least`` if no support gains more, and infinite if steps run out or a pivot
    is not positive.  What gains no more than the threshold is not searched.  Also
    returned is how many steps are left.
    """
    at, most = ZERO, least
    while at >= 0:
        n_steps -= 1
        if n_steps < 0:
            return np.inf, 0.0
        p, n_in = nodes.following[at], nodes.n_in[at]
        if p > 1:
            # Nodes that were searched since then have used this place.
            put(inside, n_in - 1, nodes.name[at, p - 1])
        remaining, n_free = len(inside.name) - n_in, nodes.size[at] - p
        if remaining > 2 and n_free > remaining:
            at = descend(nodes, inside, at, threshold)
        else:
            most = fill(nodes, inside, at, most)
            at -= 1
        if at < -1 or most == np.inf:
            return np.inf, n_steps
    return most, n_steps
