"""Ridge regression with at most so many features."""

from dataclasses import dataclass

from cardqp._iterate import Callback, Watch
from cardqp._keywords import did_you_mean
from cardqp.estimators.accumulating import AccumulatingModel
from cardqp.estimators.linear_model import Choice, Sample, SparseLinearModel
from cardqp.estimators.ridge_choice import chosen_ridge, solve_within
from cardqp.gram import GramAccumulator, Moments
from cardqp.regression import Design
from cardqp.regression.automatic_ridge import RidgeFolds, automatic_eta
from cardqp.regression.design_settings import (
    is_automatic,
    read_etas,
    read_sparsities,
)


@did_you_mean
@dataclass(eq=False, repr=False)
class SparseRidge(AccumulatingModel, SparseLinearModel):
    r"""Ridge regression with few features, and a proof of how good the choice is.

    .. math::
        \min_{\beta, b}\; \frac{1}{\sum w_i} \sum_i w_i (y_i - b - x_i^\top\beta)^2
        + \frac{1}{\eta} |\beta|^2 \quad\text{s.t.}\quad |\beta|_0 \le s .

    Parameters
    ----------
    n_nonzero_coefs : int
        The most features that are chosen, ``s``; blocks count once.
    eta : "auto", float or None
        The ridge is ``1/eta``.  ``"auto"`` tries 1, 3, 10 and 30 with
        ``standardize=True`` in ten folds, by models without proofs, and takes the
        strongest ridge within half a standard error of the least error; a row's own
        numbers decide which fold it is in.  With a handful of rows, or several million
        numbers, it is a third of the rows for each feature, between 1 and 30.  None
        means no ridge: best subset selection.  Features that are linearly dependent are
        then not chosen together.
    fit_intercept : bool
        Whether to fit an intercept, which is not penalised.
    standardize : bool
        Whether features are scaled to unit variance for the ridge.  Coefficients and
        bounds are in the units of the data in any case.
    positive : bool
        Whether coefficients must not be negative.
    coef_bounds : pair, optional
        Lower and upper bounds of nonzero coefficients: numbers, arrays or None.  Where
        0 is not between them, a coefficient is 0 or at least so large.
    always_include : sequence, optional
        Features that are chosen in any case, by index or name, or a mask.  They count.
    blocks : sequence or dict by name, optional
        Features with the same label are chosen together and count once, as the dummies
        of a category should; None for a feature of its own.
    method : str or a method with its settings
        As for :func:`cardqp.solve`.
    gap : float
        Relative gap at which the choice counts as proved optimal.
    time_limit : float or None
        Seconds.
    random_state : int, RandomState or None
        For ``method="block-decomposition"``; all others are deterministic.
    refit : bool
        Whether coefficients are fitted again without the ridge, once the features are
        chosen.

    Attributes
    ----------
    coef_ : (n,) array
        Coefficients, few of them nonzero.
    intercept_ : float
        The intercept.
    support_ : int array
        The chosen features.
    n_features_in_, feature_names_in_
        Number of features, and their names if X has names.
    objective_, lower_bound_ : float
        The value of the problem above, and what no choice of features can undercut:
        the proved bound of ``solution_``, or zero if that is larger, for no penalised
        error is negative.
    gap_ : float
        The relative difference between them, at most 1.
    status_ : str
        "OPTIMAL" if the gap is within ``gap``, else "FEASIBLE".
    n_iter_ : int
        Branches that were processed.
    eta_ : float
        The value that was used.
    solution_ : Solution
        The answer with its certificate, in scaled units: ``solution_.verify()``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 20))
    >>> y = 3 * X[:, 4] - 2 * X[:, 7] + 0.1 * rng.standard_normal(100)
    >>> model = SparseRidge(n_nonzero_coefs=2).fit(X, y)
    >>> model.support_, model.status_
    (array([4, 7]), 'OPTIMAL')
    """

    n_nonzero_coefs: int = 10

    def _choose(self, sample: Sample, callback: Callback | None) -> Choice:
        if not is_automatic(self.eta):
            return super()._choose(sample, callback)
        self._accumulated, self._folds = GramAccumulator(), RidgeFolds()
        sizes = read_sparsities([self.n_nonzero_coefs], sample.design)
        with Watch(self.time_limit, callback) as watch:
            rows, eta = chosen_ridge(sample, sizes, watch)
            return self._solve_with(eta, sample.design, rows, watch)

    def _solve(
        self, design: Design, rows: Moments, callback: Callback | None = None
    ) -> Choice:
        [sparsity] = read_sparsities([self.n_nonzero_coefs], design)
        with Watch(self.time_limit, callback) as watch:
            if is_automatic(self.eta):
                parts = self._folds.parts(rows.is_centred)
                eta = automatic_eta(parts, design, (sparsity,), watch)
            else:
                [eta] = read_etas([self.eta])
            return self._solve_with(eta, design, rows, watch)

    def _also_keep(self, sample: Sample, *, is_first: bool) -> None:
        if is_first:
            self._folds = RidgeFolds()
        if is_automatic(self.eta):
            self._folds.update(sample.X, sample.y, sample.weights)

    def _solve_with(
        self, eta: float, design: Design, rows: Moments, watch: Watch
    ) -> Choice:
        """Find the model of some rows, with a ridge."""
        [sparsity] = read_sparsities([self.n_nonzero_coefs], design)
        scaled = design.scaled(rows, eta, sparsity)
        settings = {"method": self._solver, "gap": self.gap}
        return scaled, solve_within(watch, scaled.problem, **settings), eta, 0.0
