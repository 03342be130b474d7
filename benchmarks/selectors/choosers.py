"""What chooses features in Python: the selectors of mlxtend and scikit-learn."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from typing import Literal

import numpy as np
from sklearn import config_context
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression

from cardqp._typing import FloatArray, IntArray

Chosen = dict[int, IntArray]
"""Supports by size."""

Choose = Callable[[FloatArray, FloatArray, int], Chosen]
"""What chooses so many of the features; it may list the smaller sizes, too."""

# A fifth of the time of a small fit goes into checks of its input.
UNCHECKED = {"assume_finite": True, "skip_parameter_validation": True}


def require_mlxtend() -> None:
    """End the command if the package is missing."""
    if find_spec("mlxtend") is None:
        raise SystemExit("This command compares with mlxtend: pip install mlxtend")


def exhaustive(X: FloatArray, y: FloatArray, size: int) -> Chosen:
    """The best subset of each size up to one, by mlxtend."""
    from mlxtend.feature_selection import ExhaustiveFeatureSelector

    selector = ExhaustiveFeatureSelector(
        LinearRegression(),
        min_features=1,
        max_features=size,
        scoring="r2",
        cv=0,
        n_jobs=1,
        print_progress=False,
    )
    with config_context(**UNCHECKED):
        selector.fit(X, y)
    return best_of_each_size(
        (each["avg_score"], each["feature_idx"]) for each in selector.subsets_.values()
    )


def best_of_each_size(scored: Iterable[tuple[float, tuple[int, ...]]]) -> Chosen:
    """Among subsets with their scores, those with the highest ones."""
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    for found in scored:
        size = len(found[1])
        best[size] = max(found, best.get(size, found))
    return {size: np.array(support) for size, (_, support) in best.items()}


def sequential(
    X: FloatArray,
    y: FloatArray,
    size: int,
    *,
    direction: Literal["forward", "backward"],
    n_folds: int | None = None,
) -> Chosen:
    """A subset by scikit-learn, step by step; without folds by the sum of squares."""
    rows = np.arange(len(y))
    selector = SequentialFeatureSelector(
        LinearRegression(),
        n_features_to_select=size,
        direction=direction,
        scoring="r2",
        cv=[(rows, rows)] if n_folds is None else n_folds,
    )
    with config_context(**UNCHECKED):
        selector.fit(X, y)
    return {size: np.flatnonzero(selector.get_support())}


SEQUENTIAL: dict[str, Choose] = {
    "forward": partial(sequential, direction="forward"),
    "backward": partial(sequential, direction="backward"),
    "forward, 5 folds": partial(sequential, direction="forward", n_folds=5),
    "backward, 5 folds": partial(sequential, direction="backward", n_folds=5),
}
"""The ways of scikit-learn, the first two by the sum of squares."""


def timed(
    choose: Choose, X: FloatArray, y: FloatArray, size: int
) -> tuple[float, Chosen]:
    """Seconds of the processor, and what is chosen."""
    start = time.process_time()
    chosen = choose(X, y, size)
    return time.process_time() - start, chosen
