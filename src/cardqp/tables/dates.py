"""Dates as text: years first, or days or months first."""

import re
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.tables.frames import require_pandas

DATE = "date"
DAY_FIRST, MONTH_FIRST = f"{DATE}, day first", f"{DATE}, month first"
DATES = (DATE, DAY_FIRST, MONTH_FIRST)
"""The year is first in dates of the first kind."""

ORDERS = {"auto": "", "day-first": DAY_FIRST, "month-first": MONTH_FIRST}
"""What users may say of dates whose year is last."""

EXAMPLES = {DATE: "2024-12-31", DAY_FIRST: "31.12.2024", MONTH_FIRST: "12/31/2024"}

_CLOCK = r"(?:,?[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*([AaPp])\.?[Mm]\.?)?)?"
_YEAR_FIRST = re.compile(
    r"\d{4}([-/.])\d{2}\1\d{2}"
    r"([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(\s?Z|\s?UTC|[+-]\d{2}:?\d{2})?)?"
)
# Years of two digits want two digits in all parts, or slashes: 1.2.10 is no date.
_YEAR_LAST = re.compile(
    rf"(?:(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}})|(\d{{2}})(\.)(\d{{2}})\6(\d{{2}})"
    rf"|(\d{{1,2}})(/)(\d{{1,2}})\10(\d{{2}})){_CLOCK}"
)
_PIVOT = 69
"""Years of two digits from here on are those of the last century, as in POSIX."""


def iso_date(text: str, kind: str) -> str | None:
    """A date of some kind as ISO 8601 has it; None if the text is no such date.

    Days may still be too many for their month.

    Examples
    --------
    >>> iso_date("31.12.2024", DAY_FIRST), iso_date("2024/12/31", DATE)
    ('2024-12-31', '2024-12-31')
    >>> iso_date("12/31/24 2:30 PM", MONTH_FIRST), iso_date("12/31/24", DAY_FIRST)
    ('2024-12-31T14:30:00', None)
    """
    if kind == DATE:
        return _iso(text) if _YEAR_FIRST.fullmatch(text) else None
    found = _YEAR_LAST.fullmatch(text)
    if found is None:
        return None
    parts = found.groups()
    first, mark, second, year = next(
        parts[k : k + 4] for k in (0, 4, 8) if parts[k] is not None
    )
    if kind == MONTH_FIRST and mark == ".":
        return None
    day, month = (first, second) if kind == DAY_FIRST else (second, first)
    if not (1 <= int(day) <= 31 and 1 <= int(month) <= 12):
        return None
    return f"{_full_year(year)}-{int(month):02d}-{int(day):02d}{_clock(parts[12:])}"


def _iso(text: str) -> str:
    day, clock = text[:10], text[10:].replace("UTC", "Z").replace(" Z", "Z")
    return re.sub("[/.]", "-", day) + clock


def _full_year(year: str) -> str:
    if len(year) == 4:
        return year
    return f"{'19' if int(year) >= _PIVOT else '20'}{year}"


def _clock(parts: tuple[str | None, ...]) -> str:
    """The time of day, which may be counted by halves; empty if there is none."""
    hour, minute, second, half = parts
    if hour is None:
        return ""
    hours = int(hour)
    if half is not None:
        hours = hours % 12 + 12 * (half in "Pp")
    return f"T{hours:02d}:{minute}:{second or '00'}"


def moments(cells: Any, kind: str) -> FloatArray:
    """Days since 1970 where texts are dates of a kind, NaN elsewhere."""
    texts = [iso_date(str(cell).strip(), kind) for cell in cells]
    pandas = require_pandas()
    found = pandas.to_datetime(
        pandas.Series(texts, dtype=object), errors="coerce", format="ISO8601", utc=True
    )
    return days(found)


def days(moments: Any) -> FloatArray:
    """Days since 1970, in UTC where there are time zones."""
    if getattr(moments.dtype, "tz", None) is not None:
        moments = moments.dt.tz_convert(None)
    since = moments.to_numpy().astype("datetime64[us]") - np.datetime64(0, "us")
    return np.asarray(since / np.timedelta64(1, "D"))
