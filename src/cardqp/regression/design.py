"""From moments to a problem in scaled units, and from its points back."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.streamed.size import is_worth_streaming
from cardqp.gram import (
    Moments,
    RowMoments,
    is_constant,
    regression_problem,
    unit_scale,
)
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.problem.quadratic import Gram
from cardqp.regression.least_squares import least_squares


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Settings of a linear model that do not depend on the rows.

    Attributes
    ----------
    standardize : bool
        Whether features are scaled to unit variance before they are penalised.
    lower, upper : (n,) arrays
        Bounds of nonzero coefficients, in the units of the data.
    forced_in : int array
        Features that are chosen in any case.
    blocks : (n,) int array or None
        Features with the same number are chosen together.
    names : tuple of str or None
        Names of the features.
    """

    standardize: bool
    lower: FloatArray
    upper: FloatArray
    forced_in: IntArray
    blocks: IntArray | None
    names: tuple[str, ...] | None

    @property
    def n_units(self) -> int:
        """Number of features, or of blocks of them, to choose from."""
        return len(self.lower) if self.blocks is None else len(set(self.blocks))

    def n_chosen(self, support: IntArray) -> int:
        """Number of features, or of blocks of them, in a support."""
        return len(support) if self.blocks is None else len(set(self.blocks[support]))

    def unit_of(self, feature: int) -> IntArray:
        """A feature and what is chosen together with it."""
        alone = np.array([feature])
        return alone if self.blocks is None else check.whole_blocks(alone, self.blocks)

    def refitted(self, rows: Moments, chosen: IntArray) -> FloatArray:
        """Coefficients of chosen features without the ridge, within their bounds."""
        return least_squares(rows, chosen, self.lower, self.upper)

    def scaled(self, rows: Moments, eta: float, sparsity: int) -> "ScaledProblem":
        """The problem on some rows.

        The ridge is ``1/eta``, for scaled features if they are standardised; if it is
        infinite there is none.  As many features, or blocks of them, as the sparsity
        says may be chosen; all of them if there are fewer.  Very large tables with more
        columns than rows are streamed.
        """
        scale = np.ones(len(self.lower))
        if self.standardize:
            scale = unit_scale(rows)
        settings: dict[str, Any] = {
            "eta": eta,
            "sparsity": min(sparsity, self.n_units),
            "lower": self.lower * scale,
            "upper": self.upper * scale,
            "forced_in": self.forced_in,
            "blocks": self.blocks,
            "names": self.names,
        }
        if isinstance(rows, RowMoments) and self._is_streamed(rows):
            problem = SparseQP.from_data(*rows.columns(scale), **settings)
        else:
            problem = regression_problem(rows, scale, **settings)
        if np.isinf(eta):
            problem = _without_constants(problem, rows)
        return ScaledProblem(problem, scale, rows)

    def _is_streamed(self, rows: RowMoments) -> bool:
        """Whether the rows are many numbers, and each column is chosen by itself."""
        has_thresholds = ((self.lower > 0) | (self.upper < 0)).any()
        is_plain = self.blocks is None and not has_thresholds
        return is_plain and is_worth_streaming(rows.n_samples, len(self.lower))


@dataclass(frozen=True, slots=True, eq=False)
class ScaledProblem:
    """A problem whose variables are ``coefficient * scale``.

    Its objective is the mean squared error of the fit plus the ridge.
    """

    problem: SparseQP
    scale: FloatArray
    rows: Moments

    def with_eta(self, eta: float) -> "ScaledProblem":
        """A copy with another ridge; the quadratic form is not checked again."""
        ridge = np.full(self.problem.n, 1.0 / eta)
        problem = self.problem.with_quadratic(self.problem.quadratic, ridge)
        if np.isinf(eta):
            problem = _without_constants(problem, self.rows)
        return replace(self, problem=problem)

    def coefficients(self, x: FloatArray) -> FloatArray:
        """Coefficients in the units of the data."""
        return np.asarray(x / self.scale)

    def intercept(self, coef: FloatArray) -> float:
        """The best intercept; 0 for moments about zero."""
        return self.rows.target_mean - float(self.rows.mean @ coef)

    def chosen(self, x: FloatArray) -> IntArray:
        """Features in the model, also those whose coefficient happens to be zero."""
        return self.problem.support_of(x)


def _without_constants(problem: SparseQP, rows: Moments) -> SparseQP:
    """The problem without features that are constant but for rounding.

    A ridge keeps their coefficients small; without one, nothing does.  They would count
    as linearly dependent, which says something of subsets that have none of them: so
    they keep a diagonal entry alone.
    """
    out = is_constant(rows)
    out[problem.forced_in] = False
    if problem.blocks is not None:
        out &= ~np.isin(problem.blocks, problem.blocks[~out])
    form = problem.quadratic
    if out.any() and isinstance(form, Gram):
        kept = np.where(np.logical_or.outer(out, out), 0.0, form.array)
        alone = check.quadratic_matrix(kept + np.diag(out.astype(np.float64)))
        problem = problem.with_quadratic(alone)
    return problem.with_forced(forced_out=np.flatnonzero(out))
