"""Theorems 1 and 2 for many branches of a proof at once, each at its own dual point."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import BoolArray, Float, FloatArray, IntArray
from cardqp.arithmetic.rounding import FIXING_SHARE, FIXING_UNIT, total_unit
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.certificate.required import competing_gains, ranked_gains
from cardqp.problem.sparsity import Subproblem, SupportRule


@dataclass(frozen=True, slots=True)
class BranchBounds:
    """Bounds of several nodes, each at its own dual point.

    ``value`` holds the bound of each node: Theorem 1 (docs/theory.md#theorem-1).
    ``on`` and ``off`` hold, with one node in each row, the bounds with an undecided
    variable fixed in, or out: Theorem 2 (docs/theory.md#theorem-2).
    """

    value: FloatArray
    on: FloatArray
    off: FloatArray

    def rows(self, which: BoolArray, value: FloatArray) -> "BranchBounds":
        """Select the bounds of some nodes, with better values in place of their own."""
        return BranchBounds(value[which], self.on[which], self.off[which])

    @classmethod
    def of(
        cls,
        base: Float,
        costs: FloatArray,
        status: IntArray,
        rule: SupportRule,
        labels: IntArray | None = None,
    ) -> "BranchBounds":
        """Evaluate the bounds from base, costs and the status of the variables.

        ``labels`` are the required clusters of each node, if any has some.
        """
        if rule.groups is not None or rule.blocks is not None:
            return cls._one_by_one(base, costs, status, rule)
        n, limit = status.shape[1], rule.limit
        fixed_in = np.where(status > 0, costs, 0.0)
        gains = np.where(status == 0, np.maximum(-costs, 0.0), 0.0)
        remaining = limit - np.count_nonzero(status > 0, axis=1)
        if labels is None:
            gained, last, following = ranked_gains(gains, np.clip(remaining, 0, n))
        else:
            gained, last, following = competing_gains(gains, labels, remaining)
        total = fixed_in.sum(axis=1) - gained
        size = np.abs(base) + np.abs(fixed_in).sum(axis=1) + gained
        value = base + total - total_unit(n) * size
        value = np.where(np.isnan(value), -np.inf, value)
        start = (value - FIXING_UNIT * np.abs(value))[:, None]
        on = start + FIXING_SHARE * np.maximum(costs + last, 0.0)
        off = start + FIXING_SHARE * np.maximum(-costs - following, 0.0)
        # What is not a number proves nothing; what is beyond the limit is empty.
        on, off = (np.where(np.isnan(side), -np.inf, side) for side in (on, off))
        on[remaining <= 0] = np.inf
        is_empty = remaining < 0
        value[is_empty], off[is_empty] = np.inf, np.inf
        return cls(value, on, off)

    @classmethod
    def _one_by_one(
        cls, base: Float, costs: FloatArray, status: IntArray, rule: SupportRule
    ) -> "BranchBounds":
        """Evaluate the bounds node by node, for rules with groups or blocks.

        The best exchange within groups does not vectorise over nodes.
        """
        value, on, off = np.empty(len(status)), costs.copy(), costs.copy()
        for i, decided in enumerate(status):
            subproblem = Subproblem.of_status(decided, rule)
            bound = SeparableBound(
                float(np.broadcast_to(base, len(status))[i]), costs[i]
            )
            value[i] = bound.value(subproblem)
            on[i], off[i] = bound.fixing_bounds(subproblem)
        return cls(value, on, off)
