"""Good supports to begin with: those of one size less, grown, and their exchanges.

Gains are those of rank-one changes of one inverse, which may lose digits: they say
which supports are good, not what is known of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray

Support = tuple[int, ...]
Pool = dict[Support, float]
"""About what supports gain."""

MOST_EXCHANGES = 20
"""The most exchanges of one support."""

EXCHANGED = 2
"""How many of the best supports that are known of a size are improved by exchanges."""

VISIBLE = 1e-6
"""A column is not added if less than this share of it is left by those that are in."""

HELPS = 1e-9
"""An exchange must gain this share, lest rounding exchange for ever."""


def good_supports(
    G: FloatArray, c: FloatArray, smaller: Iterable[IntArray], inside: IntArray, n: int
) -> Pool:
    """Supports with one variable more than some, and what exchanges make of the best.

    Parameters
    ----------
    G, c : arrays
        The matrix, and the linear cost.
    smaller : iterable of int arrays
        Supports of equal size.
    inside : int array
        Variables that are in every support.
    n : int
        How many supports are wanted of each that is grown or exchanged.
    """
    pool: Pool = {}
    for support in smaller:
        if (fit := _Fit.of(G, c, support)) is not None:
            pool |= fit.grown(n)
    for best in sorted(pool, key=pool.__getitem__, reverse=True)[:EXCHANGED]:
        _exchange(G, c, best, inside, n, pool)
    return pool


def _exchange(
    G: FloatArray, c: FloatArray, support: Support, inside: IntArray, n: int, pool: Pool
) -> None:
    """Exchange single variables as long as that helps; the best that are seen stay."""
    for _ in range(MOST_EXCHANGES):
        fit = _Fit.of(G, c, np.array(support, np.intp))
        seen = {} if fit is None else fit.exchanged(inside, n)
        pool |= seen
        best = max(seen, key=seen.__getitem__, default=support)
        if best == support or seen[best] <= pool[support] * (1.0 + HELPS):
            return
        support = best


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A support, and what all variables would change about it.

    Attributes
    ----------
    index : int array
        The support.
    gain : float
        What it gains.
    coef, inverse : arrays
        ``K c`` and the inverse ``K`` of its block.
    reach : (size, n) array
        ``K G``: the share of its variables in all.
    slope, room : (n,) arrays
        What is left of the linear costs, and of the curvatures; no room is left where
        it is invisible.
    """

    index: IntArray
    gain: float
    coef: FloatArray
    inverse: FloatArray
    reach: FloatArray
    slope: FloatArray
    room: FloatArray
    least_room: FloatArray

    @classmethod
    def of(cls, G: FloatArray, c: FloatArray, index: IntArray) -> "_Fit | None":
        """Fit a support; None if its columns are dependent."""
        rows = G[index]
        try:
            inverse = np.asarray(np.linalg.inv(rows[:, index]), float)
        except np.linalg.LinAlgError:
            return None
        coef, reach, curvature = inverse @ c[index], inverse @ rows, G.diagonal()
        return cls(
            index=index,
            gain=float(c[index] @ coef),
            coef=coef,
            inverse=inverse,
            reach=reach,
            slope=c - coef @ rows,
            room=curvature - np.einsum("ij,ij->j", rows, reach),
            least_room=VISIBLE * curvature,
        )

    def grown(self, n: int) -> Pool:
        """The best supports with one variable more."""
        gain = self.gain + self._added(self.slope, self.room)
        kept, best = self.index.tolist(), _largest(gain, n).tolist()
        return {tuple(sorted((*kept, j))): float(gain[j]) for j in best}

    def exchanged(self, inside: IntArray, n: int) -> Pool:
        """The best supports with another variable in place of one."""
        pivot = self.inverse.diagonal()[:, None]
        slope = self.slope + self.reach * (self.coef[:, None] / pivot)
        room = self.room + self.reach**2 / pivot
        gain = self._added(slope, room)
        gain += (self.gain - self.coef**2 / pivot[:, 0])[:, None]
        gain[np.isin(self.index, inside)] = -np.inf
        kept, found = self.index.tolist(), Pool()
        for at in _largest(gain.ravel(), n).tolist():
            out, j = divmod(at, gain.shape[1])
            support = tuple(sorted((*kept[:out], *kept[out + 1 :], j)))
            found[support] = float(gain.flat[at])
        return found

    def _added(self, slope: FloatArray, room: FloatArray) -> FloatArray:
        """What variables add to a gain; nothing is worse than those of the support."""
        is_visible = room > self.least_room
        is_visible[..., self.index] = False
        added = np.full(room.shape, -np.inf)
        np.divide(slope**2, room, out=added, where=is_visible)
        return added


def _largest(values: FloatArray, n: int) -> IntArray:
    """Where the n largest numbers are that are not infinite."""
    if n < len(values):
        found: IntArray = np.argpartition(values, -n)[-n:]
    else:
        found = np.arange(len(values))
    return found[values[found] > -np.inf]
