"""Groups of variables with a limit each."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Disjoint groups of variables with a limit each.

    Together with a limit on all variables these are the independent sets of a matroid:
    the cheapest support is found greedily, and the cheapest one with a variable more or
    less differs from it by one exchange.

    Parameters
    ----------
    labels : (n,) int array
        The group of each variable; -1 if it is in none.
    limits : (G,) int array
        The most variables that may be switched on in each group.
    """

    labels: IntArray
    limits: IntArray

    @property
    def most(self) -> int:
        """The largest number of variables that the limits allow in a support."""
        sizes = np.bincount(self.labels + 1, minlength=len(self.limits) + 1)
        return int(sizes[0] + np.minimum(sizes[1:], self.limits).sum())

    def restrict(self, kept: IntArray) -> "Groups":
        """The groups with only some variables."""
        return Groups(self.labels[kept], self.limits)

    def room(self, fixed_in: BoolArray | IntArray) -> IntArray:
        """Number of variables that each group has room for beyond those fixed in."""
        used = np.bincount(self.labels[fixed_in] + 1, minlength=len(self.limits) + 1)
        return np.asarray(self.limits - used[1:])

    def greedy(self, gains: FloatArray, room: IntArray, remaining: int) -> IntArray:
        """The variables with the largest total gain, all gains being positive.

        Among equal gains the smaller index wins.
        """
        room, chosen = room.copy(), list[int]()
        for j in np.argsort(-gains, kind="stable"):
            group = self.labels[j]
            if len(chosen) == remaining or not gains[j] > 0:
                break
            if group < 0 or room[group] > 0:
                chosen.append(int(j))
                room[group] -= group >= 0
        return np.array(sorted(chosen), dtype=np.intp)
