"""Some columns of a table as one block of numbers, and labels of categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp._validation import LARGEST
from cardqp.exceptions import DataError
from cardqp.tables.kinds import (
    BOOLEAN,
    CATEGORY,
    CONVERT,
    NUMBER,
    absent,
    as_labels,
    kind_of,
)

_PLAIN = {"b": BOOLEAN, "i": NUMBER, "u": NUMBER, "f": NUMBER}
"""Types of NumPy that are copied as they are, all columns at once."""


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Some columns of a table.

    Attributes
    ----------
    kinds : dict
        From the names of columns to what they hold.
    numeric : tuple of str
        Names of the columns that are no categories.
    numbers : (n_rows, n_numeric) array
        Their cells; NaN where there are none.
    labels : dict
        From the names of categories to arrays of str or None.
    """

    kinds: Mapping[str, str]
    numeric: tuple[str, ...]
    numbers: FloatArray
    labels: Mapping[str, Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def count_missing(self) -> dict[str, int]:
        """How many cells are missing, for columns where some are."""
        found = np.isnan(self.numbers).sum(axis=0)
        counts = dict(zip(self.numeric, found, strict=True))
        counts |= {name: absent(column).sum() for name, column in self.labels.items()}
        return {name: int(counts[name]) for name in self.kinds if counts[name]}

    def missing(self, name: str) -> BoolArray:
        """Where one column has no cell."""
        if name in self.labels:
            return absent(self.labels[name])
        return np.asarray(np.isnan(self.numbers[:, self.numeric.index(name)]))

    def incomplete(self) -> BoolArray:
        """Rows where some column has no cell."""
        rows = np.isnan(self.numbers).any(axis=1)
        for column in self.labels.values():
            rows |= absent(column)
        return np.asarray(rows)

    def take(self, rows: IntArray) -> "Cells":
        """Some rows."""
        labels = {name: column[rows] for name, column in self.labels.items()}
        return Cells(self.kinds, self.numeric, self.numbers[rows], labels)

    def without(self, names: Sequence[str]) -> "Cells":
        """All columns but some."""
        gone = set(names)
        if not gone:
            return self
        kept = [j for j, name in enumerate(self.numeric) if name not in gone]
        return Cells(
            {name: kind for name, kind in self.kinds.items() if name not in gone},
            tuple(self.numeric[j] for j in kept),
            self.numbers[:, kept],
            {name: cells for name, cells in self.labels.items() if name not in gone},
        )


def read_cells(
    frame: Any, names: Sequence[str], kinds: Mapping[str, str] | None = None
) -> Cells:
    """The cells of some columns.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    names : sequence of str
        Which columns.
    kinds : dict, optional
        What some of them must hold; others hold what they seem to.

    Raises
    ------
    DataError
        When cells are not what their column must hold, or are too large.
    """
    frame = frame[list(names)]
    types, given = _plain_types(frame), kinds or {}
    known = {
        name: given.get(name) or types[name] or kind_of(frame[name], name)
        for name in names
    }
    numeric = tuple(name for name in names if known[name] != CATEGORY)
    numbers = np.empty((len(frame), len(numeric)))
    plain = np.array([_fits(types[name], known[name]) for name in numeric], bool)
    if plain.any():
        block = [
            name for name, is_plain in zip(numeric, plain, strict=True) if is_plain
        ]
        numbers[:, plain] = frame[block].to_numpy(dtype=float)
    for j in np.flatnonzero(~plain):
        name = numeric[j]
        numbers[:, j] = CONVERT[known[name]](frame[name], name)
    _check_finite(numbers, numeric)
    labels = {n: as_labels(frame[n]) for n in names if known[n] == CATEGORY}
    return Cells(known, numeric, numbers, labels)


def _plain_types(frame: Any) -> dict[str, str | None]:
    """What columns hold whose cells need no look, by name; None for others."""
    return {
        name: _PLAIN.get(dtype.kind) if isinstance(dtype, np.dtype) else None
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
    }


def _fits(plain: str | None, kind: str) -> bool:
    """Whether cells can be copied; numbers must be checked to be true or false."""
    return plain == kind or (plain == BOOLEAN and kind == NUMBER)


def _check_finite(numbers: FloatArray, names: Sequence[str]) -> None:
    wrong = np.abs(numbers) > LARGEST
    if wrong.any():
        row, j = (int(i) for i in np.argwhere(wrong)[0])
        raise DataError(
            f"column `{names[j]}` must hold numbers below {LARGEST:g}: row {row + 1} "
            f"has {numbers[row, j]:g}; correct it, or pass `--drop {names[j]}`."
        )
