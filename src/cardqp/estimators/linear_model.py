"""The base of all estimators: checks of data, the fitted model, predictions."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cardqp import storage
from cardqp._iterate import Callback
from cardqp._keywords import NamedParameters
from cardqp._typing import ArrayLike, BoolArray, FloatArray, IntArray
from cardqp.estimators._sklearn import (
    BaseEstimator,
    ConvergenceWarning,
    RegressorMixin,
    SelectorMixin,
    _check_sample_weight,
    check_is_fitted,
    check_random_state,
    validate_data,
)
from cardqp.exceptions import NotSolvedError
from cardqp.gram import Moments, moments, moments_of_parts
from cardqp.methods import Method
from cardqp.methods.block_decomposition import BlockDecomposition
from cardqp.problem import validation as check
from cardqp.regression import (
    Design,
    ScaledProblem,
    Summary,
    about_error,
    summarise,
)
from cardqp.regression.design_settings import is_automatic, read_design
from cardqp.solution import Solution, Status
from cardqp.solution.verification import LARGEST_GAP

if TYPE_CHECKING:
    from cardqp.pipeline.alternatives import Alternatives


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Data that was checked, with what is asked of a model of it."""

    X: Any
    y: FloatArray
    weights: FloatArray | None
    design: Design
    is_centred: bool

    def moments(self) -> Moments:
        """Moments of all rows."""
        return moments(self.X, self.y, self.weights, centred=self.is_centred)

    def parts(self, folds: Sequence[IntArray]) -> list[Moments]:
        """Moments of folds."""
        X, y, weights = self.X, self.y, self.weights
        return moments_of_parts(X, y, weights, folds, centred=self.is_centred)

    @property
    def spread(self) -> float:
        """Variance of the target."""
        mean = np.average(self.y, weights=self.weights)
        return float(np.average((self.y - mean) ** 2, weights=self.weights))


Choice = tuple[ScaledProblem, Solution, float, float]
"""A problem, its solution, which is the model, the ridge that was used as its inverse,
and the largest gap among other models that were compared with it."""


@dataclass(eq=False, repr=False, kw_only=True)
class LinearModel(NamedParameters, SelectorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear model with few features that can predict, select and explain itself.

    Estimators derive from it; they bring ``_choose`` and settings of their own.
    """

    fit_intercept: bool = True
    always_include: Any = None
    blocks: Any = None
    gap: float = 1e-4
    time_limit: float | None = 60.0

    _remedy = "raise `time_limit` or `gap`"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Choose features and fit their coefficients.

        Parameters
        ----------
        X : (N, n) array, DataFrame or sparse matrix
            One row per sample.
        y : (N,) array
            The target.
        sample_weight : (N,) array, optional
            Weights of the samples, not negative.
        callback : callable, optional
            Called with a :class:`cardqp.Progress`; True stops, as Ctrl-C does, with the
            best model so far.
        """
        sample = self._sample(X, y, sample_weight)
        self._keep(sample.design, sample.spread, *self._choose(sample, callback))
        name = str(getattr(y, "name", None) or "y")
        self._fitted_rows: tuple[Sample, str] | None = sample, name
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the model without the rows of the fit."""
        state = dict(super().__getstate__())
        state.pop("_fitted_rows", None)
        return state

    def _choose(self, sample: Sample, callback: Callback | None) -> Choice:
        """Find the model of a sample; every estimator has a way of its own."""
        raise NotImplementedError

    def _design(self) -> Design:
        """Settings that do not depend on the rows, once the features are known."""
        return read_design(
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            always_include=self.always_include,
            blocks=self.blocks,
        )

    def _coefficients(
        self, design: Design, scaled: ScaledProblem, x: FloatArray
    ) -> FloatArray:
        """Coefficients of the chosen features, in the units of the data."""
        return design.refitted(scaled.rows, scaled.chosen(x))

    def _sample(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: Any,
        *,
        is_first: bool = True,
        least: int = 2,
    ) -> Sample:
        """Check the data and read the settings that depend on it.

        Rows that are not the first must have the columns of those before; ``least`` of
        them are needed.
        """
        check.refuse_masked(sample_weight=sample_weight)
        X, y = self._checked(X, y, ensure_min_samples=least, reset=is_first)
        y = np.asarray(y, dtype=np.float64)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            check.real_array("sample_weight", weights, 1)
        return Sample(X, y, weights, self._design(), bool(self.fit_intercept))

    def _checked(self, X: Any, y: Any = "no_validation", **settings: Any) -> Any:
        """Features as numbers, with the target if one is given."""
        check.refuse_masked(X=X, y=y)
        check.refuse_texts(X, None if isinstance(y, str) else y)
        if not isinstance(y, str):
            settings["y_numeric"] = True
        return validate_data(
            self, X, y, accept_sparse=("csr", "csc"), dtype=np.float64, **settings
        )

    def _keep(
        self,
        design: Design,
        spread: float,
        scaled: ScaledProblem,
        solution: Solution,
        eta: float,
        worst: float,
    ) -> None:
        """Store a solution as the model, and say so if something is not proved.

        ``spread`` is the variance of the target; the others are a ``Choice``.
        """
        if solution.x is None:
            raise NotSolvedError(
                f"{solution.status.name}: {solution.status.value}; {solution.advice}."
            )
        told = self._told(solution)
        chosen = scaled.chosen(solution.x)
        coef = self._coefficients(design, scaled, solution.x)
        self.coef_ = coef
        self.intercept_ = scaled.intercept(coef)
        self.support_ = chosen
        self.objective_ = told.objective
        self.lower_bound_ = told.lower_bound
        self.gap_ = told.gap
        is_proved = told.gap <= min(self.gap, LARGEST_GAP)
        self.status_ = (Status.OPTIMAL if is_proved else solution.status).name
        self.n_iter_ = solution.n_nodes
        self.eta_ = eta
        self.solution_ = solution
        self._summary = summarise(
            design,
            scaled.rows,
            scaled.coefficients(solution.x),
            chosen,
            self.get_feature_names_out(),
            spread,
        )
        # Others are squared errors, too.
        if missing := self._missing(max(min(worst, 1.0), told.gap)):
            message = f"{'; '.join(missing)}; {self._remedy}."
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def _told(self, solution: Solution) -> Solution:
        """What is told of the proof: of errors, more is known than certificates do."""
        return about_error(solution)

    def _missing(self, gap: float) -> list[str]:
        """What to warn of, if models are proved up to a gap."""
        if gap <= self.gap:
            return []
        words = f"the choice of features is proved only up to a gap of {gap:.2e}"
        return [f"{words}, not {self.gap:.2e}"]

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    def predict(self, X: ArrayLike) -> FloatArray:
        """The model's values.

        Parameters
        ----------
        X : (N, n) array, DataFrame or sparse matrix
            One row per sample.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return np.asarray(X @ self.coef_ + self.intercept_)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None) -> float:
        """The share of the target's variance that the model explains, R2.

        Parameters
        ----------
        X, y : arrays
            Features and target.
        sample_weight : (N,) array, optional
            Weights of the rows.
        """
        check.refuse_masked(y=y, sample_weight=sample_weight)
        check.refuse_texts(X, y)
        return float(super().score(X, y, sample_weight))

    def transform(self, X: ArrayLike) -> Any:
        """The columns of the features that were chosen.

        Parameters
        ----------
        X : (N, n) array, DataFrame or sparse matrix
            One row per sample.
        """
        check.refuse_masked(X=X)
        return super().transform(X)

    def summary(self, X: ArrayLike | None = None, y: Any = None) -> Summary:
        """Coefficients with and without the ridge, what each is worth, and R2.

        Parameters
        ----------
        X, y : arrays, optional
            Rows that were not used in the fit, for R2 out of sample.
        """
        check_is_fitted(self)
        if X is None:
            return self._summary
        X, y = self._checked(X, y, reset=False)
        return self._summary.on(moments(X, y.astype(np.float64)), self.support_)

    def alternatives(
        self,
        percent: float = 5.0,
        *,
        max_count: int = 20,
        time_limit: float | None = 60.0,
    ) -> "Alternatives":
        """Other choices of features that are nearly as good, with proof.

        Parameters
        ----------
        percent : float
            How much larger their objective may be.
        max_count, time_limit
            As for :func:`cardqp.alternatives`.
        """
        from cardqp.pipeline.alternatives import alternatives

        check_is_fitted(self)
        return alternatives(
            self.solution_,
            percent,
            max_count=max_count,
            gap=self.gap,
            time_limit=time_limit,
        )

    def report(
        self,
        path: str | PathLike[str],
        X: ArrayLike | None = None,
        y: Any = None,
        *,
        title: str | None = None,
    ) -> None:
        """Write a page about the model: what was chosen, and what is proved of it.

        It is HTML that needs no other file.  Models of other sizes and other choices
        are sought for it, for at most 20 seconds.

        Parameters
        ----------
        path : path
            Where to write it.
        X, y : arrays, optional
            Rows that were not used in the fit, which then judge the model; by default
            cross-validation does, with features chosen anew in each fold.
        title : str, optional
            The headline.

        Raises
        ------
        NotSolvedError
            If the rows of the fit are not at hand: they are not kept by
            ``partial_fit``, nor in pickles.
        """
        from cardqp.estimators.reporting import page_of

        check_is_fitted(self)
        test = None
        if X is not None:
            X, y = self._checked(X, y, reset=False)
            test = X, np.asarray(y, dtype=np.float64)
        storage.write_text(path, page_of(self, test, title))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class SparseLinearModel(LinearModel):
    """A linear model with few features and a ridge."""

    eta: Any = "auto"
    standardize: bool = False
    positive: bool = False
    coef_bounds: Any = None
    method: str | Method = "exact"
    random_state: Any = None
    refit: bool = False

    _remedy = "raise `time_limit` or `gap`, or lower `eta`"

    def _design(self) -> Design:
        return read_design(
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            always_include=self.always_include,
            blocks=self.blocks,
            standardize=self._is_standardized,
            coef_bounds=self.coef_bounds,
            positive=self.positive,
        )

    def _coefficients(
        self, design: Design, scaled: ScaledProblem, x: FloatArray
    ) -> FloatArray:
        if self.refit:
            return super()._coefficients(design, scaled, x)
        return scaled.coefficients(x)

    @property
    def _is_standardized(self) -> bool:
        """Whether features are scaled; without a ridge that is for accuracy only."""
        return bool(self.standardize or is_automatic(self.eta) or self.eta is None)

    @property
    def _solver(self) -> Any:
        """The method, with a seed if it draws at random."""
        if self.method != "block-decomposition":
            return self.method
        state = check_random_state(self.random_state)
        return BlockDecomposition(seed=int(state.randint(2**31 - 1)))
