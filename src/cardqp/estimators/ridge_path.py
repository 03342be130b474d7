"""Models of all sizes, each certified, and a choice among them by a criterion."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from cardqp._iterate import Callback, Watch
from cardqp._keywords import did_you_mean
from cardqp.estimators.linear_model import Choice, Sample, SparseLinearModel
from cardqp.estimators.ridge_choice import chosen_ridge
from cardqp.pipeline.path import path
from cardqp.problem import validation as check
from cardqp.regression import (
    Design,
    ScaledProblem,
    criterion,
)
from cardqp.regression.criteria import CriterionName
from cardqp.regression.design_settings import (
    is_automatic,
    read_etas,
    read_sparsities,
)
from cardqp.solution import Solution


@did_you_mean
@dataclass(eq=False, repr=False)
class SparseRidgePath(SparseLinearModel):
    """Sparse ridge regression for a range of sizes; one is chosen by a criterion.

    Parameters
    ----------
    n_nonzero_coefs : iterable of int, optional
        Sizes of models, 1 to 20 by default; those beyond the number of features are
        left out.
    criterion : {"ebic", "bic", "aic"}
        What chooses the size.  It judges coefficients without the ridge.
    ebic_gamma : float
        From 0, which is BIC, to 1: how much choosing from many features costs in EBIC.
    time_limit : float or None
        Seconds for each size.
    eta, fit_intercept, standardize, positive, coef_bounds, always_include, blocks, \
method, gap, random_state, refit
        As for :class:`SparseRidge`.

    Attributes
    ----------
    path_ : Path
        The certified solutions, in scaled units: print it, or ``path_.plot()``.
    coef_path_ : (sizes, n) array
        Coefficients of all models.
    intercept_path_ : (sizes,) array
        Their intercepts.
    criterion_path_ : (sizes,) array
        The criterion of each; the least is chosen.
    n_nonzero_coefs_ : int
        The size that was chosen.
    coef_, intercept_, support_, objective_, lower_bound_, gap_, status_, n_iter_, \
eta_, solution_
        Those of the chosen model, see :class:`SparseRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 20))
    >>> y = 3 * X[:, 4] - 2 * X[:, 7] + 0.1 * rng.standard_normal(100)
    >>> model = SparseRidgePath(range(1, 6)).fit(X, y)
    >>> model.n_nonzero_coefs_, model.support_
    (2, array([4, 7]))
    """

    n_nonzero_coefs: Iterable[int] | None = None
    _: KW_ONLY
    criterion: CriterionName = "ebic"
    ebic_gamma: float = 1.0

    def _choose(self, sample: Sample, callback: Callback | None) -> Choice:
        """Fit models of all sizes and choose one."""
        check.at_least("ebic_gamma", self.ebic_gamma, 0.0)
        design = sample.design
        sizes = read_sparsities(self.n_nonzero_coefs, design)
        if is_automatic(self.eta):
            with Watch(self.time_limit, callback) as watch:
                rows, eta = chosen_ridge(sample, sizes, watch)
            callback = watch.relay if watch.is_unwanted else callback
        else:
            rows, [eta] = sample.moments(), read_etas([self.eta])
        scaled = design.scaled(rows, eta, sizes[-1])
        self.path_ = path(
            scaled.problem,
            sizes,
            method=self._solver,
            gap=self.gap,
            time_limit=self.time_limit,
            callback=callback,
        )
        solutions = self.path_.solutions
        points = [scaled.coefficients(s.x) for s in solutions if s.x is not None]
        self.coef_path_ = np.array(points)
        self.intercept_path_ = np.array([scaled.intercept(coef) for coef in points])
        self.criterion_path_ = np.array(
            [self._judge(scaled, design, solution) for solution in solutions]
        )
        best = int(self.criterion_path_.argmin())
        self.n_nonzero_coefs_ = self.path_.sparsities[best]
        worst = max(solution.gap for solution in solutions)
        return scaled, solutions[best], eta, worst

    def _judge(
        self, scaled: ScaledProblem, design: Design, solution: Solution
    ) -> float:
        """The criterion of a model, with coefficients of least squares."""
        if solution.x is None:
            return np.inf
        chosen, rows = scaled.chosen(solution.x), scaled.rows
        coef = design.refitted(rows, chosen)
        return criterion(
            self.criterion,
            rows.mean_square(coef) / (rows.power or 1.0),
            n_samples=rows.weight,
            n_coefs=len(chosen),
            n_chosen=design.n_chosen(chosen),
            n_units=design.n_units,
            gamma=self.ebic_gamma,
        )
