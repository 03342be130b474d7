"""Branching on clusters of correlated variables: at least one of them, or none.

Where neighbouring columns are correlated, the relaxation spreads one switch over a
neighbourhood.  Branching on a single variable then moves it next door; asking for "one
of these" settles it (docs/theory.md#clusters).
"""

from typing import NamedTuple

import numpy as np

from cardqp._compiled import MINUS_ONE, compiled, inner
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.heuristics.completed_supports import Supports
from cardqp.relaxation.scaled_data import NO_CLUSTERS, ClusterData


class Required(NamedTuple):
    """The decisions of a node, after what its required clusters imply for them.

    Attributes
    ----------
    status : (n,) int8 array
        1 for variables switched on, -1 for those switched off, 0 for undecided ones.
    label : (n,) int16 array
        The number of the required cluster of each variable, -1 for none; only
        undecided variables are in one.
    size : int
        The number of clusters.
    is_empty : bool
        Whether a cluster has no variable left, or there are more clusters than slots.
    """

    status: IntArray
    label: IntArray
    size: int
    is_empty: bool


@inner
def count_free(
    status: IntArray, label: IntArray, size: int
) -> tuple[IntArray, IntArray]:
    """How many undecided variables each cluster has, -1 if it is met; the last one."""
    free, last = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
    for j in range(len(status)):
        k = label[j]
        if k >= 0 and status[j] == 0:
            free[k] += 1
            last[k] = j
    for j in range(len(status)):
        if label[j] >= 0 and status[j] > 0:
            free[label[j]] = -1
    return free, last


@compiled
def propagate(status: IntArray, label: IntArray, size: int, limit: int) -> Required:
    """Apply what required clusters imply for the other decisions of a node.

    A cluster with a variable that is on is met; an only variable is switched on; if
    there are as many clusters as slots, undecided variables in none are switched off.
    """
    n, n_left, is_empty = len(status), 0, False
    status, left = status.copy(), np.empty(n, dtype=np.int16)
    free, last = count_free(status, label, size)
    number = np.empty(size, dtype=np.int16)
    for k in range(size):
        number[k] = n_left if free[k] > 1 else -1
        n_left += free[k] > 1
        is_empty = is_empty or free[k] == 0
        if free[k] == 1:
            status[last[k]] = 1
    slots = limit
    for j in range(n):
        slots -= status[j] > 0
        left[j] = number[label[j]] if label[j] >= 0 and status[j] == 0 else -1
    if 0 < n_left == slots:
        for j in range(n):
            status[j] = -1 if status[j] == 0 and left[j] < 0 else status[j]
    return Required(status, left, n_left, is_empty or n_left > slots)


@inner
def cluster_around(centre: int, is_near: BoolArray, is_open: BoolArray) -> IntArray:
    """The open variables near a variable."""
    members, size = np.empty(len(is_open), dtype=np.int32), 0
    for j in range(len(is_open)):
        if is_open[j] and is_near[centre, j]:
            members[size] = j
            size += 1
    return members[:size].copy()


@compiled
def choose_cluster(
    is_near: BoolArray,
    is_open: BoolArray,
    z: FloatArray,
    share: FloatArray,
    n_candidates: int,
    least: float,
) -> IntArray:
    """The variables to branch on together; at most one if single ones are better.

    Around each of the open variables with the largest shares lies a cluster.  The one
    whose switches sum to about a half is taken, if the sum is not nearer to 0 or 1 than
    ``least``.
    """
    best, most, is_left = np.empty(0, dtype=np.int32), least, is_open.copy()
    for _ in range(n_candidates):
        centre = MINUS_ONE
        for j in range(len(z)):
            if is_left[j] and (centre < 0 or share[j] > share[centre]):
                centre = j
        if centre < 0:
            break
        is_left[centre] = False
        members, total = cluster_around(centre, is_near, is_open), 0.0
        for j in members:
            total += z[j]
        if len(members) > 1 and min(total, 1.0 - total) > most:
            best, most = members, min(total, 1.0 - total)
    return best


def near(
    supports: Supports,
    ridge: FloatArray,
    correlation: float,
    some: IntArray | slice = slice(None),
) -> BoolArray:
    """Which columns have at least a correlation with some of them, up to its sign.

    A column that is zero is near none but itself.
    """
    curvature = np.maximum(np.diagonal(supports.G) - ridge, 0.0)
    scale = np.where(curvature > 0, np.sqrt(curvature), np.inf)
    is_near = np.abs(supports.G[some]) >= correlation * scale[some, None] * scale
    rows = np.arange(len(scale))[some]
    is_near[np.arange(len(rows)), rows] = True
    return is_near


def require(clusters: ClusterData, members: IntArray, n: int) -> ClusterData:
    """The required clusters with one more."""
    label = np.full(n, -1, dtype=np.int16)
    if clusters.size > 0:
        label[:] = clusters.label
    label[members] = clusters.size
    return ClusterData(label, clusters.size + 1)


def children(
    status: IntArray, clusters: ClusterData, members: IntArray, limit: int
) -> list[Required]:
    """The two sides of branching on a cluster: it is required, or all of it is off."""
    off = status.copy()
    off[members] = -1
    with_one = require(clusters, members, len(status))
    return [propagate(status, *with_one, limit), follow(off, clusters, limit)]


def follow(status: IntArray, clusters: ClusterData, limit: int) -> Required:
    """The decisions of a child after what the clusters of its parent imply."""
    if clusters.size == 0:
        return Required(status, *NO_CLUSTERS, False)
    return propagate(status, *clusters, limit)
