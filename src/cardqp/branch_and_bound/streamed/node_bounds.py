"""Bounds of many nodes over all columns, in one pass over the data.

The bound of a node needs the sum of its cheapest costs only.  Each block of columns
yields a few of the cheapest for each node, and these are merged: no vector with an
entry for every column and node is ever held.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.arithmetic.rounding import leaf_unit
from cardqp.bounds.residual_bound import Residual
from cardqp.branch_and_bound.streamed.settings import StreamedSettings
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm


@dataclass(frozen=True, slots=True, eq=False)
class NodeResidual:
    """A node to be bounded: columns that are fixed in and out, and a residual."""

    fixed_in: IntArray
    fixed_out: IntArray
    residual: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class NodeBound:
    """The bound of a node, and the columns that it is due to.

    Attributes
    ----------
    bound : float
        The lower bound of Theorem 3 over all supports of the node.
    scale : float
        The scale of the residual that it holds at.
    columns, costs : arrays
        The cheapest undecided columns, and their costs, in increasing order.
    """

    bound: float
    scale: float
    columns: IntArray
    costs: FloatArray


def is_homogeneous(problem: SparseQP) -> bool:
    """Whether costs grow with the square of the scale of the residual.

    They do without a penalty and without finite bounds other than zero; the best scale
    then has a closed form.
    """
    ends = np.concatenate([problem.lower, problem.upper])
    return problem.rule.penalty == 0 and bool((np.isinf(ends) | (ends == 0)).all())


def bound_nodes(
    problem: SparseQP,
    form: StreamedForm,
    unfixed: BoolArray,
    nodes: Sequence[NodeResidual],
    settings: StreamedSettings,
) -> list[NodeBound]:
    """Bound nodes over all columns, in one pass over the data.

    Columns are ``unfixed`` if they are neither forced out nor proved zero.
    """
    homogeneous = is_homogeneous(problem)
    scales = (1.0,) if homogeneous else settings.scales
    residuals = [Residual.of(form, node.residual) for node in nodes]
    decided = [np.concatenate([node.fixed_in, node.fixed_out]) for node in nodes]
    counts = [
        max(settings.cheapest_columns, n_remaining(problem, node)) for node in nodes
    ]

    # All scales share the products: trying several takes no further pass.
    def cheapest(start: int, products: FloatArray) -> list[list[_Cheapest]]:
        where = slice(start, start + len(products))
        found = []
        for k, (residual, node) in enumerate(zip(residuals, nodes, strict=True)):
            own = decided[k] - start
            own = own[(own >= 0) & (own < len(products))]
            found.append(
                [
                    _Cheapest.of_block(
                        residual.costs(problem, form, products[:, k], scale, where),
                        start,
                        unfixed[where],
                        own,
                        node.fixed_in,
                        counts[k],
                    )
                    for scale in scales
                ]
            )
        return found

    R = np.column_stack([node.residual for node in nodes])
    blocks = form.map_products(R, cheapest)
    results = []
    for k, (residual, node) in enumerate(zip(residuals, nodes, strict=True)):
        tried = [
            _Cheapest.merge([block[k][i] for block in blocks], counts[k])
            for i in range(len(scales))
        ]
        unit, remaining = leaf_unit(problem.rule.limit), n_remaining(problem, node)
        totals = [each.total(remaining, unit) for each in tried]
        if homogeneous:
            results.append(_best_scaled(residual, totals[0], tried[0]))
        else:
            results.append(_best_tried(residual, scales, totals, tried))
    return results


def n_remaining(problem: SparseQP, node: NodeResidual) -> int:
    """Number of further columns that may be nonzero in a node."""
    return problem.rule.limit - len(node.fixed_in)


@dataclass(frozen=True, slots=True)
class _Total:
    """The least sum of costs in a node, the size of its terms, and the unit of both.

    Costs of both signs may cancel, so that the sum alone does not tell its error.
    """

    value: float
    magnitude: float
    unit: float

    def above(self, base: float, factor: float = 1.0) -> float:
        """``base + factor * value``, lowered by its rounding error."""
        rounding = self.unit * (abs(base) + factor * self.magnitude)
        return base + factor * self.value - rounding


@dataclass(frozen=True, slots=True, eq=False)
class _Cheapest:
    """The cheapest undecided columns of some blocks, and the cost of those fixed in.

    ``fixed_magnitude`` is the sum of the absolute values of the latter.
    """

    columns: IntArray
    costs: FloatArray
    fixed_cost: float
    fixed_magnitude: float

    @classmethod
    def of_block(
        cls,
        costs: FloatArray,
        start: int,
        unfixed: BoolArray,
        decided: IntArray,
        fixed_in: IntArray,
        count: int,
    ) -> "_Cheapest":
        own = fixed_in - start
        own = own[(own >= 0) & (own < len(costs))]
        fixed = float(costs[own].sum()), float(np.abs(costs[own]).sum())
        # A cost of zero never counts: the empty choice is as cheap.
        free = np.where(unfixed, costs, 0.0)
        free[decided] = 0.0
        columns = np.arange(start, start + len(free))
        return cls(*_smallest(columns, free, count), *fixed)

    def total(self, remaining: int, unit: float) -> _Total:
        """The least sum of costs with so many more columns, or fewer."""
        gain = -float(self.costs[: max(remaining, 0)].sum())
        return _Total(self.fixed_cost - gain, self.fixed_magnitude + gain, unit)

    @classmethod
    def merge(cls, parts: Sequence["_Cheapest"], count: int) -> "_Cheapest":
        columns = np.concatenate([part.columns for part in parts])
        costs = np.concatenate([part.costs for part in parts])
        fixed_cost = float(sum(part.fixed_cost for part in parts))
        magnitude = float(sum(part.fixed_magnitude for part in parts))
        return cls(*_smallest(columns, costs, count), fixed_cost, magnitude)


def _smallest(
    columns: IntArray, costs: FloatArray, count: int
) -> tuple[IntArray, FloatArray]:
    """The smallest of the negative costs, in increasing order, and their columns."""
    if len(costs) > count:
        some = np.argpartition(costs, count - 1)[:count]
        columns, costs = columns[some], costs[some]
    order = np.argsort(costs, kind="stable")
    order = order[costs[order] < 0]
    return columns[order], costs[order]


def _best_scaled(residual: Residual, total: _Total, cheapest: _Cheapest) -> NodeBound:
    """The bound at the best scale, given the costs at scale 1.

    For problems whose costs grow with the square of the scale.
    """
    if not np.isfinite(total.value):  # overflow: nothing is proved
        return NodeBound(-np.inf, 0.0, cheapest.columns, cheapest.costs)
    scale = residual.best_scale(total.value)
    factor = scale * scale
    bound = total.above(residual.base(scale), factor)
    return NodeBound(bound, scale, cheapest.columns, factor * cheapest.costs)


def _best_tried(
    residual: Residual,
    scales: Sequence[float],
    totals: Sequence[_Total],
    tried: Sequence[_Cheapest],
) -> NodeBound:
    """The best bound over some scales, given the costs at each of them."""
    found = []
    for scale, total, cheapest in zip(scales, totals, tried, strict=True):
        if not np.isfinite(total.value):  # overflow: nothing is proved
            found.append(NodeBound(-np.inf, 0.0, cheapest.columns, cheapest.costs))
            continue
        bound = total.above(residual.base(scale))
        found.append(NodeBound(bound, scale, cheapest.columns, cheapest.costs))
    return max(found, key=lambda each: each.bound)
