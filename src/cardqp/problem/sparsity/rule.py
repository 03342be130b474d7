"""The support rule: which variables a dual point switches on."""

from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import PRICE_SHARE
from cardqp.problem.sparsity.blocks import Blocks
from cardqp.problem.sparsity.groups import Groups


@dataclass(frozen=True, slots=True)
class SupportRule:
    """At most ``limit`` nonzeros, each at the cost ``penalty``; some are forced.

    The cardinality form has ``penalty = 0``, the penalised form ``limit = n``; both
    may bind at once.  Everything below works on *costs*: ``cost_j`` is what variable
    ``j`` adds to the dual value when it is switched on, penalty included.  Where there
    are blocks these are counted, and pay, and what is forced are whole blocks.
    """

    limit: int
    penalty: float = 0.0
    fixed_in: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    fixed_out: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    groups: Groups | None = None
    blocks: Blocks | None = None

    def count(self, support: IntArray) -> int:
        """Number of variables, or blocks if there are any, in a support."""
        if self.blocks is None:
            return len(support)
        return len(np.unique(self.blocks.labels[support]))

    def prices(self, n: int) -> FloatArray:
        """The share of the penalty that falls to each variable, rounded down."""
        if self.blocks is None or self.penalty == 0:
            return np.full(n, self.penalty)
        share = PRICE_SHARE * self.penalty / self.blocks.sizes
        return np.asarray(share[self.blocks.labels])

    @property
    def width(self) -> int:
        """The most variables that can be nonzero."""
        if self.blocks is None:
            return self.limit
        return int(np.sort(self.blocks.sizes)[::-1][: self.limit].sum())

    def excess(self, support: IntArray) -> int:
        """By how many switches a support is too large, in all or in its groups."""
        over = max(self.count(support) - self.limit, 0)
        if self.groups is None:
            return over
        return max(over, int(np.maximum(-self.groups.room(support), 0).sum()))

    def select(self, costs: FloatArray) -> IntArray:
        """Indices, in increasing order, of the cheapest support.

        Only negative costs are worth taking.  Among equal costs the smaller index
        wins, so that the map from dual points to supports is single-valued.

        Examples
        --------
        >>> SupportRule(limit=2).select(np.array([-1.0, -3.0, 4.0, -1.0]))
        array([0, 1])
        """
        if self.blocks is not None:
            return self._select_blocks(costs, self.blocks)
        if len(self.fixed_in) or len(self.fixed_out):
            costs = costs.copy()
            costs[self.fixed_in], costs[self.fixed_out] = -np.inf, np.inf
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

    def _select_blocks(self, costs: FloatArray, blocks: Blocks) -> IntArray:
        """Indices of the cheapest support made of whole blocks, by their leaders."""
        fixed_in = self.fixed_in[blocks.leads[self.fixed_in]]
        of_leaders = replace(self, blocks=None, fixed_in=fixed_in)
        chosen = np.zeros(len(costs), dtype=bool)
        chosen[of_leaders.select(blocks.summed(costs))] = True
        return np.flatnonzero(blocks.closed(chosen))
