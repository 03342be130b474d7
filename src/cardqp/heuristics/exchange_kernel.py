"""Compiled: a support that variables enter and leave, with the gain of every exchange.

With ``G = Q + diag(ridge)``, ``b = -c/2`` and ``H`` the inverse of the block of ``G``
on a support ``S``, the state is

* ``x = H b[S]``, the best point, and ``H`` itself,
* ``B = H G[S]``, a row of ``n`` numbers for each variable of the support,
* ``slope = b - G[:, S] x``, half of what the objective falls by per unit of a variable,
* ``schur``, the diagonal of ``G - G[:, S] B``.

A variable that enters or leaves changes all of it by a matrix of rank one, in
``O(n |S|)``; so much takes the best of all exchanges, too (docs/theory.md#exchanges).
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import compiled_brief
from cardqp._typing import BoolArray, FloatArray, IntArray

VISIBLE = 1e-6
"""A variable does not enter if less than this share of it is left by those inside: it
depends on them, and what it gains would be rounding."""


class State(NamedTuple):
    """A support; the first ``count`` rows are in use.

    Attributes
    ----------
    inside : (most,) int array
        Its variables.
    x : (most,) array
        The best point.
    H : (most, most) array
        The inverse.
    B : (most, n) array
        The inverse times the rows of the matrix.
    slope, schur : (n,) arrays
        What is left for others to gain.
    least : (n,) array
        The least Schur complement of variables that may enter.
    is_free : (n,) bool array
        Variables that may enter.
    """

    inside: IntArray
    x: FloatArray
    H: FloatArray
    B: FloatArray
    slope: FloatArray
    schur: FloatArray
    least: FloatArray
    is_free: BoolArray


@compiled_brief
def enter(state: State, count: int, j: int, row: FloatArray) -> None:
    """Let a variable in, whose row of the matrix is given, its ridge included."""
    inside, x, H, B, slope, schur, _, is_free = state
    room, step = schur[j], slope[j] / schur[j]
    left = B[count]
    left[:] = row
    for i in range(count):
        left -= row[inside[i]] * B[i]
    for i in range(count):
        share = B[i, j] / room
        x[i] -= B[i, j] * step
        for k in range(count):
            H[i, k] += share * B[k, j]
        H[i, count] = H[count, i] = -share
    H[count, count], x[count] = 1.0 / room, step
    for i in range(count):
        B[i] -= (B[i, j] / room) * left
    for k in range(len(slope)):
        slope[k] -= step * left[k]
        schur[k] -= left[k] * left[k] / room
        left[k] /= room
    inside[count], is_free[j] = j, False


@compiled_brief
def leave(state: State, count: int, i: int) -> None:
    """Take out the variable in a row; the last one moves there."""
    inside, x, H, B, slope, schur, _, is_free = state
    weight, own = H[i, i], B[i]
    step = x[i] / weight
    for k in range(len(slope)):
        slope[k] += step * own[k]
        schur[k] += own[k] * own[k] / weight
    for k in range(count):
        if k != i:
            share = H[k, i] / weight
            x[k] -= share * x[i]
            B[k] -= share * own
            for m in range(count):
                if m != i:
                    H[k, m] -= share * H[i, m]
    is_free[inside[i]] = True
    last = count - 1
    if i != last:
        inside[i], x[i], B[i] = inside[last], x[last], B[last]
        H[i, :last], H[:last, i] = H[last, :last], H[:last, last]
        H[i, i] = H[last, last]


@compiled_brief
def best_entry(state: State) -> int:
    """The variable that gains most by entering; -1 if none may enter."""
    best, most = -1, -1.0
    for j in range(len(state.slope)):
        if state.is_free[j] and state.schur[j] > state.least[j]:
            gain = state.slope[j] * state.slope[j] / state.schur[j]
            if gain > most:
                best, most = j, gain
    return best


@compiled_brief
def cheapest_exit(state: State, first: int, count: int) -> int:
    """The row whose variable costs least to take out; -1 if all of them stay.

    Variables in rows before the first one stay.
    """
    best, least = -1, np.inf
    for i in range(first, count):
        cost = state.x[i] * state.x[i] / state.H[i, i]
        if cost < least:
            best, least = i, cost
    return best


@compiled_brief
def best_exchange(state: State, first: int, count: int) -> tuple[int, int, float]:
    """The row and the variable whose exchange gains most, and its gain.

    Variables in rows before the first one stay; both are -1 if no exchange gains.
    """
    row, enters, most = -1, -1, 0.0
    for i in range(first, count):
        weight, own = 1.0 / state.H[i, i], state.B[i]
        step = state.x[i] * weight
        cost = state.x[i] * step
        for j in range(len(state.slope)):
            slope = state.slope[j] + step * own[j]
            room = state.schur[j] + own[j] * own[j] * weight
            # Compared without a division, as hardly any of them is the best so far.
            is_better = slope * slope > (most + cost) * room
            if is_better and state.is_free[j] and room > state.least[j]:
                row, enters, most = i, j, slope * slope / room - cost
    return row, enters, most
