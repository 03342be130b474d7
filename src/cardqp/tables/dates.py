"""Dates as text: years first, months by name, or days or months first."""

import re
from typing import Any

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.tables.frames import require_pandas

DATE = "date"
DAY_FIRST, MONTH_FIRST = f"{DATE}, day first", f"{DATE}, month first"
DATES = (DATE, DAY_FIRST, MONTH_FIRST)
"""Dates of the first kind need no order: years come first, or months are names."""

ORDERS = {"auto": "", "day-first": DAY_FIRST, "month-first": MONTH_FIRST}
"""What users may say of other dates."""

EXAMPLES = {DATE: "2024-12-31", DAY_FIRST: "31.12.2024", MONTH_FIRST: "12/31/2024"}

_CLOCK = (
    r"(?:,?[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<seconds>\d{2}(?:\.\d+)?))?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?\s?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_NAME, _ANY_YEAR = r"(?P<name>[A-Za-z]{3,9})", r"(?P<year>\d{4}|\d{2})"
_ISO = (
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_PLAIN = tuple(
    re.compile(parts + _CLOCK)
    for parts in (
        rf"{_YEAR}(?P<mark>[-/.]){_MONTH}(?P=mark){_DAY}",
        rf"{_DAY}(?:[-/ ]|\. ?){_NAME}(?:[-/ ]|[.,] ){_ANY_YEAR}",
        rf"{_NAME}\.? {_DAY},? {_YEAR}",
    )
)
_YEAR_LAST = re.compile(
    r"(?P<first>\d{1,2})(?P<mark>[./-])(?P<second>\d{1,2})(?P=mark)"
    rf"{_ANY_YEAR}{_CLOCK}"
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_PIVOT = 69
"""Years of two digits from here on are those of the last century, as in POSIX."""


def iso_date(text: str, kind: str) -> str | None:
    """A date of some kind as ISO 8601 has it; None if the text is no such date.

    Days may still be too many for their month.

    Examples
    --------
    >>> [iso_date(text, DATE) for text in ("2024/12/31", "Dec 31, 2024", "31-Dec-24")]
    ['2024-12-31', '2024-12-31', '2024-12-31']
    >>> iso_date("31.12.2024", DAY_FIRST), iso_date("12/31/24 2:30 PM", MONTH_FIRST)
    ('2024-12-31', '2024-12-31T14:30:00')
    """
    parts = _plain(text) if kind == DATE else _with_order(text, kind)
    if parts is None:
        return None
    day, month = int(parts["day"]), int(parts["month"])
    if not (1 <= day <= 31 and 1 <= month <= 12):
        return None
    return f"{_full_year(parts['year'])}-{month:02d}-{day:02d}{_clock(parts)}"


def _plain(text: str) -> dict[str, str] | None:
    """The parts of a date whose order is clear."""
    found = next(filter(None, (form.fullmatch(text) for form in _PLAIN)), None)
    if found is None:
        return None
    parts = found.groupdict("")
    name = parts.get("name", "").lower()
    if name:
        known = (k for k, month in enumerate(_MONTHS, 1) if month.startswith(name))
        parts["month"] = str(9 if name == "sept" else next(known, 0))
    return parts


def _with_order(text: str, kind: str) -> dict[str, str] | None:
    """The parts of a date whose year is last."""
    found = _YEAR_LAST.fullmatch(text)
    if found is None or (kind == MONTH_FIRST and found["mark"] == "."):
        return None
    parts = found.groupdict("")
    first, second = parts["first"], parts["second"]
    # With a year of two digits, 1.2.10 and 10-12-14 are no dates, but 01.02.10 is.
    is_full = parts["mark"] == "." and len(first) == len(second) == 2
    if len(parts["year"]) == 2 and not (is_full or parts["mark"] == "/"):
        return None
    names = ("day", "month") if kind == DAY_FIRST else ("month", "day")
    return parts | dict(zip(names, (first, second), strict=True))


def _full_year(year: str) -> str:
    if len(year) == 4:
        return year
    return f"{'19' if int(year) >= _PIVOT else '20'}{year}"


def _clock(parts: dict[str, str]) -> str:
    """The time of day, which may be counted by halves; empty if there is none."""
    if not parts["hour"]:
        return ""
    hours = int(parts["hour"])
    if parts["half"]:
        hours = hours % 12 + 12 * (parts["half"] in "Pp")
    seconds = parts["seconds"] or "00"
    return f"T{hours:02d}:{parts['minute']}:{seconds}{parts['zone']}"


def are_iso(texts: Any) -> BoolArray:
    """Which texts of a column are dates as ISO 8601 has them."""
    return np.asarray(texts.str.fullmatch(_ISO), dtype=bool)


def moments(cells: Any, kind: str) -> FloatArray:
    """Days since 1970 where texts are dates of a kind, NaN elsewhere."""
    pandas = require_pandas()
    texts = cells.astype(str).str.strip().astype(object)
    other = ~are_iso(texts) if kind == DATE else np.ones(len(texts), dtype=bool)
    texts[other] = [iso_date(text, kind) for text in texts[other]]
    found = pandas.to_datetime(texts, errors="coerce", format="ISO8601", utc=True)
    return days(found)


def days(moments: Any) -> FloatArray:
    """Days since 1970, in UTC where there are time zones."""
    if getattr(moments.dtype, "tz", None) is not None:
        moments = moments.dt.tz_convert(None)
    since = moments.to_numpy().astype("datetime64[us]") - np.datetime64(0, "us")
    return np.asarray(since / np.timedelta64(1, "D"))
