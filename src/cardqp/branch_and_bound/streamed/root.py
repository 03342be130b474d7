"""What a residual proves about the whole problem."""

from collections.abc import Sequence
from dataclasses import dataclass

from cardqp._typing import FloatArray
from cardqp.bounds.residual_bound import Residual
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.branch_and_bound.streamed.node_bounds import SCALES, is_homogeneous
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm

COARSE = (1.0, 0.5, 0.25, 0.1, 0.05, 0.0)
"""Scales for a residual that is far from the best.  Zero proves the least there is: no
square is negative, and what is forced in pays its price."""


@dataclass(frozen=True, slots=True, eq=False)
class RootBound:
    """The bound of Theorem 1 with the best scale that was tried."""

    scale: float
    bound: SeparableBound
    value: float

    @classmethod
    def of(
        cls,
        problem: SparseQP,
        form: StreamedForm,
        residual: Residual,
        products: FloatArray,
        scales: Sequence[float] = SCALES,
    ) -> "RootBound":
        """The bound from ``X'r``; scales are tried where the best is not known."""
        root = problem.root
        if is_homogeneous(problem):
            costs = residual.costs(problem, form, products, 1.0)
            scales = (residual.best_scale(root.total(costs)),)
        bounds = (
            (scale, residual.bound(problem, form, products, scale)) for scale in scales
        )
        found = (cls(scale, bound, bound.value(root)) for scale, bound in bounds)
        return max(found, key=lambda each: each.value)

    @classmethod
    def of_target(cls, problem: SparseQP, form: StreamedForm) -> "RootBound":
        """The bound at the target itself, whose products are known: without a sweep."""
        residual = Residual.of(form, form.target)
        return cls.of(problem, form, residual, form.products, COARSE)
