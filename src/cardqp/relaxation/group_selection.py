"""Compiled: the cheapest variables to switch on where groups have their own limits.

Sets of variables that meet the limits of disjoint groups and of all are a matroid, so
that the greedy choice is optimal.
"""

import numpy as np

from cardqp._compiled import inner
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.relaxation.array_loops import filled, largest_sum
from cardqp.relaxation.cluster_selection import displaced, take_best
from cardqp.relaxation.scaled_data import ClusterData, GroupData


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
    groups: GroupData | None,
    clusters: ClusterData,
    status: IntArray,
    gains: FloatArray,
    remaining: int,
) -> float:
    """The largest total gain of undecided variables.

    Without groups, ``gains`` are reordered; those of the best of clusters are lost.
    """
    if groups is None:
        required = take_best(clusters, gains)
        return required + largest_sum(gains, max(remaining - clusters.size, 0))
    chosen, _ = choose(groups, gains, group_room(groups, status), remaining)
    total = 0.0
    for j in range(len(gains)):
        if chosen[j]:
            total += gains[j]
    return total


@inner
def exchanges(
    groups: GroupData | None,
    clusters: ClusterData,
    status: IntArray,
    gains: FloatArray,
    remaining: int,
) -> tuple[float, FloatArray, FloatArray]:
    """The largest total gain, and the gains that each variable competes with.

    ``last`` is the gain that is lost when a variable is switched on: the least one in
    its group, if that is full, or else of all, if the limit is reached.  ``following``
    is the gain that takes its place when it is switched off: the best one that is not
    chosen in its group or, if the limit is reached, in a group that is not full.  An
    infinite ``last`` means that the variable cannot be switched on.

    Clusters are for problems without groups.
    """
    if groups is None:
        return displaced(clusters, status, gains, remaining)
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
