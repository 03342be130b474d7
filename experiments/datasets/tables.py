"""Tables of features and a target, and the paper's way of splitting them."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray
from cardqp.problem import validation as check

TRAINING_SHARE = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows to fit and rows to judge the fit, all columns scaled to [0, 1]."""

    X_train: FloatArray
    y_train: FloatArray
    X_test: FloatArray
    y_test: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A data set as its file has it, without the columns that are not used.

    Attributes
    ----------
    name : str
        Name of the data set.
    X : (N, n) array
        Features in their own units, one row per sample.
    y : (N,) array
        The target in its own unit.
    feature_names : tuple of str
        Names of the columns of ``X``.
    target_name : str
        Name of ``y``.
    source : str
        A sentence: which file the numbers come from, and which variant it is.
    """

    name: str
    X: FloatArray
    y: FloatArray
    feature_names: tuple[str, ...]
    target_name: str
    source: str

    def split(self, seed: int) -> Split:
        """Scale by all rows, then draw the training rows at random.

        Parameters
        ----------
        seed : int
            Decides which rows are drawn.

        Returns
        -------
        Split
            70 % of the rows, rounded down, for training; the others for testing.

        Notes
        -----
        This is the convention of the paper: every feature and the target become
        ``(x - min) / (max - min)``, with extremes over all rows, also those of the
        test set.  A constant column becomes 0.

        Examples
        --------
        >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
        >>> split = Table("ramp", X, y, ("a", "b"), "y", "made up").split(seed=0)
        >>> split.X_train.shape, split.y_test.shape
        ((7, 2), (3,))
        """
        check.count("seed", seed, least=0)
        X, y = _to_unit_interval(self.X), _to_unit_interval(self.y)
        rows = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(rows, [int(TRAINING_SHARE * len(y))])
        return Split(X[train], y[train], X[test], y[test])


def _to_unit_interval(values: FloatArray) -> FloatArray:
    low, width = values.min(axis=0), np.ptp(values, axis=0)
    return np.asarray((values - low) / np.where(width > 0, width, 1.0))
