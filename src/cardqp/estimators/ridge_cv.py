"""Size and ridge by cross-validation, with one pass over the rows."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any, get_args

import numpy as np

from cardqp._iterate import Callback
from cardqp._keywords import did_you_mean
from cardqp.estimators._sklearn import Parallel, delayed, get_active_backend
from cardqp.estimators.folds import folds_of
from cardqp.estimators.linear_model import Choice, Sample, SparseLinearModel
from cardqp.gram import merge, moments_of_parts
from cardqp.pipeline.path import Path
from cardqp.problem import validation as check
from cardqp.regression import CrossValidation, cross_validate
from cardqp.regression.cross_validation import SelectionName
from cardqp.regression.design_settings import read_etas, read_sparsities


@did_you_mean
@dataclass(eq=False, repr=False)
class SparseRidgeCV(SparseLinearModel):
    """Sparse ridge regression whose size and ridge are cross-validated.

    Every model of every fold is certified.  Rows are read once: folds share their
    moments, from which models are fitted and judged.

    Parameters
    ----------
    n_nonzero_coefs : iterable of int, optional
        Sizes of models, 1 to 20 by default; those beyond the number of features are
        left out.
    eta : "auto", float, None or a sequence of these
        The ridge is ``1/eta``; one value or several to choose from.  None means no
        ridge.
    cv : int, splitter or iterable
        As in scikit-learn, 5 folds by default.  The folds must not overlap and must
        hold every row, as those of ``KFold`` do.
    selection : {"min", "one-standard-error"}
        The least mean squared error; or the smallest model within one standard error of
        it.
    time_limit : float or None
        Seconds for everything; what easy fits leave over goes to the others.
    fit_intercept, standardize, positive, coef_bounds, always_include, groups, method, \
gap, random_state, refit
        As for :class:`SparseRidge`.  With ``refit`` errors, too, are those of
        coefficients without the ridge.
    n_jobs : int or None
        Processes that fit folds at the same time, as in scikit-learn; with
        ``joblib.parallel_config("dask")`` the workers of a cluster.  The callback then
        sees the models on all rows only.

    Attributes
    ----------
    n_nonzero_coefs_, eta_ : int and float
        What was chosen.
    cv_results_ : dict
        ``"eta"``, ``"n_nonzero_coefs"``, ``"mean_error"``, ``"standard_error"``,
        ``"largest_gap"``: one entry for each model of the grid; and ``"errors"``, with
        one column per fold.  Entries are NaN where the search was stopped.
    path_ : Path
        The certified solutions on all rows with the chosen ridge, in scaled units.
    coef_, intercept_, support_, objective_, lower_bound_, gap_, status_, n_iter_, \
solution_
        Those of the chosen model on all rows, see :class:`SparseRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 20))
    >>> y = 3 * X[:, 4] - 2 * X[:, 7] + rng.standard_normal(100)
    >>> SparseRidgeCV(range(1, 6), selection="one-standard-error").fit(X, y).support_
    array([4, 7])
    """

    n_nonzero_coefs: Iterable[int] | None = None
    _: KW_ONLY
    cv: Any = None
    selection: SelectionName = "min"
    time_limit: float | None = 600.0
    n_jobs: int | None = None

    def _choose(self, sample: Sample, callback: Callback | None) -> Choice:
        """Cross-validate, choose, and take the chosen model of all rows."""
        check.one_of("selection", self.selection, get_args(SelectionName))
        design = sample.design
        sizes = read_sparsities(self.n_nonzero_coefs, design)
        parts = moments_of_parts(
            sample.X,
            sample.y,
            sample.weights,
            folds_of(self.cv, sample),
            centred=sample.is_centred,
        )
        whole = merge(parts)
        etas = read_etas(self.eta)
        with self._sharing() as share:
            found = cross_validate(
                parts,
                design,
                sizes,
                etas,
                method=self._solver,
                gap=self.gap,
                time_limit=self.time_limit,
                callback=callback,
                refit=bool(self.refit),
                share=share,
            )
        i, j = found.best(self.selection)
        self.cv_results_ = _table(found)
        self.n_nonzero_coefs_ = found.sparsities[j]
        reached = found.solutions[i]
        self.path_ = Path(found.sparsities[: len(reached)], reached)
        scaled = design.scaled(whole, found.etas[i], found.sparsities[j])
        worst = float(np.nanmax(found.gaps))
        return scaled, reached[j], found.etas[i], worst

    @contextmanager
    def _sharing(self) -> Iterator[Any]:
        """A function that runs the fits of several folds in parallel, or None."""
        if self.n_jobs is None and get_active_backend()[1] == 1:
            yield None
            return
        with Parallel(n_jobs=self.n_jobs) as parallel:
            yield lambda fits: parallel(delayed(fit)() for fit in fits)


def _table(found: CrossValidation) -> dict[str, Any]:
    """The grid as columns."""
    etas, sizes = np.meshgrid(found.etas, found.sparsities, indexing="ij")
    return {
        "eta": etas.ravel(),
        "n_nonzero_coefs": sizes.ravel(),
        "mean_error": found.mean_errors.ravel(),
        "standard_error": found.standard_errors.ravel(),
        "largest_gap": found.gaps.max(axis=2).ravel(),
        "errors": found.errors.reshape(etas.size, -1),
    }
