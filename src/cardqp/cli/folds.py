"""Folds of a table's rows."""

import numpy as np

from cardqp._typing import IntArray
from cardqp.exceptions import ParameterError
from cardqp.tables.phrases import count

DEFAULT = 5
"""How many folds there are by default."""


def random_folds(
    n_rows: int, number: int, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Rows to fit to and rows to judge by, at random: a table may be sorted."""
    if number > n_rows // 2:
        raise ParameterError(
            "--cv",
            "must leave two rows or more in each fold",
            given=f"it is {number}, of {count(n_rows, 'row')}",
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    parts = [np.sort(part) for part in np.array_split(order, number)]
    return [(np.setdiff1d(order, part), part) for part in parts]
