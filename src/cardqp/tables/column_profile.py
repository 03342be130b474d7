"""Counts of the cells of columns, which add up over parts of a table and tell types."""

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from cardqp._typing import BoolArray
from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.tables.frames import require_pandas
from cardqp.tables.kinds import (
    BOOLEAN,
    CATEGORY,
    DATE,
    ISO_DATE,
    NUMBER,
    Distinct,
    parsed,
    plain_kinds,
    refuse,
)
from cardqp.tables.place import MissingCells, Place

MOST = 0.5
"""A column of text with a larger share of numbers, or of dates, is meant to be one."""

_MOMENT, _COMMA, _MISSING = "moment", "comma", "missing"
_WITH_COMMA = r"[+-]?\d*,\d+"
_CELLS = (str, bool, int, float, np.bool_, np.number, Decimal, datetime.date)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnProfile:
    """Counts of the cells of a column.

    Attributes
    ----------
    name : str
        The column.
    n_rows, n_missing : int
        Number of rows, and of rows without a cell.
    counts : Counter
        How many cells could be of each kind; a cell may be of several.
    first : dict
        The first cell that is not of a kind, with its row; the first missing one.
    is_text : bool
        Whether it came as text, at least in part.
    is_label : bool
        Whether it was declared to hold labels.
    """

    name: str
    n_rows: int = 0
    n_missing: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    first: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    is_text: bool = False
    is_label: bool = False

    @classmethod
    def of(cls, series: Any, name: str, place: Place) -> "ColumnProfile":
        """Count the cells of a column whose type is not one of numbers."""
        gone = series.isna().to_numpy(dtype=bool)
        present = len(gone) - int(gone.sum())
        first: dict[str, tuple[str, Any]] = {}
        if present < len(gone):
            first[_MISSING] = (place.row(int(np.argmax(gone))), None)
        size = len(gone), len(gone) - present
        if isinstance(series.dtype, require_pandas().CategoricalDtype):
            return cls(name, *size, first=first, is_label=True)
        if series.dtype.kind == "M":
            return cls(name, *size, Counter({_MOMENT: present, DATE: present}), first)
        found = Distinct.of(series)
        _check_types(found.cells, series, name)
        number, counts = found.counts(), Counter[str]()
        for kind, is_one in _kinds(found.cells).items():
            counts[kind] = int(number[is_one].sum())
            wrong = np.flatnonzero(np.append(~is_one, False)[found.codes])
            if len(wrong):
                row = int(wrong[0])
                first[kind] = (place.row(row), series.iloc[row])
        return cls(name, *size, counts, first, is_text=True)

    def __add__(self, other: "ColumnProfile") -> "ColumnProfile":
        """The counts of both; the first cells of this one come first."""
        return ColumnProfile(
            self.name,
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            self.counts + other.counts,
            {**other.first, **self.first},
            self.is_text or other.is_text,
            self.is_label or other.is_label,
        )

    @property
    def missing_cells(self) -> list[MissingCells]:
        """Count and first row of the missing cells, if there are some."""
        if not self.n_missing:
            return []
        where, _ = self.first[_MISSING]
        return [MissingCells(self.name, self.n_missing, self.n_rows, where)]

    @property
    def is_empty(self) -> bool:
        """Whether no row has a cell."""
        return self.n_missing == self.n_rows

    @property
    def must_be_text(self) -> bool:
        """Whether cells that could be numbers or booleans are text, as others are."""
        return self.is_text and self.counts[BOOLEAN] < self.n_rows - self.n_missing

    def kind(self) -> str:
        """The type of the column that its cells suggest: one of ``KINDS``.

        Columns where most cells are numbers, or dates, but not all, are refused.
        """
        present = self.n_rows - self.n_missing
        if self.is_label:
            return CATEGORY
        for kind, name in ((DATE, _MOMENT), (BOOLEAN, BOOLEAN)):
            if self.counts[name] == present:
                return kind
        for kind in (NUMBER, DATE):
            found = self.counts[kind]
            if found > MOST * present and found < present and kind in self.first:
                where, cell = self.first[kind]
                refuse(cell, where, present - found, self.name, kind)
            if found > MOST * present:
                return kind
        if self.counts[_COMMA] > MOST * present:
            where, _ = self.first[NUMBER]
            raise DataError(
                None,
                f"column `{self.name}` must have decimal points",
                given=f"{where} has {self.first[NUMBER][1]!r}",
                remedy=Phrase(
                    "use {}, or remove commas that separate thousands",
                    Setting("decimal", ","),
                ),
            )
        return CATEGORY


def column_profiles(frame: Any, place: Place) -> dict[str, ColumnProfile]:
    """Count the cells of all columns of a table."""
    kinds = plain_kinds(frame)
    found = dict[str, ColumnProfile]()
    # Columns of numbers may be very many: their missing cells are found all at once.
    plain = {name: kind for name, kind in kinds.items() if kind}
    gone, n_rows = frame[list(plain)].isna().to_numpy(), len(frame)
    counts = gone.sum(axis=0).tolist()
    rows = gone.argmax(axis=0).tolist() if n_rows else counts
    for (name, kind), number, row in zip(plain.items(), counts, rows, strict=True):
        first = {_MISSING: (place.row(row), None)} if number else {}
        # True and false can stand among numbers.
        cells = Counter({kind: n_rows - number, NUMBER: n_rows - number})
        found[name] = ColumnProfile(name, n_rows, number, cells, first)
    return {
        name: found[name] if kind else ColumnProfile.of(frame[name], name, place)
        for name, kind in kinds.items()
    }


def _kinds(cells: Any) -> dict[str, BoolArray]:
    """Which of some different cells could be of each kind."""
    texts = cells.astype(str).str.strip()
    found = {
        _MOMENT: cells.map(lambda cell: isinstance(cell, datetime.date)),
        BOOLEAN: texts.str.lower().isin(["true", "false"]),
        NUMBER: ~np.isnan(parsed(cells)),
        DATE: texts.str.fullmatch(ISO_DATE),
        _COMMA: texts.str.fullmatch(_WITH_COMMA),
    }
    return {kind: np.asarray(is_one, dtype=bool) for kind, is_one in found.items()}


def _check_types(cells: Any, series: Any, name: str) -> None:
    is_usable = np.array([isinstance(cell, _CELLS) for cell in cells], dtype=bool)
    if series.dtype.kind in "OU" and is_usable.all():
        return
    kind = series.dtype
    if series.dtype.kind == "O":
        kind = type(cells.iloc[int(np.argmin(is_usable))]).__name__
    raise DataError(
        None,
        f"column `{name}` must hold numbers, texts or dates",
        given=f"it holds {kind}",
        remedy=Phrase("use {}", Setting("drop", [name])),
    )
