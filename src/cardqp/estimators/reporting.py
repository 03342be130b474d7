"""From a fitted estimator to its page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from cardqp._iterate import Stop
from cardqp._typing import FloatArray
from cardqp.estimators._sklearn import r2_score
from cardqp.estimators.linear_model import Sample
from cardqp.estimators.rivals import Arena, arena
from cardqp.exceptions import NotSolvedError, ProblemError
from cardqp.gram import moments
from cardqp.pipeline.alternatives import Alternatives
from cardqp.pipeline.hierarchy import Hierarchy, hierarchy
from cardqp.pipeline.path import Path, path
from cardqp.problem import SparseQP
from cardqp.regression.design_settings import is_automatic
from cardqp.report import (
    Alternative,
    Correlations,
    CVCurve,
    Feature,
    Predictions,
    ReportData,
    SubsetsData,
    regression_report,
    subsets_report,
)
from cardqp.report.versions import versions
from cardqp.solution.trace import Trace

PERCENT, MOST = 5.0, 12
"""Other choices that are listed: how much worse, and how many at most."""

PATIENCE = 10.0
"""Seconds for other choices, and for all sizes of the path, if these are only for the
page."""

MOST_DECOMPOSED, LEVEL_PATIENCE = 200, 3.0
"""The most features, and the seconds, for the levels of the hierarchy on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where data are from: what no model knows of itself.

    Attributes
    ----------
    title, source, target, command : str
        As for :class:`cardqp.report.ReportData`.
    notes : sequence of str
        What was done to the data.
    """

    title: str
    source: str
    target: str
    command: str
    notes: Sequence[str] = ()

    def to_dict(self) -> Mapping[str, Any]:
        """The arguments of a page about it."""
        return {
            "title": self.title,
            "source": self.source,
            "target": self.target,
            "command": self.command,
            "notes": tuple(self.notes),
            "date": date.today().isoformat(),
            "versions": versions(),
        }


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model with the rows of the fit, and rows to judge it by.

    Attributes
    ----------
    model : SparseRidge, SparseRidgeCV or SparseRidgePath
        The model.
    sample : Sample
        The rows that it was fitted to.
    test : pair of arrays, or None
        Features and target of other rows.
    trace : Trace or None
        How its problem was solved.
    names : tuple of str
        Names of all features.
    """

    model: Any
    sample: Sample
    names: tuple[str, ...]
    test: tuple[Any, FloatArray] | None = None
    trace: Trace | None = None

    @property
    def size(self) -> int:
        """The most features that the model may have, or blocks of them."""
        chosen = getattr(self.model, "n_nonzero_coefs_", self.model.n_nonzero_coefs)
        return int(chosen)

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody wanted an end: nothing new is begun then."""
        return self.model.solution_.stop is Stop.INTERRUPTED

    @property
    def is_refitted(self) -> bool:
        """Whether there was a ridge that was dropped in the end."""
        return bool(self.model.refit) and bool(np.isfinite(self.model.eta_))

    @cached_property
    def arena(self) -> Arena:
        """Where the model and others are compared."""
        test = None
        if self.test is not None:
            test = moments(*self.test)
        return arena(
            self.sample,
            getattr(self.model, "cv", None),
            test,
            eta=self.model.eta_,
            size=self.size,
            refit=self.is_refitted,
        )

    def r2_in_sample(self) -> float:
        """R2 on the rows of the fit."""
        sample = self.sample
        return self._r2(sample.X, sample.y, sample.weights)

    def r2_by_folds(self) -> float | None:
        """R2 by cross-validation for the size that was chosen; None without folds."""
        curve = self._curve()
        if curve is not None:
            return 1.0 - curve.error_of_chosen / (self.sample.spread or 1.0)
        return None if self.is_interrupted else self.arena.own_r2()

    def r2_out_of_sample(self) -> tuple[float | None, str]:
        """R2 on rows that were left out, or by cross-validation; and which it is."""
        if self.test is not None:
            X, y = self.test
            return self._r2(X, y), f"{len(y):,} rows"
        value = self.r2_by_folds()
        return value, "" if value is None else self._folds

    @property
    def _folds(self) -> str:
        """What was chosen anew in each fold, and what was not."""
        n_folds = f"{len(self.arena.parts)}-fold cross-validation"
        if hasattr(self.model, "cv_results_"):
            return f"{n_folds}, which chose the size as well"
        chosen = "features but not the ridge" if self.is_automatic else "features"
        return f"{n_folds}, {chosen} being chosen in each fold"

    @property
    def is_automatic(self) -> bool:
        """Whether the rows of the fit chose the ridge."""
        return is_automatic(self.model.eta)

    def page_data(
        self, origin: Origin, others: Alternatives | None = None
    ) -> ReportData:
        """All that there is to tell; other choices are sought unless they are known."""
        model = self.model
        if others is None and not self.is_interrupted:
            others = model.alternatives(PERCENT, max_count=MOST, time_limit=PATIENCE)
        outside, judged_by = self.r2_out_of_sample()
        return ReportData(
            **origin.to_dict(),
            n_samples=len(self.sample.y),
            n_features=len(self.names),
            solution=model.solution_,
            features=self._features(),
            intercept=float(model.intercept_),
            r2_in_sample=self.r2_in_sample(),
            r2_out_of_sample=outside,
            judged_by=judged_by,
            eta=float(model.eta_),
            is_automatic=self.is_automatic,
            is_standardized=self.sample.design.standardize,
            is_refitted=self.is_refitted,
            rivals=() if self.is_interrupted else self.arena.rivals(),
            correlations=self._correlations(),
            path=self._path(),
            cv=self._curve(),
            trace=self.trace,
            predictions=self._predictions(),
            hierarchy=self._hierarchy(),
            alternatives=() if others is None else _alternatives(others),
            alternatives_note="" if others is None else others.claim,
        )

    def _features(self) -> tuple[Feature, ...]:
        model, summary, rows = self.model, self.model.summary(), self._chosen_rows()
        coef = model.coef_[model.support_]
        refitted = summary.coef_refit if np.isfinite(model.eta_) else coef
        names = [self.names[j] for j in model.support_]
        columns = (coef, refitted, rows.mean, np.sqrt(rows.variance), summary.worth)
        return tuple(
            Feature(name, *map(float, numbers))
            for name, *numbers in zip(names, *columns, strict=True)
        )

    def _chosen_rows(self) -> Any:
        """Moments of the chosen features about their means."""
        sample = self.sample
        chosen = sample.X[:, self.model.support_]
        chosen = np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen)
        return moments(chosen, sample.y, sample.weights)

    def _correlations(self) -> Correlations | None:
        support = self.model.support_
        if len(support) == 0:
            return None
        rows = self._chosen_rows()
        deviation = np.sqrt(rows.variance)
        unit = np.where(deviation > 0, deviation, 1.0)
        matrix = rows.block(np.arange(len(support))) / np.multiply.outer(unit, unit)
        names = tuple(self.names[j] for j in support)
        return Correlations(names, tuple(map(tuple, matrix.tolist())))

    def _path(self) -> Path | None:
        known = getattr(self.model, "path_", None)
        if isinstance(known, Path) and len(known) > 1:
            return known
        if self.is_interrupted:
            return None
        own = self.model.solution_
        least = max(own.problem.rule.count(own.problem.forced_in), 1)
        smaller = range(least, self.size)
        if not smaller:
            return Path((self.size,), (own,))
        limit = PATIENCE / len(smaller)
        found = path(own.problem, smaller, gap=self.model.gap, time_limit=limit)
        return Path((*found.sparsities, self.size), (*found.solutions, own))

    def _hierarchy(self) -> Hierarchy | None:
        problem = self.model.solution_.problem
        if self.is_interrupted or problem.n > MOST_DECOMPOSED:
            return None
        return hierarchy(problem, gap=self.model.gap, time_limit=LEVEL_PATIENCE)

    def _curve(self) -> CVCurve | None:
        results = getattr(self.model, "cv_results_", None)
        if results is None:
            return None
        is_own = np.isclose(results["eta"], self.model.eta_)
        is_done = np.isfinite(results["mean_error"]) & is_own
        names = ("n_nonzero_coefs", "mean_error", "standard_error")
        sizes, errors, deviations = (results[name][is_done] for name in names)
        return CVCurve(
            tuple(int(size) for size in sizes),
            tuple(errors.tolist()),
            tuple(deviations.tolist()),
            self.size,
            RULES[self.model.selection],
        )

    def _predictions(self) -> Predictions:
        """Of the rows that were left out, or else of all."""
        X, y = (self.sample.X, self.sample.y) if self.test is None else self.test
        return Predictions(tuple(y.tolist()), tuple(self._predicted(X).tolist()))

    def _predicted(self, X: Any) -> FloatArray:
        """The model's values for features that were checked."""
        return np.asarray(X @ self.model.coef_ + self.model.intercept_)

    def _r2(self, X: Any, y: FloatArray, weights: FloatArray | None = None) -> float:
        """The share of the target's variance that the model explains."""
        return float(r2_score(y, self._predicted(X), sample_weight=weights))


def page_of(model: Any, test: tuple[Any, FloatArray] | None, title: str | None) -> str:
    """The page about a model that was fitted in Python."""
    if getattr(model, "_fitted_rows", None) is None:
        raise NotSolvedError(
            "A page needs the rows of the fit, which neither `partial_fit` nor pickles "
            "keep: call `fit` first."
        )
    sample, target = model._fitted_rows
    problem = model.solution_.problem
    names = tuple(problem.name_of(j) for j in range(problem.n))
    origin = Origin(
        title=title or f"{target}: a model of {len(model.support_)} features",
        source="Python",
        target=target,
        command=f"{model!r}.fit(X, y)",
    )
    fitted = FittedModel(model, sample, names, test)
    return regression_report(fitted.page_data(origin))


def page_of_subsets(model: Any, title: str | None) -> str:
    """The page about the best subsets that were searched in Python."""
    subsets = model.subsets_
    rows, _ = model._fitted
    _, target = getattr(model, "_fitted_rows", None) or (None, "y")
    try:
        inference = model.inference()
    except ProblemError:
        inference = None  # there are too few rows for standard errors
    origin = Origin(
        title=title or f"{target}: the best subsets of {len(subsets.names)} features",
        source="Python",
        target=target,
        command=f"{model!r}.fit(X, y)",
        notes=subsets.notes,
    )
    return subsets_report(
        SubsetsData(
            **origin.to_dict(),
            n_samples=subsets.n_samples,
            n_features=len(subsets.names),
            subsets=subsets,
            is_centred=rows.is_centred,
            inference=inference,
        )
    )


RULES = {
    "min": "The size with the least mean error was taken.",
    "one-standard-error": "The smallest size within a standard error of the least "
    "mean error was taken.",
}
"""Why a size was taken."""


def _alternatives(others: Alternatives) -> tuple[Alternative, ...]:
    problem, best = others.problem, set(others.supports[0].tolist())
    rows = []
    listed = zip(others.solutions, others.excess, others.supports, strict=True)
    for rank, (solution, excess, support) in enumerate(listed, start=1):
        own = set(support.tolist())
        leaves, enters = _names(problem, best - own), _names(problem, own - best)
        rows.append(Alternative(rank, solution.objective, excess, leaves, enters))
    return tuple(rows[1:])


def _names(problem: SparseQP, columns: set[int]) -> tuple[str, ...]:
    return tuple(problem.name_of(j) for j in sorted(columns))
