"""Compiled: the cheapest variables to switch on where groups have their own limits.

Sets of variables that meet the limits of disjoint groups and of all are a matroid, so
that the greedy choice is optimal.
"""

import numpy as np

from cardqp._compiled import inner
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.relaxation.array_loops import filled, largest_sum
from cardqp.relaxation.scaled_data import GroupData


@inner
def group_room(groups: GroupData | None, status: IntArray) -> IntArray:
    """Number of further variables that may be nonzero in each group."""
    if groups is None:
        return np.zeros(0, dtype=np.intp)
    room = groups.limits.copy()
    for j in range(len(status)):
        if status[j] > 0 and groups.label[j] >= 0:
            room[groups.label[j]] -= 1
    return room


@inner
def label_of(groups: GroupData | None, j: int) -> int:
    """The group of a variable, -1 for none."""
    if groups is None:
        return -1
    return int(groups.label[j])


@inner
def choose(
    groups: GroupData, gains: FloatArray, room: IntArray, remaining: int
) -> tuple[BoolArray, int]:
    """The variables with the largest total gain, and how many they are.

    ``room`` is updated: what is left of it in each group.
    """
    chosen, count = np.zeros(len(gains), dtype=np.bool_), 0
    while count < remaining:
        best, most = -1, 0.0
        for j in range(len(gains)):
            has_room = groups.label[j] < 0 or room[groups.label[j]] > 0
            if gains[j] > most and has_room and not chosen[j]:
                best, most = j, gains[j]
        if best < 0:
            break
        chosen[best] = True
        count += 1
        if groups.label[best] >= 0:
            room[groups.label[best]] -= 1
    return chosen, count


@inner
def total_gain(
    groups: GroupData | None, status: IntArray, gains: FloatArray, remaining: int
) -> float:
    """The largest total gain of undecided variables.

    Without groups, ``gains`` are reordered.
    """
    if groups is None:
        return largest_sum(gains, remaining)
    chosen, _ = choose(groups, gains, group_room(groups, status), remaining)
    total = 0.0
    for j in range(len(gains)):
        if chosen[j]:
            total += gains[j]
    return total


@inner
def plain_exchanges(
    status: IntArray, gains: FloatArray, remaining: int
) -> tuple[float, FloatArray, FloatArray]:
    """The result of ``exchanges`` without groups: all compete with the same gains."""
    n, count, ranked = len(gains), 0, np.empty(len(gains))
    for j in range(n):
        if status[j] == 0:
            ranked[count] = gains[j]
            count += 1
    # Selection leaves the largest gains in front, in no particular order.
    kept = min(max(remaining, 0), count)
    total = largest_sum(ranked[:count], kept)
    least, best = np.inf, 0.0
    for i in range(kept):
        least = min(least, ranked[i])
    for i in range(kept, count):
        best = max(best, ranked[i])
    if not 0 < remaining <= count:
        least = 0.0
    return total, filled(n, least), filled(n, best)


@inner
def exchanges(
    groups: GroupData | None, status: IntArray, gains: FloatArray, remaining: int
) -> tuple[float, FloatArray, FloatArray]:
    """The largest total gain, and the gains that each variable competes with.

    ``last`` is the gain that is lost when a variable is switched on: the least one in
    its group, if that is full, or else of all, if the limit is reached.  ``following``
    is the gain that takes its place when it is switched off: the best one that is not
    chosen in its group or, if the limit is reached, in a group that is not full.  An
    infinite ``last`` means that the variable cannot be switched on.
    """
    if groups is None:
        return plain_exchanges(status, gains, remaining)
    n, room = len(gains), group_room(groups, status)
    chosen, count = choose(groups, gains, room, remaining)
    # The last entries are for variables that are in no group.
    least, best = filled(len(room) + 1, np.inf), np.zeros(len(room) + 1)
    total, least_of_all, best_of_all = 0.0, np.inf, 0.0
    for j in range(n):
        g = groups.label[j]
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
        g = groups.label[j]
        if count >= remaining:
            last[j], following[j] = least_of_all, best_of_all
        if g >= 0 and room[g] <= 0:
            last[j], following[j] = least[g], max(following[j], best[g])
        if chosen[j]:
            last[j] = gains[j]
    return total, last, following
