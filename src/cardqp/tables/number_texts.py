"""Numbers as people write them: with separators of thousands, signs and units.

Decimals have a point; commas, apostrophes and spaces may be between groups of three
digits.  Decimal commas become points when text is read, by ``separators.py``.
"""

import re
from typing import NamedTuple

SPACES = " \u00a0\u2009\u202f"
"""Spaces that separate thousands, those that do not break lines among them."""

_APOSTROPHES, _DASH = "'’", "−"
GROUPED = SPACES + _APOSTROPHES
"""What separates thousands whatever separates decimals."""

BEFORE = r"(?:US|A|C)?\$|[€£¥₹]|CHF|EUR|GBP|USD"
AFTER = rf"[%‰°$€£¥₹][CF]?|[{SPACES}][^\W\d_]{{1,12}}[²³]?|[^\W\d_]{{2,12}}[²³]?"
"""Units before and after numbers: signs, and words after a space or of two letters.

A letter alone may make a label of a number, as in 12a.
"""

_HEAD = (
    rf"(?P<before>{BEFORE})?[{SPACES}]?(?P<sign>[+{_DASH}-]?)(?P<before2>{BEFORE})?"
    rf"[{SPACES}]?"
)
_TAIL = rf"(?P<power>[eE][+-]?\d+)?[{SPACES}]?(?P<after>{AFTER})?"
_NUMBER = re.compile(
    rf"{_HEAD}(?P<digits>(?:\d{{1,3}}(?:[,{GROUPED}]\d{{3}})+|\d+)(?:\.\d*)?|\.\d+){_TAIL}"
)
_ANY_DIGITS = re.compile(rf"{_HEAD}(?P<digits>[\d.,{GROUPED}]*\d){_TAIL}")
_FIRST = frozenset(f"0123456789.+-{_DASH}$€£¥₹UACEG")
"""What numbers begin with: most texts are none, as is soon seen."""

_GROUPS = str.maketrans("", "", f",{GROUPED}")


class Quantity(NamedTuple):
    """A number and its unit, which is empty if there is none."""

    value: float
    unit: str


def quantity(text: str) -> Quantity | None:
    """The number and the unit in a text; None if it is something else.

    Examples
    --------
    >>> quantity("1,234.5"), quantity("-$1,200"), quantity("12 %")
    (Quantity(value=1234.5, unit=''), Quantity(value=-1200.0, unit='$'), \
Quantity(value=12.0, unit='%'))
    >>> quantity("36 months"), quantity("12 main street")
    (Quantity(value=36.0, unit='months'), None)
    """
    text = text.strip()
    found = _NUMBER.fullmatch(text) if text[:1] in _FIRST else None
    if found is None:
        return None
    before = found["before"] or found["before2"] or ""
    after = (found["after"] or "").strip()
    if before and after:
        return None
    digits = found["digits"].translate(_GROUPS) + (found["power"] or "")
    value = float(digits)
    return Quantity(-value if found["sign"] in ("-", _DASH) else value, before or after)


def digits_of(text: str) -> tuple[int, int] | None:
    """Where digits with any separators are in a text that is a number otherwise.

    Examples
    --------
    >>> digits_of("-1.234,5 kg"), digits_of("31.12.2024"), digits_of("12:30")
    ((1, 8), (0, 10), None)
    """
    found = _ANY_DIGITS.fullmatch(text) if text[:1] in _FIRST else None
    return found and found.span("digits")
