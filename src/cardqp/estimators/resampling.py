"""What a choice of features is worth on other rows: bootstrap and sample splits."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.estimators._sklearn import (
    ConvergenceWarning,
    Parallel,
    _safe_indexing,
    check_random_state,
    clone,
    delayed,
)
from cardqp.gram import moments
from cardqp.problem import validation as check
from cardqp.regression import least_squares
from cardqp.regression.inference import ON_OTHER_ROWS, Inference, classical


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """Coefficients over resamples of the rows, the choice of features repeated in each.

    Attributes
    ----------
    features : tuple of str
        Names of all features.
    coef : (resamples, n) array
        Coefficients, zero where a feature was not chosen.
    level : float
        Of the intervals.
    """

    features: tuple[str, ...]
    coef: FloatArray
    level: float

    @property
    def frequency(self) -> FloatArray:
        """The share of the resamples in which each feature was chosen."""
        return np.asarray((self.coef != 0).mean(axis=0))

    @property
    def interval(self) -> FloatArray:
        """Percentile intervals of the coefficients, zeros included: a row for each."""
        tail = 0.5 * (1.0 - self.level)
        return np.asarray(np.quantile(self.coef, [tail, 1.0 - tail], axis=0).T)

    def to_dict(self) -> dict[str, list[Any]]:
        """One list per column, the features that were chosen most often first."""
        order = np.argsort(-self.frequency, kind="stable")
        interval = self.interval[order]
        return {
            "feature": [self.features[j] for j in order],
            "frequency": self.frequency[order].tolist(),
            "lower": interval[:, 0].tolist(),
            "upper": interval[:, 1].tolist(),
        }

    def __str__(self) -> str:
        columns = self.to_dict()
        width = max(map(len, ("feature", *self.features)))
        percent = f"{100 * self.level:g} %"
        lines = [f"{'feature':<{width}}   chosen   {percent} interval of coefficient"]
        lines += [
            f"{name:<{width}} {100 * share:6.1f} %   {low:.5g} to {high:.5g}"
            for name, share, low, high in zip(*columns.values(), strict=True)
            if share > 0
        ]
        return "\n".join(lines)


def bootstrap(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_resamples: int = 200,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Bootstrap:
    """Fit an estimator to resamples of the rows, drawn with replacement.

    Parameters
    ----------
    estimator : estimator
        Anything with ``coef_`` after ``fit``.
    X, y : arrays, DataFrame or sparse matrix
        The data.
    n_resamples : int
        How many resamples.
    level : float
        Of the intervals.
    n_jobs : int or None
        Processes, as in scikit-learn.
    random_state : int, RandomState or None
        Decides the resamples.
    """
    check.count("n_resamples", n_resamples)
    _check_share("level", level)
    random, n_rows = check_random_state(random_state), len(np.asarray(y))
    draws = [random.randint(n_rows, size=n_rows) for _ in range(n_resamples)]
    coef = np.array(fit_each(_coefficients, estimator, X, y, draws, n_jobs=n_jobs))
    return Bootstrap(column_names(X, coef.shape[1]), coef, float(level))


def split_inference(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    share: float = 0.5,
    level: float = 0.95,
    random_state: Any = None,
) -> Inference:
    """Choose features by some rows, and infer their coefficients from all others.

    Parameters
    ----------
    estimator : estimator
        Anything with ``support_`` after ``fit``.
    X, y : arrays, DataFrame or sparse matrix
        The data.
    share : float
        The share of the rows that choose.
    level : float
        Of confidence intervals.
    random_state : int, RandomState or None
        Decides which rows.
    """
    _check_share("share", share)
    _check_share("level", level)
    n_rows = len(np.asarray(y))
    order = check_random_state(random_state).permutation(n_rows)
    n_first = min(max(round(share * n_rows), 2), n_rows - 2)
    first, second = np.sort(order[:n_first]), np.sort(order[n_first:])
    model = clone(estimator).fit(_safe_indexing(X, first), _safe_indexing(y, first))
    return on_rows(model, _safe_indexing(X, second), _safe_indexing(y, second), level)


def on_rows(model: Any, X: ArrayLike, y: ArrayLike, level: float) -> Inference:
    """Standard errors of a model's features on rows that it was not fitted to."""
    support = np.asarray(model.support_)
    chosen = check.real_array("X", _safe_indexing(X, support, axis=1), 2)
    rows = moments(chosen, np.asarray(y, float), centred=bool(model.fit_intercept))
    index = np.arange(len(support))
    anything = np.full(len(support), np.inf)
    coef = least_squares(rows, index, -anything, anything)
    names = tuple(map(str, model.get_feature_names_out()))
    return classical(rows, index, coef, names, level=level, note=ON_OTHER_ROWS)


def fit_each(
    learn: Callable[[Any], Any],
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    parts: Sequence[IntArray],
    *,
    n_jobs: int | None,
) -> list[Any]:
    """Fit an estimator to parts of the rows, and learn something from each fit.

    Fits that warn that they are not done are counted, and warned of once.
    """
    found = Parallel(n_jobs=n_jobs)(
        delayed(_learnt)(learn, estimator, X, y, rows) for rows in parts
    )
    complaints = [complaint for _, complaint in found if complaint]
    if complaints:
        warnings.warn(
            f"{len(complaints)} of {len(found)} fits are not proved; the first of "
            f"them: {complaints[0]}",
            ConvergenceWarning,
            stacklevel=3,
        )
    return [value for value, _ in found]


def _learnt(
    learn: Callable[[Any], Any],
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    rows: IntArray,
) -> tuple[Any, str]:
    """What a fit teaches, and its warning that it is not done; empty if it is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
    complaint = ""
    for each in caught:
        if issubclass(each.category, ConvergenceWarning):
            complaint = complaint or str(each.message)
        else:
            warnings.warn(each.message, stacklevel=1)
    return learn(model), complaint


def _coefficients(model: Any) -> FloatArray:
    return np.asarray(model.coef_)


def column_names(X: Any, n: int) -> tuple[str, ...]:
    """Names of the columns, or ``x0``, ``x1`` and so on."""
    names = getattr(X, "columns", range(n))
    return tuple(name if isinstance(name, str) else f"x{name}" for name in names)


def _check_share(name: str, value: float) -> None:
    check.positive(name, value)
    check.demand(value < 1.0, name, "must be below 1", value)
