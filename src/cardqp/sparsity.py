"""The support rule: which variables a dual point would switch on."""

import math
from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import UNIT_ROUNDOFF, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class SupportRule:
    """At most ``limit`` nonzeros, each at the price ``penalty``; some are forced.

    The cardinality form has ``penalty = 0``, the penalised form ``limit = n``; both
    may bind at once.  Everything below works on *costs*: ``cost_j`` is what variable
    ``j`` adds to the dual value when it is switched on, penalty included.
    """

    limit: int
    penalty: float = 0.0
    inside: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    outside: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def select(self, costs: FloatArray) -> IntArray:
        """Indices, in increasing order, of the cheapest support.

        Only negative costs are worth taking.  Among equal costs the smaller index
        wins, so that the map from dual points to supports is single-valued.

        Examples
        --------
        >>> SupportRule(limit=2).select(np.array([-1.0, -3.0, 4.0, -1.0]))
        array([0, 1])
        """
        if len(self.inside) or len(self.outside):
            costs = costs.copy()
            costs[self.inside], costs[self.outside] = -np.inf, np.inf
        if np.count_nonzero(costs < 0) <= self.limit:
            return np.flatnonzero(costs < 0)
        if self.limit == 0:
            return np.zeros(0, dtype=np.intp)
        last = np.partition(costs, self.limit - 1)[self.limit - 1]
        chosen = costs < last
        ties = np.flatnonzero(costs == last)
        chosen[ties[: self.limit - np.count_nonzero(chosen)]] = True
        return np.flatnonzero(chosen)


@dataclass(frozen=True, slots=True)
class Choice:
    """A branch of the search: variables switched on, switched off, and free.

    Parameters
    ----------
    inside, outside : (n,) bool arrays
        Disjoint.  Every other variable is free.
    limit : int
        The largest number of variables that may be switched on in all.
    """

    inside: BoolArray
    outside: BoolArray
    limit: int

    @classmethod
    def root(cls, n: int, limit: int) -> "Choice":
        """Nothing decided yet."""
        return cls(np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), limit)

    @classmethod
    def of_status(cls, status: IntArray, limit: int) -> "Choice":
        """The branch with 1 for switched on, -1 for switched off, 0 for free."""
        return cls(status > 0, status < 0, limit)

    @property
    def status(self) -> IntArray:
        """1 for variables switched on, -1 for those switched off, 0 for the free."""
        return self.inside.astype(np.int8) - self.outside.astype(np.int8)

    @property
    def free(self) -> BoolArray:
        """Variables that are neither in nor out."""
        return ~(self.inside | self.outside)

    @property
    def slots(self) -> int:
        """How many free variables may still be switched on."""
        return self.limit - int(np.count_nonzero(self.inside))

    def decide(self, inside: IntArray, outside: IntArray) -> "Choice":
        """This branch with more variables decided."""
        now_inside, now_outside = self.inside.copy(), self.outside.copy()
        now_inside[inside] = True
        now_outside[outside] = True
        return Choice(now_inside, now_outside, self.limit)

    def narrow(self, kept: IntArray) -> "Choice":
        """This branch with only some variables, the others being switched off."""
        return Choice(self.inside[kept], self.outside[kept], self.limit)

    def total(self, costs: FloatArray) -> float:
        """The least sum of costs over supports in this branch, rounded down.

        Infinite when more variables are switched on than the limit allows.
        """
        if self.slots < 0:
            return np.inf
        gains = smallest(np.minimum(costs[self.free], 0.0), self.slots)
        terms = np.concatenate([costs[self.inside], gains])
        if not np.isfinite(terms).all():
            return -np.inf
        return math.fsum(terms) - 4 * UNIT_ROUNDOFF * float(np.abs(terms).sum())

    def penalties(self, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What switching a free variable on, or off, adds to ``total`` at least.

        This is Theorem 2.  Entries of decided variables are zero.

        Returns
        -------
        on, off : (n,) arrays
            Nonnegative; ``on`` is infinite when no slot is left.
        """
        free = np.flatnonzero(self.free)
        on, off = np.zeros(len(costs)), np.zeros(len(costs))
        values = costs[free]
        gains = np.maximum(-values, 0.0)
        ranked = -smallest(-gains, self.slots + 1)
        last = ranked[self.slots - 1] if 0 < self.slots <= len(ranked) else 0.0
        following = ranked[self.slots] if self.slots < len(ranked) else 0.0
        # Switched on, a variable outside the best K takes the place of the K-th; one
        # inside keeps its own.  Switched off, one inside is replaced by the next.
        on[free] = np.maximum(values + last, 0.0) if self.slots > 0 else np.inf
        off[free] = np.maximum(gains - following, 0.0)
        return on, off


def smallest(values: FloatArray, count: int) -> FloatArray:
    """The ``count`` smallest entries in increasing order (all, if there are fewer)."""
    if count <= 0:
        return values[:0]
    if count < len(values):
        values = np.partition(values, count - 1)[:count]
    return np.sort(values)
