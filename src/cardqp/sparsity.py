"""The support rule: which variables a dual point would switch on."""

import math
from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import UNIT_ROUNDOFF, BoolArray, FloatArray, IntArray


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
        """How many variables can be switched on in all."""
        sizes = np.bincount(self.labels + 1, minlength=len(self.limits) + 1)
        return int(sizes[0] + np.minimum(sizes[1:], self.limits).sum())

    def restrict(self, kept: IntArray) -> "Groups":
        """The groups with only some variables."""
        return Groups(self.labels[kept], self.limits)

    def room(self, inside: BoolArray) -> IntArray:
        """How many more variables fit into each group."""
        used = np.bincount(self.labels[inside] + 1, minlength=len(self.limits) + 1)
        return np.asarray(self.limits - used[1:])

    def greedy(self, gains: FloatArray, room: IntArray, slots: int) -> IntArray:
        """The variables with the largest total gain, all gains being positive.

        Among equal gains the smaller index wins.
        """
        room, chosen = room.copy(), list[int]()
        for j in np.argsort(-gains, kind="stable"):
            group = self.labels[j]
            if len(chosen) == slots or not gains[j] > 0:
                break
            if group < 0 or room[group] > 0:
                chosen.append(int(j))
                room[group] -= group >= 0
        return np.array(sorted(chosen), dtype=np.intp)


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
    groups: Groups | None = None

    def excess(self, support: IntArray) -> int:
        """By how many variables a support is too large, in all or in its groups."""
        over = max(len(support) - self.limit, 0)
        if self.groups is None:
            return over
        inside = np.zeros(len(self.groups.labels), dtype=bool)
        inside[support] = True
        return max(over, int(np.maximum(-self.groups.room(inside), 0).sum()))

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
        if self.groups is not None:
            return self.groups.greedy(-costs, self.groups.limits, self.limit)
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
    groups : Groups or None
        Limits of groups.
    """

    inside: BoolArray
    outside: BoolArray
    limit: int
    groups: Groups | None = None

    @classmethod
    def root(cls, n: int, limit: int) -> "Choice":
        """Nothing decided yet."""
        return cls(np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), limit)

    @classmethod
    def of_status(cls, status: IntArray, rule: SupportRule) -> "Choice":
        """The branch with 1 for switched on, -1 for switched off, 0 for free."""
        return cls(status > 0, status < 0, rule.limit, rule.groups)

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
        return Choice(now_inside, now_outside, self.limit, self.groups)

    def narrow(self, kept: IntArray) -> "Choice":
        """This branch with only some variables, the others being switched off."""
        groups = None if self.groups is None else self.groups.restrict(kept)
        return Choice(self.inside[kept], self.outside[kept], self.limit, groups)

    @property
    def is_empty(self) -> bool:
        """Whether more variables are switched on than is allowed."""
        if self.slots < 0:
            return True
        groups = self.groups
        return groups is not None and bool((groups.room(self.inside) < 0).any())

    def total(self, costs: FloatArray) -> float:
        """The least sum of costs over supports in this branch, rounded down.

        Infinite when more variables are switched on than the limit allows.
        """
        if self.is_empty:
            return np.inf
        if self.groups is None:
            gains = smallest(np.minimum(costs[self.free], 0.0), self.slots)
        else:
            gains = costs[self._best_of_groups(costs, self.groups)]
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
        if self.groups is not None:
            return self._grouped_penalties(costs, self.groups)
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

    def _best_of_groups(self, costs: FloatArray, groups: Groups) -> IntArray:
        """The free variables of the cheapest support."""
        gains = np.where(self.free, -costs, 0.0)
        return groups.greedy(gains, groups.room(self.inside), self.slots)

    def _grouped_penalties(
        self, costs: FloatArray, groups: Groups
    ) -> tuple[FloatArray, FloatArray]:
        """Theorem 2 with groups, by the best exchange for each variable.

        Switched on, a variable takes the place of the last one in its group, if that is
        full, or else of the last one of all.  Switched off, it is replaced by the next
        one in its group or, if all slots are taken, in a group that is not full.
        """
        n, free = len(costs), self.free
        gains = np.where(free, np.maximum(-costs, 0.0), 0.0)
        is_chosen = np.zeros(n, dtype=bool)
        is_chosen[self._best_of_groups(costs, groups)] = True
        room = groups.room(self.inside | is_chosen)
        is_full = (groups.labels >= 0) & (room[groups.labels] <= 0)
        no_slot = int(is_chosen.sum()) >= self.slots
        waiting = free & ~is_chosen
        last = gains[is_chosen].min(initial=np.inf) if no_slot else 0.0
        following = gains[waiting & ~is_full].max(initial=0.0) if no_slot else 0.0
        on, off = np.zeros(n), np.zeros(n)
        for j in np.flatnonzero(free):
            own = groups.labels == groups.labels[j]
            first, then = last, following
            if is_full[j]:
                first = gains[own & is_chosen].min(initial=np.inf)
                then = max(then, gains[own & waiting].max(initial=0.0))
            # Nothing to take the place of: no support of the branch has the variable.
            on[j] = np.inf if np.isinf(first) else max(costs[j] + first, 0.0)
            off[j] = max(gains[j] - then, 0.0)
        on[is_chosen] = 0.0
        return on, off


def smallest(values: FloatArray, count: int) -> FloatArray:
    """The ``count`` smallest entries in increasing order (all, if there are fewer)."""
    if count <= 0:
        return values[:0]
    if count < len(values):
        values = np.partition(values, count - 1)[:count]
    return np.sort(values)
