"""Compiled: the cheapest variables to switch on where clusters require one.

The best variable of each required cluster is taken, then the best of all others
(docs/theory.md#clusters).  Only undecided variables are in clusters, two or more in
each: see ``branch_and_bound/clusters.py``.
"""

import numpy as np

from cardqp._compiled import inner
from cardqp._typing import FloatArray, IntArray
from cardqp.relaxation.array_loops import filled, largest_sum
from cardqp.relaxation.scaled_data import ClusterData


@inner
def pick_clusters(clusters: ClusterData, kept: IntArray) -> ClusterData:
    """The clusters, restricted to some variables; some may be left without any."""
    if clusters.size == 0:
        return clusters
    label = np.empty(len(kept), dtype=np.int16)
    for a in range(len(kept)):
        label[a] = clusters.label[kept[a]]
    return ClusterData(label, clusters.size)


@inner
def members_of(clusters: ClusterData) -> tuple[IntArray, IntArray]:
    """The variables of clusters, one after the other, and where each cluster ends."""
    ends = np.zeros(clusters.size, dtype=np.intp)
    if clusters.size == 0:
        return np.empty(0, dtype=np.intp), ends
    for k in clusters.label:
        if k >= 0:
            ends[k] += 1
    for k in range(1, len(ends)):
        ends[k] += ends[k - 1]
    order, left = np.empty(ends[-1], dtype=np.intp), ends.copy()
    for j in range(len(clusters.label)):
        k = clusters.label[j]
        if k >= 0:
            left[k] -= 1
            order[left[k]] = j
    return order, ends


@inner
def best_members(
    clusters: ClusterData, gains: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The variable with the largest gain in each cluster, -1 for none; second gains."""
    first, second = np.empty(clusters.size, dtype=np.intp), np.zeros(clusters.size)
    for k in range(clusters.size):
        first[k] = -1
    if clusters.size > 0:
        for j in range(len(gains)):
            k = clusters.label[j]
            if k < 0:
                continue
            if first[k] < 0:
                first[k] = j
            elif gains[j] > gains[first[k]]:
                second[k] = gains[first[k]]
                first[k] = j
            else:
                second[k] = max(second[k], gains[j])
    return first, second


@inner
def take_best(clusters: ClusterData, gains: FloatArray) -> float:
    """The sum of the best gains of the clusters, which are set to zero."""
    total = 0.0
    first, _ = best_members(clusters, gains)
    for j in first:
        if j >= 0:
            total += gains[j]
            gains[j] = 0.0
    return total


@inner
def others(
    status: IntArray, gains: FloatArray, first: IntArray
) -> tuple[FloatArray, int]:
    """The gains of undecided variables but some, in front of an array; their number."""
    ranked, count = np.empty(len(gains)), 0
    for j in range(len(gains)):
        if status[j] == 0:
            ranked[count] = gains[j]
            count += 1
    for j in first:
        # Any entry with this gain will do.
        for i in range(count):
            if ranked[i] == gains[j]:
                count -= 1
                ranked[i] = ranked[count]
                break
    return ranked, count


@inner
def displaced(
    clusters: ClusterData, status: IntArray, gains: FloatArray, remaining: int
) -> tuple[float, FloatArray, FloatArray]:
    """The largest total gain, and the gains that each variable competes with.

    As ``exchanges`` in ``group_selection.py``, where each cluster must be met: a
    variable of a cluster takes the place of the best of it, or of the last of all, and
    the best one gives way to the second, or to the next of all, whichever is less.
    """
    n, slots = len(gains), remaining - clusters.size
    first, second = best_members(clusters, gains)
    ranked, count = others(status, gains, first)
    total = 0.0
    for j in first:
        total += gains[j]
    # Selection leaves the largest gains in front, in no particular order.
    kept = min(max(slots, 0), count)
    total += largest_sum(ranked[:count], kept)
    least, best = np.inf, 0.0
    for i in range(kept):
        least = min(least, ranked[i])
    for i in range(kept, count):
        best = max(best, ranked[i])
    if slots > count or remaining <= 0:
        least = 0.0
    last, following = filled(n, least), filled(n, best)
    for j in range(n if clusters.size > 0 else 0):
        k = clusters.label[j]
        if k >= 0:
            last[j] = min(last[j], gains[first[k]])
            if first[k] == j:
                following[j] = min(best, second[k])
    return total, last, following
