"""Bounds of many branches over all columns, in one sweep."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.arithmetic.rounding import leaf_unit
from cardqp.bounds.residual_bound import Residual
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import Columns

KEPT = 64
"""The cheapest columns of a branch that are remembered."""

SCALES = (1.0, 0.98, 0.95, 0.9)
"""Scales that are tried where costs do not grow with their square."""


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A branch to be bounded: what is switched on and off, and a residual."""

    fixed_in: IntArray
    fixed_out: IntArray
    residual: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """What a sweep found out about a branch.

    Attributes
    ----------
    bound : float
        The bound of Theorem 1.
    scale : float
        With which scale of the residual.
    columns, costs : arrays
        The cheapest columns that are free, and their costs, the cheapest first.
    """

    bound: float
    scale: float
    columns: IntArray
    costs: FloatArray


def is_homogeneous(problem: SparseQP) -> bool:
    """Whether costs grow with the square of the scale: no price, no finite bound."""
    ends = np.concatenate([problem.lower, problem.upper])
    return problem.rule.penalty == 0 and bool((np.isinf(ends) | (ends == 0)).all())


def bound_branches(
    problem: SparseQP, form: Columns, alive: BoolArray, branches: Sequence[Branch]
) -> list[Bounded]:
    """Bound branches over all columns that are alive.

    Parameters
    ----------
    problem, form
        The problem and its data.
    alive : (n,) bool array
        Columns that are not proved zero.
    branches : sequence of Branch
        What to bound.
    """
    scales = (1.0,) if is_homogeneous(problem) else SCALES
    residuals = [Residual.of(form, branch.residual) for branch in branches]
    decided = [np.concatenate([b.fixed_in, b.fixed_out]) for b in branches]

    def cheapest(start: int, products: FloatArray) -> list[list[_Cheapest]]:
        where = slice(start, start + len(products))
        found = []
        for k, (residual, branch) in enumerate(zip(residuals, branches, strict=True)):
            own = decided[k] - start
            own = own[(own >= 0) & (own < len(products))]
            found.append(
                [
                    _Cheapest.of_block(
                        residual.costs(problem, form, products[:, k], scale, where),
                        start,
                        alive[where],
                        own,
                        branch.fixed_in,
                        max(KEPT, slots_of(problem, branch)),
                    )
                    for scale in scales
                ]
            )
        return found

    R = np.column_stack([branch.residual for branch in branches])
    blocks = form.sweep(R, cheapest)
    results = []
    for k, (residual, branch) in enumerate(zip(residuals, branches, strict=True)):
        remaining = slots_of(problem, branch)
        tried = [
            _Cheapest.merge([block[k][i] for block in blocks], max(KEPT, remaining))
            for i in range(len(scales))
        ]
        unit = leaf_unit(problem.rule.limit)
        results.append(_best(residual, scales, tried, remaining, unit))
    return results


def slots_of(problem: SparseQP, branch: Branch) -> int:
    """How many more columns may be switched on."""
    return problem.rule.limit - len(branch.fixed_in)


@dataclass(frozen=True, slots=True, eq=False)
class _Cheapest:
    """The cheapest free columns of some block, and the costs of those switched on.

    ``magnitude`` is the sum of the absolute values of the latter.
    """

    columns: IntArray
    costs: FloatArray
    fixed_in: float
    magnitude: float

    @classmethod
    def of_block(
        cls,
        costs: FloatArray,
        start: int,
        alive: BoolArray,
        decided: IntArray,
        fixed_in: IntArray,
        count: int,
    ) -> "_Cheapest":
        own = fixed_in - start
        own = own[(own >= 0) & (own < len(costs))]
        paid, magnitude = float(costs[own].sum()), float(np.abs(costs[own]).sum())
        free = np.where(alive, costs, 0.0)
        free[decided] = 0.0
        cheapest = _smallest(np.arange(start, start + len(free)), free, count)
        return cls(*cheapest, paid, magnitude)

    @classmethod
    def merge(cls, parts: Sequence["_Cheapest"], count: int) -> "_Cheapest":
        columns = np.concatenate([part.columns for part in parts])
        costs = np.concatenate([part.costs for part in parts])
        fixed_in = float(sum(part.fixed_in for part in parts))
        magnitude = float(sum(part.magnitude for part in parts))
        return cls(*_smallest(columns, costs, count), fixed_in, magnitude)


def _smallest(
    columns: IntArray, costs: FloatArray, count: int
) -> tuple[IntArray, FloatArray]:
    """The smallest of negative costs, in increasing order."""
    if len(costs) > count:
        some = np.argpartition(costs, count - 1)[:count]
        columns, costs = columns[some], costs[some]
    order = np.argsort(costs, kind="stable")
    order = order[costs[order] < 0]
    return columns[order], costs[order]


def _best(
    residual: Residual,
    scales: Sequence[float],
    tried: Sequence[_Cheapest],
    remaining: int,
    unit: float,
) -> Bounded:
    """The best scale of a branch; ``unit`` is for the rounding of its sum."""
    found = []
    for scale, cheapest in zip(scales, tried, strict=True):
        gained = -float(cheapest.costs[: max(remaining, 0)].sum())
        total, magnitude = cheapest.fixed_in - gained, cheapest.magnitude + gained
        if not np.isfinite(total):  # too large for a number: nothing is proved
            found.append(Bounded(-np.inf, 0.0, cheapest.columns, cheapest.costs))
            continue
        factor = 1.0
        if len(scales) == 1:
            scale = residual.best_scale(total)
            factor = scale * scale
        base = residual.base(scale)
        bound = base + factor * total
        bound -= unit * (abs(base) + factor * magnitude)
        found.append(Bounded(bound, scale, cheapest.columns, factor * cheapest.costs))
    return max(found, key=lambda each: each.bound)
