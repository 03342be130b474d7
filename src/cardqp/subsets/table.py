"""All best subsets of a table, of all sizes."""

from dataclasses import dataclass, replace
from typing import Any

from cardqp._iterate import Callback, Watch
from cardqp._keywords import did_you_mean
from cardqp.problem import validation as check
from cardqp.regression.design_settings import read_design, sizes_up_to
from cardqp.subsets.folds import cross_validated
from cardqp.subsets.measures import CHOICES, MEASURES, ChoiceName, MeasureName
from cardqp.subsets.result import Subsets
from cardqp.subsets.rows import Features, read_features
from cardqp.subsets.search import best_subsets


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """What is searched for, and for how long; see :func:`all_subsets`."""

    max_size: int
    n_best: int
    criterion: ChoiceName
    gap: float
    time_limit: float | None

    def __post_init__(self) -> None:
        check.count("max_size", self.max_size)
        check.count("n_best", self.n_best)
        check.one_of("criterion", self.criterion, CHOICES)
        check.at_least("gap", self.gap, 0.0)


@did_you_mean
def all_subsets(
    X: Any,
    y: Any = None,
    *,
    max_size: int = 8,
    n_best: int = 3,
    criterion: MeasureName = "bic",
    sample_weight: Any = None,
    fit_intercept: bool = True,
    always_include: Any = None,
    blocks: Any = None,
    missing: str = "error",
    gap: float = 1e-4,
    time_limit: float | None = 60.0,
    callback: Callback | None = None,
) -> Subsets:
    """Find the best subsets of features of every size, for least squares.

    They are the best ones: each row of the table has a bound that no other subset of
    its size, but for those before it, can be below.  There is no ridge.  Features that
    are linearly dependent are not chosen together.  The first row is the null model,
    which has none of them.

    Parameters
    ----------
    X : array, DataFrame, sparse matrix or GramAccumulator
        The features, one row per sample.  Texts in a DataFrame are categories, whose
        levels are chosen together.
    y : array
        The target; left out with a :class:`cardqp.gram.GramAccumulator`.
    max_size : int
        The most features of a subset; blocks count once.
    n_best : int
        How many subsets of each size are listed.
    criterion : {"bic", "aic", "aicc", "ebic", "cp", "adjusted_r2"}
        What chooses among them.
    sample_weight : array, optional
        Weights of the rows, which count as repeated rows: scale them to a mean of one
        if they are inverse variances.
    fit_intercept : bool
        Whether there is an intercept.
    always_include : sequence, optional
        Features in every subset, by index or name, or a mask.  They count.
    blocks : sequence or dict by name, optional
        Features with the same label are chosen together; None for one of its own.
    missing : {"error", "drop", "mean"}
        What to do about missing cells of a DataFrame.
    gap : float
        Relative difference of the sum of squares and its bound at which a subset counts
        as proved.  Rounding is accounted for: it can be all that there is of it.
    time_limit : float or None
        Seconds; sizes that are not done by then are left out, as after Ctrl-C.
    callback : callable, optional
        Called with a :class:`cardqp.Progress`; True stops.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 20))
    >>> y = 3 * X[:, 4] - 2 * X[:, 7] + rng.standard_normal(100)
    >>> found = all_subsets(X, y, max_size=3, n_best=2)
    >>> found.best().features
    ('x4', 'x7')
    """
    check.one_of("criterion", criterion, MEASURES)
    settings = SearchSettings(
        max_size=max_size,
        n_best=n_best,
        criterion=criterion,
        gap=gap,
        time_limit=time_limit,
    )
    features = read_features(
        X, y, sample_weight, missing=missing, is_centred=bool(fit_intercept)
    )
    if blocks is not None:
        features = replace(features, labels=blocks)
    return search_features(
        features, settings, always_include=always_include, callback=callback
    )


def search_features(
    features: Features,
    settings: SearchSettings,
    *,
    always_include: Any = None,
    callback: Callback | None = None,
) -> Subsets:
    """Find the best subsets of features that were read.

    Parameters
    ----------
    features : Features
        The features; those with the same label are chosen together.  With folds, if
        these are to choose.
    settings : SearchSettings
        What is searched for.
    always_include, callback
        As for :func:`all_subsets`.
    """
    design = read_design(
        len(features.moments.mean),
        features.names,
        always_include=always_include,
        blocks=features.labels,
    )
    sizes = sizes_up_to(settings.max_size, design, 0)
    with Watch(settings.time_limit, callback) as watch:
        shared: dict[str, Any] = {
            "n_best": settings.n_best,
            "gap": settings.gap,
            "watch": watch,
        }
        if settings.criterion == "cv":
            found = cross_validated(features.parts, design, sizes, **shared)
        else:
            found = best_subsets(
                features.moments, design, sizes, criterion=settings.criterion, **shared
            )
    return replace(found, notes=(*features.notes, *found.notes))
