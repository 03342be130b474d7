"""Best subset selection: least squares with the best features of the best size."""

from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from cardqp import storage
from cardqp._iterate import Callback, Watch
from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.bounds.gap import relative_gap
from cardqp.estimators._sklearn import check_is_fitted
from cardqp.estimators.accumulating import AccumulatingModel
from cardqp.estimators.folds import folds_of
from cardqp.estimators.linear_model import Choice, Sample
from cardqp.estimators.resampling import Bootstrap, bootstrap, split_inference
from cardqp.exceptions import NotSolvedError, optional
from cardqp.gram import (
    Moments,
    merge,
)
from cardqp.pipeline.solve import solve
from cardqp.problem import validation as check
from cardqp.regression import Design
from cardqp.regression.design_settings import read_sparsities, sizes_up_to
from cardqp.regression.inference import Inference, classical
from cardqp.solution import Solution, Status
from cardqp.subsets.folds import cross_validated
from cardqp.subsets.measures import CHOICES, ChoiceName, gap_of
from cardqp.subsets.result import Subsets
from cardqp.subsets.search import best_subsets


@did_you_mean
@dataclass(eq=False, repr=False)
class BestSubset(AccumulatingModel):
    """Least squares with the best subset of features, whose size a criterion chooses.

    For each size the best subset of all is found, with a proof: no greedy search, and
    no ridge.  Features that are linearly dependent are not chosen together.  It may be
    that none is worth it: the intercept alone is the model of size 0.

    Parameters
    ----------
    max_size : int
        The most features; blocks count once.
    n_nonzero_coefs : int, optional
        How many features are chosen, in place of a criterion that chooses among sizes.
    criterion : {"bic", "aic", "aicc", "ebic", "cp", "adjusted_r2", "cv"}
        What chooses the size: an information criterion, Mallows' Cp, the adjusted R2,
        or the error in cross-validation.
    n_best : int
        How many subsets of each size are in ``table_``.
    cv : int, splitter or iterable, optional
        Folds for ``criterion="cv"``, as in scikit-learn; 5 by default.
    fit_intercept : bool
        Whether to fit an intercept.
    always_include : sequence, optional
        Features that are chosen in any case, by index or name, or a mask.  They count.
    blocks : sequence or dict by name, optional
        Features with the same label are chosen together and count once; None for a
        feature of its own.
    gap : float
        Relative gap at which a subset counts as proved.
    time_limit : float or None
        Seconds; larger sizes are left out if time is up.

    Attributes
    ----------
    coef_, intercept_, support_, n_features_in_, feature_names_in_, objective_, \
lower_bound_, gap_, status_, n_iter_, solution_
        As for :class:`SparseRidge`, of the chosen subset.
        What the search of all subsets proves counts, too, where the certificate of
        ``solution_`` proves less; of nearly perfect fits, gaps are relative to a
        millionth of the target's variance, for what is left is rounding.
    n_nonzero_coefs_ : int
        Its size.
    subsets_ : Subsets
        The best subsets of all sizes: print it, or ``subsets_.plot()``.
    cv_errors_ : (sizes, folds) array
        Mean squared errors on folds that were left out, if ``criterion="cv"``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 20))
    >>> y = 3 * X[:, 4] - 2 * X[:, 7] + rng.standard_normal(100)
    >>> BestSubset(max_size=5).fit(X, y).support_
    array([4, 7])
    """

    max_size: int = 8
    _: KW_ONLY
    n_nonzero_coefs: int | None = None
    criterion: ChoiceName = "bic"
    n_best: int = 1
    cv: Any = None

    @property
    def table_(self) -> Any:
        """A DataFrame with a row for each size and rank, with all measures."""
        return self.subsets_.table

    @property
    def _is_cross_validated(self) -> bool:
        return self.criterion == "cv" and self.n_nonzero_coefs is None

    def _takes_rows_later(self) -> bool:
        if self._is_cross_validated:
            raise AttributeError("Folds for `criterion='cv'` need all rows at once.")
        return True

    def _choose(self, sample: Sample, callback: Callback | None) -> Choice:
        if not self._is_cross_validated:
            return super()._choose(sample, callback)
        sizes = self._sizes(sample.design)
        parts = sample.parts(folds_of(self.cv, sample))
        with Watch(self.time_limit, callback) as watch:
            found = cross_validated(
                parts,
                sample.design,
                sizes,
                n_best=self.n_best,
                gap=self.gap,
                watch=watch,
            )
        self.cv_errors_ = found.fold_errors
        return self._chosen(found, merge(parts), sample.design, watch)

    def _solve(
        self, design: Design, rows: Moments, callback: Callback | None = None
    ) -> Choice:
        with Watch(self.time_limit, callback) as watch:
            found = best_subsets(
                rows,
                design,
                self._sizes(design),
                n_best=self.n_best,
                criterion="bic" if self.criterion == "cv" else self.criterion,
                gap=self.gap,
                watch=watch,
            )
        return self._chosen(found, rows, design, watch)

    def _sizes(self, design: Design) -> tuple[int, ...]:
        """The sizes that are searched."""
        check.one_of("criterion", self.criterion, CHOICES)
        check.count("n_best", self.n_best)
        if self.n_nonzero_coefs is not None:
            return read_sparsities([self.n_nonzero_coefs], design)
        check.count("max_size", self.max_size)
        return sizes_up_to(self.max_size, design, 0)

    def _chosen(
        self,
        found: Subsets,
        rows: Moments,
        design: Design,
        watch: Watch,
    ) -> Choice:
        """The chosen subset as the certified solution of a problem."""
        subset = found.best()
        self.subsets_, self.n_nonzero_coefs_ = found, subset.size
        scaled = design.scaled(rows, np.inf, subset.size)
        self._fitted = rows, subset
        x = subset.coef * scaled.scale
        # Where zero is bound enough, no long search is needed for another one.
        is_perfect = gap_of(subset.rss, 0.0, rows.weight * rows.power) <= self.gap
        solution = solve(
            scaled.problem,
            gap=self.gap,
            time_limit=watch.seconds_left,
            node_limit=1 if is_perfect else None,
            start=x,
        )
        worst = max(found.fold_gap, *(each.gap for each in found if each.rank == 1))
        return scaled, _at(solution, x), np.inf, worst

    def _told(self, solution: Solution) -> Solution:
        """What the search of all subsets proves, if that is more."""
        rows, subset = self._fitted
        told, mean = super()._told(solution), subset.rss / rows.weight
        bound = max(told.lower_bound, subset.lower_bound / rows.weight)
        gap = gap_of(mean, min(bound, mean), rows.power)
        return replace(told, objective=mean, lower_bound=min(bound, mean), gap=gap)

    def _missing(self, gap: float) -> list[str]:
        found, missing = self.subsets_, super()._missing(gap)
        last, largest = found.sizes[-1], self._sizes(self._design())[-1]
        if found.stop.is_early and last < largest:
            missing.append(f"sizes above {last} are missing: {found.stop.value}")
        return missing

    def inference(self, level: float = 0.95) -> Inference:
        """Coefficients with classical standard errors, which ignore the choice.

        Parameters
        ----------
        level : float
            Of confidence intervals.
        """
        check_is_fitted(self)
        rows, subset = self._fitted
        names = subset.features
        return classical(rows, subset.support, subset.coef, names, level=level)

    def report(
        self,
        path: str | PathLike[str],
        X: ArrayLike | None = None,
        y: Any = None,
        *,
        title: str | None = None,
    ) -> None:
        """Write a page about the best subsets of all sizes.

        It is HTML that needs no other file.

        Parameters
        ----------
        path : path
            Where to write it.
        X, y : None
            The page has no place for other rows.
        title : str, optional
            The headline.
        """
        from cardqp.estimators.reporting import page_of_subsets

        check_is_fitted(self)
        check.demand(X is None and y is None, "X", "must be left out", X)
        storage.write_text(path, page_of_subsets(self, title))

    def bootstrap(self, X: ArrayLike, y: ArrayLike, **settings: Any) -> Bootstrap:
        """Repeat choice and fit on resamples of the rows.

        Parameters
        ----------
        X, y : arrays
            The data.
        **settings
            As for :func:`cardqp.estimators.bootstrap`.
        """
        return bootstrap(self, X, y, **settings)

    def split_inference(self, X: ArrayLike, y: ArrayLike, **settings: Any) -> Inference:
        """Choose features by one part of the rows, and infer from the other.

        Parameters
        ----------
        X, y : arrays
            The data.
        **settings
            As for :func:`cardqp.estimators.split_inference`.
        """
        return split_inference(self, X, y, **settings)

    def to_statsmodels(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Any:
        """The fit of the chosen features as statsmodels has it.

        Parameters
        ----------
        X, y, sample_weight : arrays
            The data.

        Returns
        -------
        statsmodels RegressionResults
            Of ``OLS``, or of ``WLS`` with weights.

        Raises
        ------
        NotSolvedError
            When there is neither a feature nor an intercept.
        """
        check_is_fitted(self)
        models = optional(
            "statsmodels.api", "A fit of statsmodels needs statsmodels", "statsmodels"
        )
        pandas = optional("pandas", "A fit of statsmodels needs pandas", "statsmodels")
        names = list(self.get_feature_names_out())
        if not (names or self.fit_intercept):
            raise NotSolvedError("There is nothing to fit: no feature was chosen.")
        X, target = self._checked(X, y, reset=False)
        values = check.real_array("X", X[:, self.support_], 2)
        chosen = pandas.DataFrame(values, columns=names)
        if self.fit_intercept:
            chosen = models.add_constant(chosen, has_constant="add")
        if sample_weight is None:
            return models.OLS(target, chosen).fit()
        return models.WLS(target, chosen, weights=np.asarray(sample_weight)).fit()


def _at(solution: Solution, x: FloatArray) -> Solution:
    """A solution at another point that is as good: that of the table, among equals."""
    problem = solution.problem
    objective = problem.objective(x)
    gap = relative_gap(problem, x, objective, solution.lower_bound)
    is_optimal = solution.status is Status.OPTIMAL and gap <= solution.tolerance
    return replace(
        solution,
        x=x,
        support=np.flatnonzero(x),
        objective=objective,
        gap=gap,
        status=Status.OPTIMAL if is_optimal else Status.FEASIBLE,
    )
