"""Models that one with few features is compared with: all features, and the lasso's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.estimators._sklearn import KFold
from cardqp.estimators.folds import folds_of
from cardqp.estimators.linear_model import Sample
from cardqp.gram import (
    Moments,
    RowMoments,
    mean_squared_error,
    merge,
    moments_of_parts,
    unit_scale,
)
from cardqp.problem.quadratic import Factor
from cardqp.regression import Design
from cardqp.regression.out_of_sample import choose_quickly, out_of_sample_errors
from cardqp.report import Rival
from cardqp.subproblems.support_qp import fit_support

RIDGES = tuple(float(eta) for eta in 10.0 ** np.arange(-3.0, 5.5, 0.5))
"""Ridges on all features, as their inverses, for features of unit variance."""

MOST = 2000
"""The largest number of rows or columns, whichever is less, for other models."""

MOST_ENTRIES = 1e8
"""Larger tables are not read again for cross-validation: seconds for each model."""

RIDGE_NOTE = (
    f"The ridge on all features is the best of {len(RIDGES)} in cross-validation."
)
LASSO_NOTE = (
    "The features that the lasso takes first have coefficients as this model has them."
)

FOLDS = 5
"""The number of folds, unless the model has folds of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """Rows on which models are fitted, and rows on which they are judged.

    Attributes
    ----------
    parts : sequence of Moments
        Folds of the rows of the fit; a single one if there are too few rows.
    spread : float
        Variance of their target.
    design : Design
        What is asked of the model with few features.
    eta, size, refit
        Its ridge, the most features, and whether the ridge is dropped in the end.
    test : Moments or None
        Rows that were left out, which then judge.
    """

    parts: Sequence[Moments]
    spread: float
    design: Design
    eta: float
    size: int
    refit: bool
    test: Moments | None = None

    @property
    def is_cross_validated(self) -> bool:
        """Whether there are folds."""
        return len(self.parts) > 1

    def own_r2(self) -> float | None:
        """R2 of the model in cross-validation, its features chosen in every fold."""
        if not self.is_cross_validated:
            return None
        return self._r2(float(out_of_sample_errors(self.parts, self._chosen)[0]))

    def rivals(self) -> tuple[Rival, ...]:
        """The other models, as far as they are fitted in little time."""
        return tuple(self._rivals(merge(self.parts)))

    def _rivals(self, whole: Moments) -> Iterator[Rival]:
        n = len(whole.mean)
        if min(n, whole.n_samples) > MOST:
            return
        if self.is_cross_validated:
            errors = out_of_sample_errors(self.parts, ridge_path)
            coef = ridge_path(whole)[int(errors.argmin())]
            about = ("all features, with a ridge", n, RIDGE_NOTE)
            yield self._judged(*about, coef, float(errors.min()))
        if self._is_plain and self.size < n:
            [coef] = self._by_lasso(whole)
            error = None
            if self.is_cross_validated:
                [error] = out_of_sample_errors(self.parts, self._by_lasso)
            about = ("the first features of the lasso", self.size, LASSO_NOTE)
            yield self._judged(*about, coef, error)

    @property
    def _is_plain(self) -> bool:
        """Whether features are chosen one by one, without conditions."""
        design = self.design
        bounds = np.concatenate([design.lower, design.upper])
        return (
            design.blocks is None
            and len(design.forced_in) == 0
            and not np.isfinite(bounds).any()
        )

    def _chosen(self, rows: Moments) -> list[FloatArray]:
        quickly = choose_quickly(
            self.design, rows, self.eta, self.size, refit=self.refit
        )
        return [quickly]

    def _by_lasso(self, rows: Moments) -> list[FloatArray]:
        """Coefficients as the model has them, of features that the lasso takes."""
        support = first_of_lasso(rows, self.size)
        if self.refit:
            return [self.design.refitted(rows, support)]
        scaled = self.design.scaled(rows, self.eta, self.size)
        x = fit_support(scaled.problem, support).x
        return [np.zeros(len(rows.mean)) if x is None else scaled.coefficients(x)]

    def _judged(
        self,
        name: str,
        n_features: int,
        note: str,
        coef: FloatArray,
        error: float | None,
    ) -> Rival:
        """A model, with its error in cross-validation unless other rows judge."""
        whole = merge(self.parts)
        outside = None if error is None else self._r2(error)
        if self.test is not None:
            intercept = whole.target_mean - float(whole.mean @ coef)
            missed = mean_squared_error(self.test, coef, intercept)
            outside = 1.0 - missed / (self.test.power or 1.0)
        inside = self._r2(whole.mean_square(coef))
        return Rival(name, n_features, inside, outside, note)

    def _r2(self, error: float) -> float:
        return 1.0 - error / (self.spread or 1.0)


def arena(sample: Sample, cv: Any, test: Moments | None, **settings: Any) -> Arena:
    """The rows of a sample in folds, those of ``cv`` if it is not None."""
    folds, n_entries = [np.arange(len(sample.y))], float(np.prod(sample.X.shape))
    is_enough = cv is not None or len(sample.y) >= 2 * FOLDS
    if is_enough and n_entries <= MOST_ENTRIES:
        splitter = KFold(FOLDS, shuffle=True, random_state=0) if cv is None else cv
        folds = folds_of(splitter, sample)
    parts = moments_of_parts(
        sample.X, sample.y, sample.weights, folds, centred=sample.is_centred
    )
    return Arena(parts, sample.spread, sample.design, test=test, **settings)


def ridge_path(rows: Moments) -> list[FloatArray]:
    """Coefficients of all features for each of the ridges, features being scaled."""
    scale = unit_scale(rows)
    form, cross = rows.form(scale), rows.cross / scale
    if isinstance(form, Factor):
        _, singular, along = np.linalg.svd(form.array, full_matrices=False)
        values, vectors = singular**2, along.T
    else:
        values, vectors = np.linalg.eigh(form.array)
    inner = vectors.T @ cross
    return [
        vectors @ (inner / (np.maximum(values, 0.0) + 1.0 / eta)) / scale
        for eta in RIDGES
    ]


def first_of_lasso(rows: Moments, size: int) -> IntArray:
    """The first features, at most so many, that are nonzero along the lasso's path."""
    from sklearn.linear_model import lars_path, lars_path_gram

    scale, settings = unit_scale(rows), {"max_iter": 4 * size, "method": "lasso"}
    if isinstance(rows, RowMoments):
        _, _, path = lars_path(*rows.columns(scale), Gram=None, **settings)
    else:
        G, cross = rows.form(scale).array, rows.cross / scale
        _, _, path = lars_path_gram(cross, G, n_samples=1, **settings)
    counts = np.count_nonzero(path, axis=0)
    return np.flatnonzero(path[:, np.flatnonzero(counts <= size)[-1]])
