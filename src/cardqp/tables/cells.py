"""Some columns of a table as one block of numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.exceptions import Phrase, Setting
from cardqp.problem.validation import LARGEST
from cardqp.tables.complaints import ColumnError, Complaints
from cardqp.tables.kinds import (
    BOOLEAN,
    CATEGORY,
    NUMBER,
    as_codes,
    as_numbers,
    plain_kinds,
)
from cardqp.tables.place import MissingCells, Place


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Some columns of a table.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    numbers : (n_rows, n_columns) array
        Their cells, those of categories as codes; NaN where there are none.
    labels : dict
        From the names of categories to the labels that codes stand for.
    place : Place
        Where the rows are.
    """

    names: tuple[str, ...]
    numbers: FloatArray
    labels: Mapping[str, tuple[str, ...]]
    place: Place

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def missing_cells(self) -> list[MissingCells]:
        """Counts for each column with missing cells."""
        gone = np.isnan(self.numbers)
        found = []
        for j, number in enumerate(gone.sum(axis=0).tolist()):
            if number:
                where = self.place.row(int(gone[:, j].argmax()))
                found.append(MissingCells(self.names[j], number, self.n_rows, where))
        return found

    def missing(self, name: str) -> BoolArray:
        """Where one column has no cell."""
        return np.asarray(np.isnan(self.numbers[:, self.names.index(name)]))

    def incomplete(self) -> BoolArray:
        """Rows where some column has no cell."""
        return np.asarray(np.isnan(self.numbers).any(axis=1))

    def refuse(
        self, wrong: BoolArray, content: str, remedy: Callable[[str], Phrase]
    ) -> None:
        """Refuse cells that are wrong; the remedy depends on the column's name."""
        complaints = Complaints()
        for j in np.flatnonzero(wrong.any(axis=0)).tolist():
            row, drop = int(wrong[:, j].argmax()), Setting("drop", [self.names[j]])
            with complaints.kept():
                raise ColumnError(
                    self.names[j],
                    f"must hold {content}",
                    given=f"{self.place.row(row)} has {self.numbers[row, j]:g}",
                    remedy=remedy(self.names[j]),
                    fix=[drop],
                )
        complaints.check()

    def take(self, rows: IntArray) -> "Cells":
        """Some rows."""
        numbers, place = self.numbers[rows], self.place.only(rows)
        return replace(self, numbers=numbers, place=place)


def read_cells(
    frame: Any, kinds: Mapping[str, str], place: Place | None = None
) -> Cells:
    """The cells of some columns, by what these must hold; other cells are refused."""
    frame, place = frame[list(kinds)], place or Place()
    types, labels = plain_kinds(frame), dict[str, tuple[str, ...]]()
    numbers = np.empty(frame.shape)
    plain = np.array([_fits(types[name], kind) for name, kind in kinds.items()], bool)
    if plain.any():
        numbers[:, plain] = frame.loc[:, plain].to_numpy(float, na_value=np.nan)
    names = tuple(kinds)
    for j in np.flatnonzero(~plain):
        name = names[j]
        if kinds[name] == CATEGORY:
            numbers[:, j], labels[name] = as_codes(frame[name])
        else:
            numbers[:, j] = as_numbers(frame[name], name, place, kinds[name])
    cells = Cells(names, numbers, labels, place)
    cells.refuse(
        np.abs(numbers) > LARGEST,
        f"numbers below {LARGEST:g}",
        lambda name: Phrase("correct it, or use {}", Setting("drop", [name])),
    )
    return cells


def _fits(plain: str | None, kind: str) -> bool:
    """Whether cells can be copied; numbers must be checked to be true or false."""
    return plain == kind or (plain == BOOLEAN and kind == NUMBER)
