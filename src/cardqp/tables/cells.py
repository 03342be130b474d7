"""Some columns of a table as one block of numbers, and labels of categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.problem.validation import LARGEST
from cardqp.tables.kinds import (
    BOOLEAN,
    CATEGORY,
    CONVERT,
    NUMBER,
    as_labels,
    plain_kinds,
)
from cardqp.tables.place import MissingCells, Place


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
        From the names of categories to their cells, each a pandas.Categorical.
    place : Place
        Where the rows are.
    """

    kinds: Mapping[str, str]
    numeric: tuple[str, ...]
    numbers: FloatArray
    labels: Mapping[str, Any]
    place: Place = field(default_factory=Place)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def missing_cells(self) -> list[MissingCells]:
        """Counts for each column with missing cells."""
        found = np.isnan(self.numbers).sum(axis=0)
        counts = dict(zip(self.numeric, found, strict=True))
        counts |= {name: labels.isna().sum() for name, labels in self.labels.items()}
        return [
            self._missing_cells(name, int(counts[name]))
            for name in self.kinds
            if counts[name]
        ]

    def _missing_cells(self, name: str, number: int) -> MissingCells:
        where = self.place.row(int(np.argmax(self.missing(name))))
        return MissingCells(name, number, self.n_rows, where)

    def missing(self, name: str) -> BoolArray:
        """Where one column has no cell."""
        if name in self.labels:
            return np.asarray(self.labels[name].isna())
        return np.asarray(np.isnan(self.numbers[:, self.numeric.index(name)]))

    def incomplete(self) -> BoolArray:
        """Rows where some column has no cell."""
        rows = np.isnan(self.numbers).any(axis=1)
        for labels in self.labels.values():
            rows |= labels.isna()
        return np.asarray(rows)

    def take(self, rows: IntArray) -> "Cells":
        """Some rows."""
        labels = {name: column[rows] for name, column in self.labels.items()}
        numbers, place = self.numbers[rows], self.place.only(rows)
        return Cells(self.kinds, self.numeric, numbers, labels, place)


def read_cells(
    frame: Any, kinds: Mapping[str, str], place: Place | None = None
) -> Cells:
    """The cells of some columns.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    kinds : dict
        From the names of columns to what they must hold.
    place : Place, optional
        Where its rows are.

    Raises
    ------
    DataError
        When cells are not what their column must hold, or are too large.
    """
    frame, place = frame[list(kinds)], place or Place()
    types = plain_kinds(frame)
    numeric = tuple(name for name, kind in kinds.items() if kind != CATEGORY)
    numbers = np.empty((len(frame), len(numeric)))
    plain = np.array([_fits(types[name], kinds[name]) for name in numeric], bool)
    if plain.any():
        block = [
            name for name, is_plain in zip(numeric, plain, strict=True) if is_plain
        ]
        numbers[:, plain] = frame[block].to_numpy(dtype=float)
    for j in np.flatnonzero(~plain):
        name = numeric[j]
        numbers[:, j] = CONVERT[kinds[name]](frame[name], name, place)
    _check_finite(numbers, numeric, place)
    labels = {
        name: as_labels(frame[name]) for name, kind in kinds.items() if kind == CATEGORY
    }
    return Cells(kinds, numeric, numbers, labels, place)


def _fits(plain: str | None, kind: str) -> bool:
    """Whether cells can be copied; numbers must be checked to be true or false."""
    return plain == kind or (plain == BOOLEAN and kind == NUMBER)


def _check_finite(numbers: FloatArray, names: Sequence[str], place: Place) -> None:
    wrong = np.abs(numbers) > LARGEST
    if wrong.any():
        row, j = (int(i) for i in np.argwhere(wrong)[0])
        raise DataError(
            None,
            f"column `{names[j]}` must hold numbers below {LARGEST:g}",
            given=f"{place.row(row)} has {numbers[row, j]:g}",
            remedy=Phrase("correct it, or use {}", Setting("drop", [names[j]])),
        )
