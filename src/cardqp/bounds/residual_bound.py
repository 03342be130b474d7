r"""Theorem 3: bounds from residuals, for regressions whose data are streamed.

With ``Q = X'X/N``, ``c = -2X'y/N`` and any vector ``r`` and number ``t >= 0``,

.. math::
    |y - Xx|^2 / N \ge (2 t\, y^\top r - t^2 |r|^2) / N - (2 t / N)\, r^\top X x ,

so that the columns enter through ``X'r`` alone, which one pass over the data yields
for many ``r`` at a time.  The residual of a relaxed point is a good ``r``; a ``t``
below one pays for columns that the relaxation did not know of, as the rescaling of
residuals to a feasible dual point does in solvers of the lasso (Massias, Gramfort and
Salmon, ICML 2018).  The proof is in ``docs/theory.md#theorem-3``.
"""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import (
    NORM_FACTOR,
    RESIDUAL_BASE_UNIT,
    RESIDUAL_COST_FACTOR,
    RESIDUAL_SLOPE_UNIT,
    SMALLEST_NORMAL,
    residual_unit,
)
from cardqp.bounds.tangent_bound import SeparableBound, cost_down
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm

_ALL = slice(None)

LEAST_SCALE = 1e-150
"""The smallest positive scale in use: the square of a smaller one would underflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    """A dual point of the regression: any vector with one entry for each row.

    Attributes
    ----------
    vector : (N,) array
        The vector ``r``.
    target_product : float
        ``y'r / N``, rounded down.
    squared_norm : float
        ``|r|^2 / N``, rounded up.
    product_error : float
        An upper bound on the rounding error of ``X_j'r`` for a column of unit length.
    """

    vector: FloatArray
    target_product: float
    squared_norm: float
    product_error: float

    @classmethod
    def of(
        cls, form: StreamedForm, vector: FloatArray, error: float = 0.0
    ) -> "Residual":
        """The dual point with this vector; its sums are rounded to the safe side.

        ``error`` is how far, in norm, another vector may be about which they are to
        tell as well.
        """
        N, y = form.n_samples, form.target
        # Lemma R3 (docs/theory.md#lemma-inner): a sum of N products, in any order, is
        # off by N u / (1 - N u) times the sum of magnitudes at most.
        unit = residual_unit(N)
        size = float(np.abs(y) @ np.abs(vector)) * (1.0 + 2.0 * unit)
        squared_norm = float(vector @ vector) * (1.0 + 2.0 * unit) + N * SMALLEST_NORMAL
        target_product = float(y @ vector) - unit * size - N * SMALLEST_NORMAL
        product_error = NORM_FACTOR * unit * float(np.sqrt(squared_norm))
        if error > 0.0:
            error *= NORM_FACTOR  # for its products with computed norms
            target_product -= error * float(np.linalg.norm(y))
            squared_norm += error * (2.0 * float(np.sqrt(squared_norm)) + error)
            product_error += error
        return cls(vector, target_product / N, squared_norm / N, product_error)

    @property
    def finite_vector(self) -> FloatArray:
        """The vector, or zeros if its squared norm overflows.

        Products with zeros are finite, and the infinite norm makes the bound ``-inf``.
        """
        return (
            self.vector
            if np.isfinite(self.squared_norm)
            else np.zeros_like(self.vector)
        )

    def base(self, scale: float) -> float:
        """The part of the bound that does not depend on the support, rounded down.

        It replaces the constant of the problem, ``|y|^2 / N``.
        """
        if scale < LEAST_SCALE:
            return 0.0 if scale == 0 else -np.inf
        gain = 2.0 * scale * self.target_product
        loss = scale * (scale * self.squared_norm)
        rounding = RESIDUAL_BASE_UNIT * (abs(gain) + loss)
        # The last is what products that are rounded to nothing take off all costs.
        return gain - loss - rounding - SMALLEST_NORMAL

    def costs(
        self,
        problem: SparseQP,
        form: StreamedForm,
        products: FloatArray,
        scale: float,
        where: slice = _ALL,
    ) -> FloatArray:
        """Costs of variables when they are switched on, penalty included, rounded down.

        The ``products`` are ``X'r`` as it was computed, for the columns ``where``, and
        the scale is ``t``.
        """
        # Overflow, or no ridge, makes a cost -inf: it proves nothing, and is no reason
        # to warn.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            step = 2.0 * scale / form.n_samples
            ridge = problem.ridge[where]
            lost = form.n_samples * SMALLEST_NORMAL
            error = (
                self.product_error * (np.sqrt(form.squares[where]) + np.sqrt(lost))
                + lost
            )
            if problem.is_unconstrained:
                steepest = step * (np.abs(products) + error)
                # Dividing before multiplying keeps the square from underflowing.
                costs = steepest * (steepest / (-4.0 * ridge)) * RESIDUAL_COST_FACTOR
            else:
                bounds = problem.lower[where], problem.upper[where]
                wide = error + RESIDUAL_SLOPE_UNIT * (np.abs(products) + error)
                costs = np.minimum(
                    cost_down(ridge, -step * (products - wide), *bounds),
                    cost_down(ridge, -step * (products + wide), *bounds),
                )
            costs = costs + problem.rule.penalty
        return np.where(np.isnan(costs), -np.inf, costs)

    def bound(
        self, problem: SparseQP, form: StreamedForm, products: FloatArray, scale: float
    ) -> SeparableBound:
        """The bound of Theorem 3, with the costs of all variables."""
        costs = self.costs(problem, form, products, scale)
        return SeparableBound(self.base(scale), costs)

    def best_scale(self, total: float) -> float:
        """The scale ``t`` with the best bound, for costs that grow with its square.

        Their least sum over all supports is ``total`` at ``t = 1``.
        """
        if not 0 < self.target_product < np.inf or not total > -np.inf:
            return 0.0
        scale = self.target_product / (self.squared_norm - total)
        return scale if LEAST_SCALE <= scale < np.inf else 0.0
