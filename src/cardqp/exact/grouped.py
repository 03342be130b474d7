"""Compiled: the best variables to switch on where groups have limits of their own."""

import numpy as np

from cardqp._compiled import inner
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.exact.data import Data


@inner
def group_room(data: Data, status: IntArray) -> IntArray:
    """How many more variables may be switched on in each group."""
    room = data.group_limits.copy()
    for j in range(len(status)):
        if status[j] > 0 and data.group[j] >= 0:
            room[data.group[j]] -= 1
    return room


@inner
def choose(
    data: Data, gains: FloatArray, room: IntArray, slots: int
) -> tuple[BoolArray, int]:
    """The variables with the largest total gain, greedily, and how many they are.

    The room of their groups is used up.
    """
    chosen, count = np.zeros(len(gains), dtype=np.bool_), 0
    while count < slots:
        best, most = -1, 0.0
        for j in range(len(gains)):
            has_room = data.group[j] < 0 or room[data.group[j]] > 0
            if gains[j] > most and has_room and not chosen[j]:
                best, most = j, gains[j]
        if best < 0:
            break
        chosen[best] = True
        count += 1
        if data.group[best] >= 0:
            room[data.group[best]] -= 1
    return chosen, count


@inner
def grouped_sum(data: Data, status: IntArray, gains: FloatArray, slots: int) -> float:
    """The largest total gain of free variables."""
    chosen, _ = choose(data, gains, group_room(data, status), slots)
    total = 0.0
    for j in range(len(gains)):
        if chosen[j]:
            total += gains[j]
    return total


@inner
def exchanges(
    data: Data, status: IntArray, gains: FloatArray, slots: int
) -> tuple[float, FloatArray, FloatArray]:
    """The largest total gain, and the gains that each variable competes with.

    ``last`` is what a variable takes the place of when it is switched on: the least of
    its group, if that is full, or else of all, if no slot is left.  ``following`` is
    what takes its place when it is switched off: the best that waits in its group or,
    if no slot is left, in a group that is not full.  An infinite ``last`` means that
    the variable cannot be switched on.
    """
    n, room = len(gains), group_room(data, status)
    chosen, count = choose(data, gains, room, slots)
    # The last entries are for variables that are in no group.
    least, best = np.full(len(room) + 1, np.inf), np.zeros(len(room) + 1)
    total, least_of_all, best_of_all = 0.0, np.inf, 0.0
    for j in range(n):
        g = data.group[j]
        if chosen[j]:
            total += gains[j]
            least_of_all = min(least_of_all, gains[j])
            least[g] = min(least[g], gains[j])
        elif status[j] == 0:
            best[g] = max(best[g], gains[j])
            if g < 0 or room[g] > 0:
                best_of_all = max(best_of_all, gains[j])
    last, following = np.zeros(n), np.zeros(n)
    for j in range(n):
        g = data.group[j]
        if count >= slots:
            last[j], following[j] = least_of_all, best_of_all
        if g >= 0 and room[g] <= 0:
            last[j], following[j] = least[g], max(following[j], best[g])
        if chosen[j]:
            last[j] = gains[j]
    return total, last, following
