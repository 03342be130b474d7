"""Required clusters of a branch: sets of variables of which at least one is on.

Branching on a cluster asks for "at least one of it" or "none of it".  What such a
requirement means for the bounds of Theorems 1 and 2, and for the variables of the
branch, is proved in docs/theory.md#clusters.
"""

import numpy as np

from cardqp._typing import FloatArray, IntArray


def labels_of(required: list[IntArray | None], n: int) -> IntArray | None:
    """Return the clusters of branches, one in each row; None if none has any."""
    if all(labels is None for labels in required):
        return None
    none = np.full(n, -1, dtype=np.int16)
    return np.array([none if labels is None else labels for labels in required])


def add_cluster(required: IntArray | None, members: IntArray, n: int) -> IntArray:
    """Return the clusters of a branch with one more."""
    labels = np.full(n, -1, dtype=np.int16) if required is None else required.copy()
    labels[members] = labels.max(initial=-1) + 1
    return labels


def propagate(
    status: IntArray, required: IntArray, limit: int
) -> tuple[IntArray, IntArray | None, bool]:
    """Apply what required clusters imply for the other decisions of a branch.

    A cluster with a variable that is in is met, and dropped.  The only free variable of
    a cluster is in.  If there are as many clusters as slots, free variables that are in
    none are out.

    Returned are the status and the clusters after that, and whether the branch is
    empty: a cluster has no free variable, or there are more than slots.  Only free
    variables are in a cluster then, and each cluster has two or more; None if no
    cluster is left.
    """
    status, labels = status.copy(), np.full_like(required, -1)
    n_left, is_empty = 0, False
    for cluster in np.unique(required[required >= 0]):
        members = np.flatnonzero(required == cluster)
        free = members[status[members] == 0]
        if (status[members] > 0).any():
            continue
        if len(free) == 0:
            is_empty = True
        elif len(free) == 1:
            status[free] = 1
        else:
            labels[free] = n_left
            n_left += 1
    slots = limit - int(np.count_nonzero(status > 0))
    if 0 < n_left == slots:
        status[(status == 0) & (labels < 0)] = -1
    return status, labels if n_left > 0 else None, is_empty or n_left > slots


def competing_gains(
    gains: FloatArray, labels: IntArray, slots: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the largest total gains of branches, and what variables compete with.

    The best of each cluster is taken, and the largest gains of the others fill the
    slots that are left.  Gains are zero but at the free variables of a branch; labels
    are as :func:`propagate` leaves them.  Also returned are the gains that a variable
    displaces when it is in, and that replace it when it is out.
    """
    n = gains.shape[1]
    pool, best, found = gains.copy(), np.zeros(len(gains)), []
    count = np.clip(slots, 0, n)
    for row in np.flatnonzero((labels >= 0).any(axis=1)):
        for cluster in range(labels[row].max() + 1):
            members = np.flatnonzero(labels[row] == cluster)
            second, first = members[np.argsort(gains[row, members])[-2:]]
            found.append((row, members, first, gains[row, second]))
            best[row] += gains[row, first]
            pool[row, first] = 0.0
            count[row] -= 1
    in_pool, last, following = ranked_gains(pool, np.maximum(count, 0))
    last, following = np.repeat(last, n, axis=1), np.repeat(following, n, axis=1)
    last[count <= 0] = np.inf
    for row, members, first, second in found:
        last[row, members] = np.minimum(last[row, members], gains[row, first])
        following[row, first] = min(following[row, first], second)
    return best + in_pool, last, following


def ranked_gains(
    gains: FloatArray, count: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sums of the largest gains of branches, the last and the next of them.

    In each row ``count`` gains are added up.  The last is the least of these, the next
    the largest one of the others; zero past the ends.
    """
    rows, n = gains.shape
    ranked = np.sort(gains, axis=1)[:, ::-1]
    padded, row = np.zeros((rows, n + 2)), np.arange(rows)
    padded[:, 1:-1] = ranked
    gained = np.where(np.arange(n) < count[:, None], ranked, 0.0).sum(axis=1)
    return gained, padded[row, count][:, None], padded[row, count + 1][:, None]
