"""Stability selection: which features are chosen again and again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, BoolArray, FloatArray, IntArray
from cardqp.estimators._sklearn import check_random_state
from cardqp.estimators.resampling import column_names, fit_each
from cardqp.exceptions import ParameterError
from cardqp.problem import validation as check


@dataclass(frozen=True, slots=True, eq=False)
class StabilitySelection:
    """Selection frequencies of features over resamples, and a threshold on them.

    Attributes
    ----------
    frequencies : (n,) array
        Share of the resamples in which a feature was chosen.
    threshold : float
        From which share on a feature counts as stable.
    mean_size : float
        How many features were chosen on average.
    n_resamples : int
        How many resamples there were.
    names : tuple of str
        Names of the features.
    """

    frequencies: FloatArray
    threshold: float
    mean_size: float
    n_resamples: int
    names: tuple[str, ...]

    @property
    def support(self) -> IntArray:
        """The stable features."""
        return np.flatnonzero(self.frequencies >= self.threshold)

    @property
    def expected_false(self) -> float:
        """A bound on the expected number of stable features that do not matter.

        ``q^2 / ((2 threshold - 1) n)`` for ``q`` chosen of ``n`` on average, by
        Meinshausen and Bühlmann (JRSS B 2010): it assumes that features which do not
        matter are chosen alike.
        """
        margin = (2.0 * self.threshold - 1.0) * len(self.frequencies)
        return self.mean_size**2 / margin

    def to_dict(self) -> dict[str, list[Any]]:
        """Names and frequencies, the most frequent first."""
        order = np.argsort(-self.frequencies, kind="stable")
        return {
            "feature": [self.names[j] for j in order],
            "frequency": self.frequencies[order].tolist(),
            "is_stable": (self.frequencies[order] >= self.threshold).tolist(),
        }

    def __str__(self) -> str:
        columns = self.to_dict()
        shown = [row for row in zip(*columns.values(), strict=True) if row[1] > 0]
        width = max([len("feature"), *(len(name) for name, _, _ in shown)])
        lines = [f"{'feature':<{width}}  frequency"]
        lines += [
            f"{name:<{width}} {share:10.2f}{'  stable' if stable else ''}"
            for name, share, stable in shown
        ]
        return "\n".join(lines)


@did_you_mean
def stability_selection(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_resamples: int = 100,
    threshold: float = 0.6,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> StabilitySelection:
    """Fit an estimator to random halves of the rows and count what it chooses.

    Halves come in pairs without a common row (Shah and Samworth, JRSS B 2013).

    Parameters
    ----------
    estimator : estimator
        Anything with ``get_support()`` after ``fit``, such as
        :class:`cardqp.SparseRidge`.
    X, y : arrays, DataFrame or sparse matrix
        The data, at least four rows.
    n_resamples : int
        How many halves; an even number.
    threshold : float
        From which share on a feature counts as stable; above one half.
    n_jobs : int or None
        Processes, as in scikit-learn.
    random_state : int, RandomState or None
        Decides the halves.

    Examples
    --------
    >>> from cardqp import SparseRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 20))
    >>> y = 3 * X[:, 4] - 2 * X[:, 7] + rng.standard_normal(100)
    >>> model = SparseRidge(3)
    >>> stability_selection(model, X, y, n_resamples=20, random_state=0).support
    array([4, 7])
    """
    _check(n_resamples, threshold)
    if not hasattr(estimator, "get_support"):
        raise ParameterError(
            "estimator",
            "must have `get_support`",
            given=f"it is a {type(estimator).__name__}",
            remedy="pass the step that selects",
        )
    check.refuse_masked(X=X, y=y)
    n_rows = len(np.asarray(y))
    if n_rows < 4:
        raise ParameterError(
            "y", "must have four rows or more", given=f"it has {n_rows}"
        )
    random = check_random_state(random_state)
    halves: list[IntArray] = []
    for _ in range(n_resamples // 2):
        order = random.permutation(n_rows)
        halves += [np.sort(order[: n_rows // 2]), np.sort(order[-(n_rows // 2) :])]
    chosen = np.array(fit_each(_choice, estimator, X, y, halves, n_jobs=n_jobs))
    return StabilitySelection(
        frequencies=chosen.mean(axis=0),
        threshold=float(threshold),
        mean_size=float(chosen.sum(axis=1).mean()),
        n_resamples=len(halves),
        names=column_names(X, chosen.shape[1]),
    )


def _check(n_resamples: int, threshold: float) -> None:
    check.count("n_resamples", n_resamples)
    rule = "must be even, for halves come in pairs"
    check.demand(n_resamples % 2 == 0, "n_resamples", rule, int(n_resamples))
    check.positive("threshold", threshold)
    rule = "must be above 0.5 and at most 1"
    check.demand(0.5 < threshold <= 1.0, "threshold", rule, threshold)


def _choice(model: Any) -> BoolArray:
    return np.asarray(model.get_support())
