"""Types of the columns of a table, and how their cells become numbers or labels.

Missing cells are NaN.  Dates become days since 1970, labels the codes that they have in
the part of a table that is at hand.
"""

import re
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import Phrase, Setting
from cardqp.tables.complaints import ColumnError
from cardqp.tables.dates import DATES, EXAMPLES, days, moments
from cardqp.tables.frames import require_pandas
from cardqp.tables.number_texts import quantity
from cardqp.tables.place import Place

NUMBER, BOOLEAN, CATEGORY = "number", "boolean", "category"

_IN = f"{NUMBER} in "

FEW = 3
"""So many different texts among numbers may be words for what is missing."""


HAS_DIGIT = re.compile(r"\d")


def number_in(unit: str) -> str:
    """The kind of numbers with a unit, or without one if it is empty."""
    return f"{_IN}{unit}" if unit else NUMBER


def unit_of(kind: str) -> str:
    """The unit of the numbers of a kind; empty if there is none."""
    return kind.removeprefix(_IN) if kind.startswith(_IN) else ""


def is_numeric(kind: str) -> bool:
    """Whether cells of a kind are numbers, with a unit or without."""
    return kind == NUMBER or kind.startswith(_IN)


def is_kind(kind: object) -> bool:
    """Whether something, which may be from a file, is a kind."""
    if not isinstance(kind, str):
        return False
    return kind in (BOOLEAN, CATEGORY, *DATES) or is_numeric(kind)


def expected(kind: str) -> str:
    """How messages call the cells of a kind."""
    if kind in DATES:
        return f"dates such as {EXAMPLES[kind]}"
    return "true or false" if kind == BOOLEAN else kind.replace(NUMBER, "numbers", 1)


_UNIFORM = ("string", "date", "empty")
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


PLAIN = {"b": BOOLEAN, "i": NUMBER, "u": NUMBER, "f": NUMBER}
"""Kinds of columns by the letters of NumPy for kinds of types."""


def plain_kinds(frame: Any) -> dict[str, str | None]:
    """Kinds of the columns whose type is one of numbers, by name; None for others."""
    kinds = (PLAIN.get(dtype.kind) for dtype in frame.dtypes)
    return dict(zip(frame.columns, kinds, strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class Distinct:
    """The cells of a column, each different one once.

    Attributes
    ----------
    cells : pandas.Series of objects
        The different cells; those of mixed types may occur more than once.
    codes : (n_rows,) int array
        Which of them each row has; -1 where there is none.
    """

    cells: Any
    codes: IntArray

    @classmethod
    def of(cls, series: Any) -> "Distinct":
        """The different cells of a column."""
        pandas = require_pandas()
        one_type = series.dtype.kind in "biuf" or isinstance(
            series.dtype, pandas.StringDtype
        )
        cells = series if one_type else series.astype(object)
        if one_type or pandas.api.types.infer_dtype(cells, skipna=True) in _UNIFORM:
            codes, found = pandas.factorize(cells)
            return cls(pandas.Series(found).astype(object), np.asarray(codes))
        present = cells.notna().to_numpy()  # 1, 1.0 and True would be one
        codes = np.where(present, np.cumsum(present) - 1, -1)
        return cls(cells[present].reset_index(drop=True), codes)

    def spread(self, values: FloatArray) -> FloatArray:
        """The value of each row's cell; NaN where there is none."""
        return np.append(values, np.nan)[self.codes]  # -1 is the last

    def counts(self) -> IntArray:
        """Number of rows that have each cell, in the order of ``cells``."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.cells))


def as_numbers(series: Any, name: str, place: Place, kind: str) -> FloatArray:
    """Cells of any kind but labels as numbers; the first that is no such is refused.

    Dates become days since 1970, in UTC where there are time zones; false becomes 0,
    true 1.
    """
    if kind in DATES and series.dtype.kind == "M":
        return days(series)
    found = Distinct.of(series)
    values = _converted(found.cells, kind)
    wrong = np.isnan(values)
    if wrong.any():
        rows = np.flatnonzero(np.append(wrong, False)[found.codes])
        row, texts = int(rows[0]), found.cells[wrong].astype(str).str.strip()
        odd = OddCells(place.row(row), series.iloc[row], tuple(texts.unique()))
        odd.refuse(name, kind, len(rows))
    return found.spread(values)


def _converted(cells: Any, kind: str) -> FloatArray:
    """Numbers where objects are of a kind, NaN elsewhere."""
    if kind == BOOLEAN:
        return np.asarray(_truths(cells), dtype=float)
    return moments(cells, kind) if kind in DATES else parsed(cells, unit_of(kind))


def as_codes(series: Any) -> tuple[FloatArray, tuple[str, ...]]:
    """Codes of labels, the same for 1 and 1.0, and the labels they stand for."""
    found = Distinct.of(series)
    number: dict[str, int] = {}
    texts = (label(cell) for cell in found.cells)
    places = [number.setdefault(text, len(number)) for text in texts]
    return found.spread(np.array(places, dtype=float)), tuple(number)


def label(cell: Any) -> str:
    """A cell as text."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def parsed(cells: Any, unit: str = "") -> FloatArray:
    """Numbers where objects are numbers in a unit, NaN elsewhere."""
    values, units = quantities(cells)
    return np.where(units == unit, values, np.nan)


def quantities(cells: Any) -> tuple[FloatArray, Any]:
    """Numbers where objects are numbers, NaN elsewhere; and an array of their units."""
    values, units = _plain_numbers(cells), np.full(len(cells), "", dtype=object)
    rows = np.flatnonzero(np.isnan(values))
    for i, cell in zip(rows, cells.iloc[rows], strict=True):
        found = quantity(cell) if isinstance(cell, str) else None
        if found is not None:
            values[i], units[i] = found
    return values, units


def _plain_numbers(cells: Any) -> FloatArray:
    pandas = require_pandas()
    try:
        values = pandas.to_numeric(cells, errors="coerce")
    except OverflowError:  # an integer beyond all floats: pandas reads no cell at all
        values = pandas.to_numeric(cells.map(_as_float), errors="coerce")
    return np.array(values.astype(float).to_numpy(dtype=float, na_value=np.nan))


@dataclass(frozen=True, slots=True)
class OddCells:
    """Cells of a column that are not of a kind.

    Attributes
    ----------
    where : str
        The row of the first of them.
    cell : object
        The first of them.
    texts : tuple of str
        Different ones, not all if they are more than ``FEW``.
    """

    where: str
    cell: Any
    texts: tuple[str, ...]

    def __add__(self, other: "OddCells") -> "OddCells":
        """Those of both; this one's come first."""
        texts = tuple(dict.fromkeys((*self.texts, *other.texts)))
        return OddCells(self.where, self.cell, texts[: FEW + 1])

    def refuse(self, name: str, kind: str, number: int) -> NoReturn:
        """Complain of the cells, so many in all, in a column that must be of a kind."""
        text = str(self.cell)[:40]
        more = f" (and {number - 1} more such cells)" if number > 1 else ""
        fix = Setting("drop", [name])
        # Texts with digits are no words for what is missing.
        if len(self.texts) <= FEW and not any(map(HAS_DIGIT.search, self.texts)):
            fix = Setting("missing_values", list(self.texts))
        raise ColumnError(
            name,
            f"must hold {expected(kind)}",
            given=f"{self.where} has {text!r}{more}",
            remedy=Phrase(
                "correct it, or use {}, {} or {}",
                Setting("missing_values", [text]),
                Setting("categorical", [name]),
                Setting("drop", [name]),
            ),
            fix=[fix],
        )


def _truths(cells: Any) -> Any:
    """0 where objects say false, 1 where they say true, NaN elsewhere."""
    return cells.map(lambda cell: _TRUTH.get(label(cell).lower(), np.nan))


def _as_float(cell: Any) -> Any:
    """An integer of many digits as a number, which may be infinite."""
    is_integer = str(cell).strip().lstrip("+-").isdecimal()
    return float(str(cell)) if is_integer else cell
