"""Counts of the cells of columns, which add up over parts of a table and tell types."""

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from cardqp._typing import BoolArray
from cardqp.exceptions import Phrase, Setting
from cardqp.tables.complaints import ColumnError
from cardqp.tables.dates import (
    DATE,
    DATES,
    DAY_FIRST,
    MONTH_FIRST,
    ORDERS,
    are_iso,
    iso_date,
)
from cardqp.tables.frames import require_pandas
from cardqp.tables.kinds import (
    BOOLEAN,
    CATEGORY,
    FEW,
    HAS_DIGIT,
    NUMBER,
    Distinct,
    OddCells,
    is_numeric,
    number_in,
    plain_kinds,
    quantities,
    unit_of,
)
from cardqp.tables.place import MissingCells, Place

MOST = 0.5
"""A column of text with a larger share of numbers, or of dates, is meant to be one."""

MOST_UNITS = 20
"""More different units are not told apart."""

_MOMENT, _COMMA = "moment", "comma"
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
    odd : dict
        The cells that are not of a kind, for the kinds of some cells.
    first_missing : str
        The first row without a cell; empty if there is none.
    is_text : bool
        Whether it came as text, at least in part.
    is_label : bool
        Whether it was declared to hold labels.
    """

    name: str
    n_rows: int = 0
    n_missing: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    odd: Mapping[str, OddCells] = field(default_factory=dict)
    first_missing: str = ""
    is_text: bool = False
    is_label: bool = False

    @classmethod
    def of(cls, series: Any, name: str, place: Place) -> "ColumnProfile":
        """Count the cells of a column whose type is not one of numbers."""
        gone = series.isna().to_numpy(dtype=bool)
        present = len(gone) - int(gone.sum())
        size = len(gone), len(gone) - present
        where = place.row(int(np.argmax(gone))) if present < len(gone) else ""
        if isinstance(series.dtype, require_pandas().CategoricalDtype):
            return cls(name, *size, first_missing=where, is_label=True)
        if series.dtype.kind == "M":
            found = Counter({_MOMENT: present, DATE: present})
            return cls(name, *size, found, first_missing=where)
        return cls(name, *size, *_counted(series, name, place), where, is_text=True)

    def __add__(self, other: "ColumnProfile") -> "ColumnProfile":
        """The counts of both; the first cells of this one come first."""
        odd = {**self.odd, **other.odd}
        both = self.odd.keys() & other.odd.keys()
        return ColumnProfile(
            self.name,
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            self.counts + other.counts,
            odd | {kind: self.odd[kind] + other.odd[kind] for kind in both},
            self.first_missing or other.first_missing,
            self.is_text or other.is_text,
            self.is_label or other.is_label,
        )

    @property
    def missing_cells(self) -> list[MissingCells]:
        """Count and first row of the missing cells, if there are some."""
        if not self.n_missing:
            return []
        return [
            MissingCells(self.name, self.n_missing, self.n_rows, self.first_missing)
        ]

    @property
    def is_empty(self) -> bool:
        """Whether no row has a cell."""
        return self.n_missing == self.n_rows

    @property
    def must_be_text(self) -> bool:
        """Whether cells that could be numbers or booleans are text, as others are."""
        return self.is_text and self.counts[BOOLEAN] < self.n_rows - self.n_missing

    @property
    def n_present(self) -> int:
        """Number of rows with a cell."""
        return self.n_rows - self.n_missing

    @property
    def share_missing(self) -> float:
        """Share of the rows without a cell."""
        return self.n_missing / max(self.n_rows, 1)

    def kind(self, dates: str = "auto") -> str:
        """The kind of the column that its cells suggest.

        Columns where most cells are numbers, or dates, but not all, are refused; so are
        dates such as 03/04/2024 only, unless ``dates`` has the order of their parts.
        """
        present = self.n_present
        if self.is_label:
            return CATEGORY
        for kind, name in ((DATE, _MOMENT), (BOOLEAN, BOOLEAN)):
            if self.counts[name] == present:
                return kind
        for kind, number in (self._numeric_kind(), self._date_kind(dates)):
            if number > MOST * present:
                n_odd = present - self.counts[kind]
                if n_odd and kind in self.odd:
                    self.odd[kind].refuse(self.name, kind, n_odd)
                return kind
        if self.counts[_COMMA] > MOST * present:
            odd = self.odd[NUMBER]
            raise ColumnError(
                self.name,
                "must have decimal points",
                given=f"{odd.where} has {odd.cell!r}",
                remedy=Phrase("use {}", Setting("decimal", ",")),
                fix=[Setting("decimal", ",")],
            )
        return CATEGORY

    def _numeric_kind(self) -> tuple[str, int]:
        """The kind of most numbers, and how many cells are numbers of any."""
        found = {
            kind: number
            for kind, number in self.counts.items()
            if is_numeric(kind) and self._is_measured(kind)
        }
        return max(found, key=lambda k: found[k], default=NUMBER), sum(found.values())

    def _is_measured(self, kind: str) -> bool:
        """Whether numbers of a kind are no labels.

        Labels may be 1 year, 2 years, 10+ years: words are units only if there are few
        other texts, and none with digits.
        """
        if not unit_of(kind).isalpha() or kind not in self.odd:
            return True
        texts = self.odd[kind].texts
        return len(texts) <= FEW and not any(map(HAS_DIGIT.search, texts))

    def _date_kind(self, dates: str) -> tuple[str, int]:
        """The kind of most dates, and how many cells are of it."""
        wanted = (DATE, ORDERS[dates]) if ORDERS[dates] else DATES
        best = max(wanted, key=lambda kind: self.counts[kind])
        number = self.counts[best]
        is_open = DAY_FIRST in wanted and MONTH_FIRST in wanted
        is_tie = number == self.counts[DAY_FIRST] == self.counts[MONTH_FIRST]
        if is_open and is_tie and number > MOST * self.n_present:
            raise ColumnError(
                self.name,
                "must show whether days or months come first",
                given="no number in its dates is above 12",
                remedy=Phrase(
                    "use {} or {}",
                    Setting("dates", "month-first"),
                    Setting("dates", "day-first"),
                ),
                fix=[Setting("dates", "month-first")],
            )
        return best, number


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
        where = place.row(row) if number else ""
        # True and false can stand among numbers.
        cells = Counter({kind: n_rows - number, NUMBER: n_rows - number})
        found[name] = ColumnProfile(name, n_rows, number, cells, first_missing=where)
    return {
        name: found[name] if kind else ColumnProfile.of(frame[name], name, place)
        for name, kind in kinds.items()
    }


def _counted(
    series: Any, name: str, place: Place
) -> tuple[Counter[str], dict[str, OddCells]]:
    """How many cells could be of each kind, and those that are not."""
    found = Distinct.of(series)
    _check_types(found.cells, series, name)
    number, counts, odd = found.counts(), Counter[str](), dict[str, OddCells]()
    for kind, is_one in _kinds(found.cells).items():
        counts[kind] = int(number[is_one].sum())
        rows = np.flatnonzero(np.append(~is_one, False)[found.codes])
        if len(rows):
            row, texts = int(rows[0]), found.cells[~is_one].astype(str).str.strip()
            few = tuple(texts.unique()[: FEW + 1])
            odd[kind] = OddCells(place.row(row), series.iloc[row], few)
    return counts, odd


def _kinds(cells: Any) -> dict[str, BoolArray]:
    """Which of some different cells could be of each kind."""
    texts = cells.astype(str).str.strip()
    found = {
        _MOMENT: cells.map(lambda cell: isinstance(cell, datetime.date)),
        BOOLEAN: texts.str.lower().isin(["true", "false"]),
        _COMMA: texts.str.fullmatch(_WITH_COMMA),
    }
    found |= _dates(texts)
    values, units = quantities(cells)
    is_number = ~np.isnan(values)
    several = set(units[is_number])
    # Texts with many different words after numbers are no measurements.
    for unit in several | {""} if len(several) <= MOST_UNITS else {""}:
        found[number_in(unit)] = is_number & (units == unit)
    return {kind: np.asarray(is_one, dtype=bool) for kind, is_one in found.items()}


def _dates(texts: Any) -> dict[str, BoolArray]:
    """Which texts are dates of each kind; most are plain, if there are any."""
    is_iso = are_iso(texts)
    found = {kind: np.zeros(len(texts), dtype=bool) for kind in DATES}
    for kind, is_one in found.items():
        is_one[~is_iso] = [iso_date(t, kind) is not None for t in texts[~is_iso]]
    found[DATE] |= is_iso
    return found


def _check_types(cells: Any, series: Any, name: str) -> None:
    is_usable = np.array([isinstance(cell, _CELLS) for cell in cells], dtype=bool)
    if series.dtype.kind in "OU" and is_usable.all():
        return
    kind = series.dtype
    if series.dtype.kind == "O":
        kind = type(cells.iloc[int(np.argmin(is_usable))]).__name__
    drop = Setting("drop", [name])
    raise ColumnError(
        name,
        "must hold numbers, texts or dates",
        given=f"it holds {kind}",
        remedy=Phrase("use {}", drop),
        fix=[drop],
    )
