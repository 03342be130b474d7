"""Types of the columns of a table, and how their cells become numbers or labels.

Missing cells are NaN.  Dates become days since 1970, labels the codes that they have in
the part of a table that is at hand.
"""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.tables.frames import require_pandas
from cardqp.tables.place import Place

KINDS = ("number", "boolean", "date", "category")
NUMBER, BOOLEAN, DATE, CATEGORY = KINDS

ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"

EXPECTED = {
    NUMBER: "numbers",
    BOOLEAN: "true or false",
    DATE: "dates such as 2024-12-31",
}
"""Names of the cells of each kind in messages."""

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
    if kind == DATE and series.dtype.kind == "M":
        return _days(series)
    found = Distinct.of(series)
    convert = {NUMBER: parsed, BOOLEAN: _truths, DATE: _moments}[kind]
    values = np.asarray(convert(found.cells), dtype=float)
    wrong = np.isnan(values)
    if wrong.any():
        rows = np.flatnonzero(np.append(wrong, False)[found.codes])
        cell = series.iloc[int(rows[0])]
        refuse(cell, place.row(int(rows[0])), len(rows), name, kind)
    return found.spread(values)


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


def parsed(cells: Any) -> FloatArray:
    """Numbers where objects are numbers, NaN elsewhere."""
    pandas = require_pandas()
    try:
        values = pandas.to_numeric(cells, errors="coerce")
    except OverflowError:  # an integer beyond all floats: pandas reads no cell at all
        values = pandas.to_numeric(cells.map(_as_float), errors="coerce")
    return np.asarray(values.astype(float).to_numpy(dtype=float, na_value=np.nan))


def refuse(cell: Any, where: str, number: int, name: str, kind: str) -> NoReturn:
    """Complain of some cells, the first in row ``where``, that are not of a kind."""
    text = str(cell)[:40]
    more = f" (and {number - 1} more such cells)" if number > 1 else ""
    raise DataError(
        None,
        f"column `{name}` must hold {EXPECTED[kind]}",
        given=f"{where} has {text!r}{more}",
        remedy=Phrase(
            "correct it, or use {}, {} or {}",
            Setting("missing_values", [text]),
            Setting("categorical", [name]),
            Setting("drop", [name]),
        ),
    )


def _truths(cells: Any) -> Any:
    """0 where objects say false, 1 where they say true, NaN elsewhere."""
    return cells.map(lambda cell: _TRUTH.get(label(cell).lower(), np.nan))


def _moments(cells: Any) -> FloatArray:
    """Days where texts are dates, NaN elsewhere."""
    texts = cells.astype(str).str.strip()
    valid = texts.str.fullmatch(ISO_DATE, na=False).astype(bool)
    moments = require_pandas().to_datetime(
        texts.where(valid), errors="coerce", format="ISO8601", utc=True
    )
    return _days(moments)


def _days(moments: Any) -> FloatArray:
    if getattr(moments.dtype, "tz", None) is not None:
        moments = moments.dt.tz_convert(None)
    since = moments.to_numpy().astype("datetime64[us]") - np.datetime64(0, "us")
    return np.asarray(since / np.timedelta64(1, "D"))


def _as_float(cell: Any) -> Any:
    """An integer of many digits as a number, which may be infinite."""
    is_integer = str(cell).strip().lstrip("+-").isdecimal()
    return float(str(cell)) if is_integer else cell
