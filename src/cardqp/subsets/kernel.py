"""Compiled: the best supports of one size, by dropping variables from all of them.

The search is that of proofs (:mod:`cardqp.certificate.dropping_kernel`), with a list of
the best supports in place of the largest gain.
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import ZERO, compiled, inner, inner_fast
from cardqp._typing import FloatArray, IntArray
from cardqp.certificate.dropping_kernel import (
    Inside,
    Nodes,
    descend,
    gain_inside,
    put,
)

ROOT = ZERO
"""The level that a search begins with."""

DONE, PAUSED, UNKNOWN = 0, 1, 2
"""Why :func:`list_best` returns: all is searched; steps have run out; a pivot was not
positive."""


class Best(NamedTuple):
    """The best supports so far.

    Attributes
    ----------
    gain : (n_best,) array
        Their gains, largest first.  At the start, numbers that are known to be exceeded
        by as many supports; what gains no more is not listed.
    member : (n_best, size) int array
        Their variables; -1 where there is none yet.
    """

    gain: FloatArray
    member: IntArray

    @classmethod
    def above(cls, gain: float, n_best: int, size: int) -> "Best":
        """An empty list for supports that gain more than a number."""
        return cls(np.full(n_best, gain), np.full((n_best, size), -1))


@inner
def enter(best: Best, gain: float, inside: Inside, count: int, i: int, j: int) -> None:
    """Put a support into the list: the first ones that are in, then i and j if any."""
    at = len(best.gain) - 1
    while at > 0 and best.gain[at - 1] < gain:
        best.gain[at] = best.gain[at - 1]
        best.member[at] = best.member[at - 1]
        at -= 1
    best.gain[at] = gain
    best.member[at, :count] = inside.name[:count]
    if i >= 0:
        best.member[at, count] = i
    if j >= 0:
        best.member[at, count + 1] = j


@inner_fast
def best_after(
    R: FloatArray, c: FloatArray, free: IntArray, q: int, own: float, least: float
) -> tuple[float, float]:
    """The least room of the variables after q once that is in, and their excess.

    The excess is positive if one of them gains more than ``least``, with what ``q``
    gains.
    """
    row, inverse, s = R[free[q]], 1.0 / R[free[q], free[q]], c[free[q]]
    excess, lowest = 0.0, R[free[q], free[q]]
    for r in range(q + 1, len(free)):
        t = row[free[r]] * inverse
        left, change = R[free[r], free[r]] - t * row[free[r]], c[free[r]] - t * s
        excess = max(excess, change * change - (least - own) * left)
        lowest = min(lowest, left)
    return lowest, excess


@inner
def list_pairs(
    inside: Inside, count: int, free: IntArray, gain: float, best: Best
) -> bool:
    """List what two free variables complete; False if a pivot is not positive."""
    R, c = inside.R[count], inside.c[count]
    for q in range(len(free) - 1):
        i = free[q]
        own = gain + c[i] * c[i] / R[i, i]
        lowest, excess = best_after(R, c, free, q, own, best.gain[-1])
        if not lowest > 0:
            return False
        if excess > 0:
            for r in range(q + 1, len(free)):
                j = free[r]
                t = R[i, j] / R[i, i]
                change = c[j] - t * c[i]
                total = own + change * change / (R[j, j] - t * R[i, j])
                if total > best.gain[-1]:
                    enter(best, total, inside, count, i, j)
    return True


@inner
def list_singles(
    inside: Inside, count: int, free: IntArray, gain: float, best: Best
) -> bool:
    """List what one free variable completes; False if a pivot is not positive."""
    R, c = inside.R[count], inside.c[count]
    for j in free:
        if not R[j, j] > 0:
            return False
        total = gain + c[j] * c[j] / R[j, j]
        if total > best.gain[-1]:
            enter(best, total, inside, count, j, -1)
    return True


@inner
def list_completed(nodes: Nodes, inside: Inside, at: int, best: Best) -> bool:
    """Fill up to two places, or all; False if a pivot is not positive."""
    p, count = nodes.following[at], nodes.n_in[at]
    free = nodes.name[at, p : nodes.size[at]]
    places = len(inside.name)
    if count + len(free) < places:
        return True
    if count + len(free) == places:
        for q in range(len(free)):
            put(inside, count + q, free[q])
        count = places
    gain = gain_inside(inside, count)
    if not gain < np.inf:
        return False
    if count == places:
        if gain > best.gain[-1]:
            enter(best, gain, inside, count, -1, -1)
        return True
    if count == places - 1:
        return list_singles(inside, count, free, gain, best)
    return list_pairs(inside, count, free, gain, best)


@compiled
def list_best(
    nodes: Nodes,
    inside: Inside,
    best: Best,
    at: int,
    share: float,
    error: float,
    n_steps: int,
) -> tuple[int, int, int]:
    """List the supports that gain most.

    Parameters
    ----------
    nodes, inside : Nodes, Inside
        The open nodes, and room for the rest.
    best : Best
        The list, which is filled.
    at : int
        The level to go on with, 0 at first.
    share, error : float
        What rounding may take off gains of nodes: see
        :class:`cardqp.certificate.full_gain.FullGain`.
    n_steps : int
        The most steps.

    Returns
    -------
    code, at, n_steps : int
        Why it ended, the level to go on with, and how many steps it took.
    """
    for step in range(n_steps):
        if at < 0:
            return DONE, at, step
        p, n_in = nodes.following[at], nodes.n_in[at]
        if p > 1:
            # Nodes that were searched since then have used this place.
            put(inside, n_in - 1, nodes.name[at, p - 1])
        remaining, n_free = len(inside.name) - n_in, nodes.size[at] - p
        if remaining > 2 and n_free > remaining:
            at = descend(nodes, inside, at, best.gain[-1] * (1.0 - share) - error)
        else:
            if not list_completed(nodes, inside, at, best):
                return UNKNOWN, at, step
            at -= 1
        if at < -1:
            return UNKNOWN, at, step
    return PAUSED, at, n_steps
