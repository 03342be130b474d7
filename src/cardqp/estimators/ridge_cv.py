"""Size and ridge by cross-validation, with one pass over the rows."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from cardqp._iterate import Callback, Stop, Watch
from cardqp._keywords import did_you_mean
from cardqp.estimators._sklearn import (
    ConvergenceWarning,
    Parallel,
    delayed,
    effective_n_jobs,
)
from cardqp.estimators.folds import folds_of
from cardqp.estimators.linear_model import Choice, Sample, SparseLinearModel
from cardqp.estimators.ridge_choice import solve_within
from cardqp.exceptions import NotSolvedError
from cardqp.gram import Moments, merge
from cardqp.heuristics.support_path import point_path
from cardqp.pipeline.path import Path
from cardqp.problem import validation as check
from cardqp.regression import (
    CrossValidation,
    Design,
    ScaledProblem,
    compare_models,
    cross_validate,
)
from cardqp.regression.cross_validation import SelectionName
from cardqp.regression.design_settings import (
    is_automatic,
    read_etas,
    read_sparsities,
    sizes_up_to,
)

ProofName = Literal["final", "all"]

NEAR_THE_END = 0.8
"""Larger models are tried if the best one is larger than this share of the largest."""

MOST_FEATURES = 100
"""The largest size that is tried if sizes are left to us."""

ROWS_PER_FEATURE = 4
"""No more features are tried then than rows over this; up to 20 are in any case."""


@did_you_mean
@dataclass(eq=False, repr=False)
class SparseRidgeCV(SparseLinearModel):
    """Sparse ridge regression whose size and ridge are cross-validated.

    Models of folds are good ones without proofs; the model that is chosen is certified.
    Rows are read once: folds share their moments, from which models are fitted and
    judged.

    Parameters
    ----------
    n_nonzero_coefs : iterable of int, optional
        Sizes of models; those beyond the number of features are left out.  By default
        1 to 20, and twice as many as long as the best is among the largest fifth, up
        to 100 or a quarter of the rows.
    eta : "auto", float, None or a sequence of these
        The ridge is ``1/eta``; one value or several to choose from.  ``"auto"`` stands
        for 1, 3, 10 and 30 with ``standardize=True``, of which the strongest ridge is
        taken whose best model is within half a standard error of the best of all.  None
        means no ridge.
    cv : int, splitter or iterable
        As in scikit-learn, 5 folds by default.  The folds must not overlap and must
        hold every row, as those of ``KFold`` do.
    selection : {"min", "one-standard-error"}
        The least mean squared error; or the smallest model within one standard error of
        it.
    prove : {"final", "all"}
        Whether the chosen model alone is certified, or those of all folds, too; sizes
        do not grow then, and it may take hundreds of times as long.
    time_limit : float or None
        Seconds for everything; what easy fits leave over goes to the others.
    fit_intercept, standardize, positive, coef_bounds, always_include, blocks, method, \
gap, random_state, refit
        As for :class:`SparseRidge`; ``method`` is that of proofs.  With ``refit``
        errors, too, are those of coefficients without the ridge.
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
        one column per fold.  Errors are NaN where the search was stopped, gaps infinite
        where nothing was proved.
    path_ : Path
        The certified solutions on all rows with the chosen ridge, in scaled units: that
        of the chosen size, or of all sizes with ``prove="all"``.
    notes_ : tuple of str
        What is missing if somebody stopped the comparison or time was up, and whether
        the size that was chosen is the largest that was asked for; warnings say so,
        too.
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
    prove: ProofName = "final"
    time_limit: float | None = 10.0
    n_jobs: int | None = None

    def _choose(self, sample: Sample, callback: Callback | None) -> Choice:
        """Cross-validate, choose, and take the chosen model of all rows."""
        check.one_of("selection", self.selection, get_args(SelectionName))
        check.one_of("prove", self.prove, get_args(ProofName))
        design = sample.design
        sizes = read_sparsities(self.n_nonzero_coefs, design)
        parts = sample.parts(folds_of(self.cv, sample))
        with Watch(self.time_limit, callback) as watch:
            with self._sharing(watch) as share:
                compare = partial(self._compare, parts, design, watch, share)
                found = compare(sizes)
                if self.n_nonzero_coefs is None and self.prove == "final":
                    found = _grown(found, compare, self._best, design, parts)
            _refuse_nothing(found, watch)
            i, j = self._best(found)
            scaled = design.scaled(merge(parts), found.etas[i], found.sparsities[j])
            if self.prove == "final":
                path = self._proved(scaled, found.sparsities[j], watch)
            else:
                path = Path(
                    found.sparsities[: len(found.solutions[i])], found.solutions[i]
                )
        self.path_, self.cv_results_ = path, _table(found)
        self.n_nonzero_coefs_ = found.sparsities[j]
        self._warn(found, j, design, watch)
        solution = path.solutions[path.sparsities.index(found.sparsities[j])]
        if watch.is_unwanted and watch.stopped is not None:
            solution = replace(solution, stop=watch.stopped)
        worst = float(np.nanmax(found.gaps)) if self.prove == "all" else 0.0
        return scaled, solution, found.etas[i], worst

    def _compare(
        self,
        parts: list[Moments],
        design: Design,
        watch: Watch,
        share: Any,
        sizes: tuple[int, ...],
    ) -> CrossValidation:
        """The errors of models of some sizes, certified or not."""
        etas, refit = read_etas(self.eta), bool(self.refit)
        common: dict[str, Any] = {"watch": watch, "refit": refit, "share": share}
        if self.prove == "final":
            return compare_models(parts, design, sizes, etas, **common)
        proof = {"method": self._solver, "gap": self.gap}
        return cross_validate(parts, design, sizes, etas, **proof, **common)

    def _best(self, found: CrossValidation) -> tuple[int, int]:
        """Where the chosen model is in the grid."""
        is_ours = is_automatic(self.eta)
        return found.best(self.selection, is_stronger_better=is_ours)

    def _proved(self, scaled: ScaledProblem, size: int, watch: Watch) -> Path:
        """The chosen model of all rows, with what can be proved of it."""
        problem = scaled.problem
        is_late = partial(getattr, watch, "is_late")
        start = point_path(problem, size, is_late, smallest=size).get(size)
        settings = {"method": self._solver, "gap": self.gap, "start": start}
        return Path((size,), (solve_within(watch, problem, **settings),))

    def _warn(
        self, found: CrossValidation, j: int, design: Design, watch: Watch
    ) -> None:
        """Say what is missing, and that a larger model might be better."""
        notes, n_asked = [], found.errors[:, :, 0].size
        if found.n_reached < n_asked:
            reason = "" if watch.stopped is None else f", as {watch.stopped.value}"
            notes.append(
                f"cross-validation ended early{reason}: {found.n_reached} of {n_asked} "
                f"pairs of eta and size were compared, by {found.errors.shape[2]} folds"
            )
            warnings.warn(f"{notes[-1]}.", ConvergenceWarning, stacklevel=4)
        size, is_last = found.sparsities[j], 0 < j == len(found.sparsities) - 1
        is_given = self.n_nonzero_coefs is not None
        if is_given and is_last and size < design.n_units:
            notes.append(
                f"the size that was chosen, {size}, is the largest that was tried; "
                "larger models may predict better"
            )
            warnings.warn(f"{notes[-1]}.", UserWarning, stacklevel=4)
        self.notes_ = tuple(notes)

    @contextmanager
    def _sharing(self, watch: Watch) -> Iterator[Any]:
        """A function that runs the fits of several folds in parallel, or None."""
        if effective_n_jobs(self.n_jobs) == 1:
            yield None
            return
        with Parallel(n_jobs=self.n_jobs) as parallel:

            def run(fits: Iterable[Any]) -> list[Any]:
                found: list[Any] = []
                if not watch.is_unwanted:
                    # Nobody looks at the clock while processes are waited for.
                    with watch.raising():
                        found = list(parallel(delayed(fit)() for fit in fits))
                return found

            yield run


def _grown(
    found: CrossValidation,
    compare: Callable[[tuple[int, ...]], CrossValidation],
    best: Callable[[CrossValidation], tuple[int, int]],
    design: Design,
    parts: list[Moments],
) -> CrossValidation:
    """The comparison with larger models, as long as the best is among the largest.

    Where time is up before all of them are compared, it is the one before.
    """
    n_samples = sum(part.n_samples for part in parts)
    most = min(MOST_FEATURES, n_samples // ROWS_PER_FEATURE)
    while found.n_reached > 0:
        largest = found.sparsities[-1]
        is_falling = found.sparsities[best(found)[1]] > NEAR_THE_END * largest
        sizes = sizes_up_to(min(2 * largest, most), design)
        if not is_falling or sizes[-1] <= largest:
            break
        larger = compare(sizes)
        if np.isnan(larger.errors).any():
            break
        found = larger
    return found


def _refuse_nothing(found: CrossValidation, watch: Watch) -> None:
    """Without any comparison there is no answer."""
    if found.n_reached > 0:
        return
    if watch.stopped is Stop.INTERRUPTED:
        raise KeyboardInterrupt("interrupted before any models were compared")
    reason = "" if watch.stopped is None else f": {watch.stopped.value}"
    raise NotSolvedError(f"Cross-validation has no model yet{reason}.")


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
