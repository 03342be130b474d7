"""Bounds of the whole problem from one residual."""

from collections.abc import Sequence
from dataclasses import dataclass

from cardqp._typing import FloatArray
from cardqp.bounds.residual_bound import Residual
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.branch_and_bound.streamed.node_bounds import is_homogeneous
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm


@dataclass(frozen=True, slots=True, eq=False)
class RootBound:
    """The bound of Theorem 3 at the best scale that was tried.

    Attributes
    ----------
    scale : float
        The scale of the residual.
    bound : SeparableBound
        Base and costs, which Theorem 2 fixes variables with.
    value : float
        The lower bound of the problem.
    """

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
        scales: Sequence[float],
    ) -> "RootBound":
        """The bound at a residual ``r`` whose products ``X'r`` are known.

        Where costs grow with the square of the scale, the best one is computed, and
        ``scales`` are not looked at.
        """
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
    def of_target(
        cls, problem: SparseQP, form: StreamedForm, scales: Sequence[float]
    ) -> "RootBound":
        """The bound at the target itself, the residual of ``x = 0``.

        Its products are known from reading the data: there is a bound before the first
        pass of the search.
        """
        residual = Residual.of(form, form.target)
        return cls.of(problem, form, residual, form.products, scales)
