"""A branch of the search: decided variables, and the cost of deciding one more.

That cost is Theorem 2: see ``docs/theory.md#theorem-2``.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.arithmetic.rounding import EXACT_SUM_UNIT
from cardqp.problem.sparsity.blocks import Blocks
from cardqp.problem.sparsity.groups import Groups
from cardqp.problem.sparsity.rule import SupportRule


@dataclass(frozen=True, slots=True)
class Subproblem:
    """A branch of the search: variables fixed in, fixed out, and undecided.

    Parameters
    ----------
    fixed_in, fixed_out : (n,) bool arrays
        Variables switched on, and off.  All others are undecided.
    limit : int
        The largest number of variables, or blocks, that may be switched on in all.
    groups : Groups or None
        Limits of groups.
    blocks : Blocks or None
        Variables that share a switch: if one is decided, so are all.
    """

    fixed_in: BoolArray
    fixed_out: BoolArray
    limit: int
    groups: Groups | None = None
    blocks: Blocks | None = None

    def __post_init__(self) -> None:
        if self.blocks is not None:
            object.__setattr__(self, "fixed_in", self.blocks.closed(self.fixed_in))
            object.__setattr__(self, "fixed_out", self.blocks.closed(self.fixed_out))

    @classmethod
    def root(cls, n: int, limit: int) -> "Subproblem":
        """The branch of ``n`` variables in which nothing is decided."""
        return cls(np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), limit)

    @classmethod
    def of_status(cls, status: IntArray, rule: SupportRule) -> "Subproblem":
        """The branch with 1 for fixed in, -1 for fixed out, 0 for undecided."""
        return cls(status > 0, status < 0, rule.limit, rule.groups, rule.blocks)

    @property
    def status(self) -> IntArray:
        """1 for variables fixed in, -1 for those fixed out, 0 for the undecided."""
        return self.fixed_in.astype(np.int8) - self.fixed_out.astype(np.int8)

    @property
    def undecided(self) -> BoolArray:
        """Mask of the variables that are fixed neither in nor out."""
        return ~(self.fixed_in | self.fixed_out)

    @property
    def remaining(self) -> int:
        """Number of undecided variables, or blocks, that may still be switched on."""
        fixed_in = (
            self.fixed_in if self.blocks is None else self.fixed_in & self.blocks.leads
        )
        return self.limit - int(np.count_nonzero(fixed_in))

    @property
    def barred(self) -> BoolArray:
        """Mask of undecided variables that no support of the branch has room for."""
        if self.remaining <= 0:
            return self.undecided
        if self.groups is None:
            return np.zeros(len(self.fixed_in), dtype=bool)
        room = np.append(self.groups.room(self.fixed_in), 1)  # label -1 is no group
        return np.asarray(self.undecided & (room[self.groups.labels] <= 0))

    def switches_of(self, mask: BoolArray) -> IntArray:
        """The number of the switch of each of some variables; blocks share theirs."""
        labels = np.flatnonzero(mask)
        if self.blocks is not None:
            labels = self.blocks.labels[mask]
        return np.unique(labels, return_inverse=True)[1]

    def together(self, variable: int) -> BoolArray:
        """The variable and all that share its switch."""
        own = np.zeros(len(self.fixed_in), dtype=bool)
        own[variable] = True
        return own if self.blocks is None else self.blocks.closed(own)

    def decide(self, fixed_in: IntArray, fixed_out: IntArray) -> "Subproblem":
        """This branch with more variables decided."""
        all_in, all_out = self.fixed_in.copy(), self.fixed_out.copy()
        all_in[fixed_in] = True
        all_out[fixed_out] = True
        return replace(self, fixed_in=all_in, fixed_out=all_out)

    def restrict(self, kept: IntArray) -> "Subproblem":
        """This branch with only some variables, the others being switched off."""
        groups = None if self.groups is None else self.groups.restrict(kept)
        blocks = None if self.blocks is None else self.blocks.restrict(kept)
        return Subproblem(
            self.fixed_in[kept], self.fixed_out[kept], self.limit, groups, blocks
        )

    @property
    def is_empty(self) -> bool:
        """Whether more is fixed in than is allowed, or a variable both in and out."""
        if self.remaining < 0 or (self.fixed_in & self.fixed_out).any():
            return True
        groups = self.groups
        return groups is not None and bool((groups.room(self.fixed_in) < 0).any())

    def total(self, costs: FloatArray) -> float:
        """The least sum of costs over supports in this branch, rounded down.

        Infinite when more variables are switched on than the limit allows.
        """
        if self.is_empty:
            return np.inf
        if self.blocks is not None:
            leaders = self._leaders(self.blocks)
            return leaders.total(self.blocks.summed(costs))
        if self.groups is None:
            gains = smallest(np.minimum(costs[self.undecided], 0.0), self.remaining)
        else:
            gains = costs[self._best_of_groups(costs, self.groups)]
        terms = np.concatenate([costs[self.fixed_in], gains])
        if not np.isfinite(terms).all():
            return -np.inf
        return math.fsum(terms) - EXACT_SUM_UNIT * float(np.abs(terms).sum())

    def penalties(self, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower bounds on the increase of ``total`` when a variable is decided.

        This is Theorem 2.  One bound is for switching a variable on, which is infinite
        if ``remaining`` is 0, and one for switching it off.  Entries of decided
        variables are zero.
        """
        if self.blocks is not None:
            return self._block_penalties(costs, self.blocks)
        if self.groups is not None:
            return self._grouped_penalties(costs, self.groups)
        undecided = np.flatnonzero(self.undecided)
        on, off = np.zeros(len(costs)), np.zeros(len(costs))
        values = costs[undecided]
        gains = np.maximum(-values, 0.0)
        ranked = -smallest(-gains, self.remaining + 1)
        last = ranked[self.remaining - 1] if 0 < self.remaining <= len(ranked) else 0.0
        following = ranked[self.remaining] if self.remaining < len(ranked) else 0.0
        # Switched on, a variable outside the best K takes the place of the K-th; one
        # inside keeps its own.  Switched off, one inside is replaced by the next.
        on[undecided] = np.maximum(values + last, 0.0) if self.remaining > 0 else np.inf
        # Where gains are infinite, so may be the following one.
        is_better = gains > following
        off[undecided[is_better]] = gains[is_better] - following
        return on, off

    def _leaders(self, blocks: Blocks) -> "Subproblem":
        """The branch of the leaders of blocks, all other variables being out."""
        leads = blocks.leads
        fixed_in, fixed_out = self.fixed_in & leads, self.fixed_out | ~leads
        return Subproblem(fixed_in, fixed_out, self.limit, self.groups)

    def _block_penalties(
        self, costs: FloatArray, blocks: Blocks
    ) -> tuple[FloatArray, FloatArray]:
        """Theorem 2 with blocks: all variables of a block get its leader's bounds."""
        on, off = self._leaders(blocks).penalties(blocks.summed(costs))
        leader = blocks.leaders[blocks.labels]
        return on[leader], off[leader]

    def _best_of_groups(self, costs: FloatArray, groups: Groups) -> IntArray:
        """The undecided variables in the cheapest support of the branch."""
        gains = np.where(self.undecided, -costs, 0.0)
        return groups.greedy(gains, groups.room(self.fixed_in), self.remaining)

    def _grouped_penalties(
        self, costs: FloatArray, groups: Groups
    ) -> tuple[FloatArray, FloatArray]:
        """Theorem 2 with groups, by the best exchange for each variable.

        Switched on, a variable takes the place of the last one in its group, if that is
        full, or else of the last one of all.  Switched off, it is replaced by the next
        one in its group or, if nothing remains, in a group that is not full.
        """
        n, undecided = len(costs), self.undecided
        gains = np.where(undecided, np.maximum(-costs, 0.0), 0.0)
        is_chosen = np.zeros(n, dtype=bool)
        is_chosen[self._best_of_groups(costs, groups)] = True
        room = groups.room(self.fixed_in | is_chosen)
        is_full = (groups.labels >= 0) & (room[groups.labels] <= 0)
        is_used_up = int(is_chosen.sum()) >= self.remaining
        waiting = undecided & ~is_chosen
        last = gains[is_chosen].min(initial=np.inf) if is_used_up else 0.0
        following = gains[waiting & ~is_full].max(initial=0.0) if is_used_up else 0.0
        on, off = np.zeros(n), np.zeros(n)
        for j in np.flatnonzero(undecided):
            own = groups.labels == groups.labels[j]
            first, then = last, following
            if is_full[j]:
                first = gains[own & is_chosen].min(initial=np.inf)
                then = max(then, gains[own & waiting].max(initial=0.0))
            # Nothing to take the place of: no support of the branch has the variable.
            on[j] = np.inf if np.isinf(first) else max(costs[j] + first, 0.0)
            off[j] = gains[j] - then if gains[j] > then else 0.0
        on[is_chosen] = 0.0
        return on, off


def smallest(values: FloatArray, count: int) -> FloatArray:
    """The ``count`` smallest entries in increasing order (all, if there are fewer)."""
    if count <= 0:
        return values[:0]
    if count < len(values):
        values = np.partition(values, count - 1)[:count]
    return np.sort(values)
