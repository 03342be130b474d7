"""What a column of a table holds, and how its cells become numbers or labels.

Missing cells are NaN among numbers and None among labels.  Dates become days since
1970.
"""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.datasets.frames import require_pandas
from cardqp.exceptions import DataError

KINDS = ("number", "boolean", "date", "category")
NUMBER, BOOLEAN, DATE, CATEGORY = KINDS

MOST = 0.5
"""A column of text with a larger share of numbers, or of dates, is meant to be one."""

_ISO = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_WITH_COMMA = r"[+-]?\d*,\d+"
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
_CELLS = (str, bool, int, float, np.bool_, np.number, Decimal, datetime.date)


def kind_of(series: Any, name: str) -> str:
    """What a column seems to hold: one of ``KINDS``.

    Parameters
    ----------
    series : pandas.Series
        The column.
    name : str
        How messages call it.

    Raises
    ------
    DataError
        When most cells are numbers, or dates, but not all; or when cells are neither
        numbers nor text nor dates.
    """
    kinds = {"b": BOOLEAN, "i": NUMBER, "u": NUMBER, "f": NUMBER, "M": DATE}
    if isinstance(series.dtype, require_pandas().CategoricalDtype):
        return CATEGORY
    return kinds.get(series.dtype.kind) or _kind_of_objects(series, name)


def _kind_of_objects(series: Any, name: str) -> str:
    present = series.dropna().astype(object)
    _check_types(present, series, name)
    if present.map(lambda cell: isinstance(cell, datetime.date)).all():
        return DATE
    texts = present.astype(str).str.strip()
    if texts.str.lower().isin(["true", "false"]).all():
        return BOOLEAN
    if _is_mostly(_parsed(present).notna()):
        as_numbers(series, name)
        return NUMBER
    if _is_mostly(texts.str.fullmatch(_ISO)):
        as_days(series, name)
        return DATE
    if _is_mostly(texts.str.fullmatch(_WITH_COMMA)):
        raise DataError(
            f"column `{name}` must have decimal points: a cell is {texts.iloc[0]!r}; "
            "pass `--decimal ,`, or remove commas that separate thousands."
        )
    return CATEGORY


def _is_mostly(wanted: Any) -> bool:
    return bool(wanted.mean() > MOST)


def _check_types(present: Any, series: Any, name: str) -> None:
    is_usable = present.map(lambda cell: isinstance(cell, _CELLS))
    if series.dtype.kind not in "OU" or not is_usable.all():
        kind = series.dtype
        if series.dtype.kind == "O":
            kind = type(present[~is_usable.astype(bool)].iloc[0]).__name__
        raise DataError(
            f"column `{name}` must hold numbers, texts or dates: it holds {kind}; pass "
            f"`--drop {name}`."
        )


def as_numbers(series: Any, name: str) -> FloatArray:
    """Numbers, or an error that names the first cell that is none."""
    values = _parsed(series)
    wrong = series.notna() & values.isna()
    if wrong.any():
        _refuse(series, wrong, name, "numbers")
    return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))


def as_truth(series: Any, name: str) -> FloatArray:
    """0 for false, 1 for true."""
    values = series.map(
        lambda cell: _TRUTH.get(label(cell).lower()), na_action="ignore"
    )
    wrong = series.notna() & values.isna()
    if wrong.any():
        _refuse(series, wrong, name, "true or false")
    return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))


def as_days(series: Any, name: str) -> FloatArray:
    """Days since 1970, in UTC where there are time zones."""
    pandas = require_pandas()
    if series.dtype.kind != "M":
        texts = series.astype(object).astype(str).str.strip().where(series.notna())
        valid = texts.str.fullmatch(_ISO, na=False).astype(bool)
        parsed = pandas.to_datetime(
            texts.where(valid), errors="coerce", format="ISO8601", utc=True
        )
        wrong = series.notna() & parsed.isna()
        if wrong.any():
            _refuse(series, wrong, name, "dates such as 2024-12-31")
        series = parsed
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert(None)
    since = series.to_numpy().astype("datetime64[us]") - np.datetime64(0, "us")
    return np.asarray(since / np.timedelta64(1, "D"))


def as_labels(series: Any) -> Any:
    """Texts, the same for 1 and 1.0, in an array of objects."""
    cells = series.astype(object)
    texts = [
        None if absent else label(cell)
        for cell, absent in zip(cells, cells.isna(), strict=True)
    ]
    return np.array(texts, dtype=object)


def label(cell: Any) -> str:
    """A cell as text."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def absent(labels: Any) -> BoolArray:
    """Where labels are missing."""
    return np.array([cell is None for cell in labels], dtype=bool)


def _parsed(series: Any) -> Any:
    """Numbers where cells are numbers, missing elsewhere."""
    if series.dtype.kind in "biuf":
        return series
    cells, pandas = series.astype(object), require_pandas()
    try:
        return pandas.to_numeric(cells, errors="coerce").astype(float)
    except OverflowError:  # an integer beyond all floats: pandas reads no cell at all
        return pandas.to_numeric(cells.map(_as_float), errors="coerce").astype(float)


def _as_float(cell: Any) -> Any:
    """An integer of many digits as a number, which may be infinite."""
    is_integer = str(cell).strip().lstrip("+-").isdecimal()
    return float(str(cell)) if is_integer else cell


def _refuse(series: Any, wrong: Any, name: str, what: str) -> NoReturn:
    row = int(np.flatnonzero(wrong.to_numpy(dtype=bool))[0])
    cell = str(series.iloc[row])[:40]
    count = int(wrong.sum())
    more = f" (and {count - 1} more such cells)" if count > 1 else ""
    raise DataError(
        f"column `{name}` must hold {what}: row {row + 1} has {cell!r}{more}; correct "
        f"it, or pass `--missing-values '{cell}'`, `--categorical {name}` or `--drop "
        f"{name}`."
    )


CONVERT: dict[str, Callable[[Any, str], FloatArray]] = {
    NUMBER: as_numbers,
    BOOLEAN: as_truth,
    DATE: as_days,
}
"""How cells of each kind become numbers."""
