"""Folds for cross-validation, as scikit-learn splits rows."""

from typing import Any

import numpy as np

from cardqp._typing import IntArray
from cardqp.estimators._sklearn import check_cv
from cardqp.estimators.linear_model import Sample
from cardqp.exceptions import ParameterError, Phrase, Setting


def folds_of(cv: Any, sample: Sample) -> list[IntArray]:
    """The rows of each fold.

    Parameters
    ----------
    cv : int, splitter or iterable, or None
        As in scikit-learn.
    sample : Sample
        The rows.
    """
    splits = list(check_cv(cv).split(sample.X, sample.y))
    folds, rows = [test for _, test in splits], np.arange(len(sample.y))
    is_good = len(folds) > 1 and np.array_equal(np.sort(np.concatenate(folds)), rows)
    # Models are fitted to all rows but a fold's, whatever the splits say.
    if not is_good or any(len(a) + len(b) != len(rows) for a, b in splits):
        raise ParameterError(
            "cv",
            "must have two folds or more which hold every row once, and fit to "
            "all others, as those of KFold do",
            given=f"it is {_short(cv)}",
        )
    for number, fold in enumerate(folds, start=1):
        if sample.weights is not None and not sample.weights[fold].any():
            raise ParameterError(
                "sample_weight",
                "must be positive somewhere in each fold",
                given=f"fold {number} of {len(folds)} has no weight",
                remedy=Phrase(
                    "leave out rows without weight, or pass KFold(shuffle=True) as {}",
                    Setting("cv"),
                ),
            )
    return folds


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:80]}..."
