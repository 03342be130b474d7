"""Sums, ranges and label counts of columns, which add up over parts of a table."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import Phrase, Setting
from cardqp.tables.cells import Cells
from cardqp.tables.complaints import ColumnError

MANY = 10_000
"""More labels than this are not counted to the end."""


class Range(NamedTuple):
    """The least and the largest number of a column, and the mean of all."""

    low: float
    high: float
    mean: float


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums:
    """Ranges and means of numbers, and how often each label occurs.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    names : tuple of str
        Names of the columns.
    low, high, total : (n_columns,) arrays
        Their least and largest cells, and the sum of all; of no use for categories.
    present : (n_columns,) int array
        How many cells they have.
    labels : dict
        From the names of categories to counts of their labels.
    """

    n_rows: int
    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    total: FloatArray
    present: IntArray
    labels: Mapping[str, Counter[str]]

    @classmethod
    def of(cls, cells: Cells) -> "ColumnSums":
        """Sums over some rows."""
        numbers = cells.numbers
        gone = np.isnan(numbers)
        return cls(
            cells.n_rows,
            cells.names,
            np.where(gone, np.inf, numbers).min(axis=0, initial=np.inf),
            np.where(gone, -np.inf, numbers).max(axis=0, initial=-np.inf),
            np.where(gone, 0.0, numbers).sum(axis=0),
            len(numbers) - gone.sum(axis=0),
            {name: _counts(cells, name) for name in cells.labels},
        )

    def __add__(self, other: "ColumnSums") -> "ColumnSums":
        """Sums over the rows of both."""
        labels = {name: self.labels[name] + other.labels[name] for name in self.labels}
        for name, counts in labels.items():
            if len(counts) > MANY:
                remedy = Phrase("use {}", Setting("drop", [name]))
                refuse_labels(name, counts, MANY, "more", remedy)
        return ColumnSums(
            self.n_rows + other.n_rows,
            self.names,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.total + other.total,
            self.present + other.present,
            labels,
        )

    def ranges(self) -> dict[str, Range]:
        """Least and largest number and mean of each column."""
        means = self.total / np.maximum(self.present, 1)
        values = np.column_stack([self.low, self.high, means]).tolist()
        return {n: Range(*v) for n, v in zip(self.names, values, strict=True)}


def _counts(cells: Cells, name: str) -> Counter[str]:
    """Number of rows that have each label; labels without rows are left out."""
    codes = cells.numbers[~cells.missing(name), cells.names.index(name)].astype(int)
    labels = cells.labels[name]
    found = np.bincount(codes, minlength=len(labels)).tolist()
    return +Counter(dict(zip(labels, found, strict=True)))


def refuse_labels(
    name: str, counts: Counter[str], most: int, found: str, remedy: Phrase
) -> NoReturn:
    """Complain of a category with too many labels."""
    raise ColumnError(
        name,
        f"must have at most {most} different labels",
        given=f"it has {found}, such as {min(counts)[:40]!r}",
        remedy=remedy,
        fix=[Setting("drop", [name])],
    )
