"""Names and counts in sentences."""

from collections.abc import Mapping, Sequence

SHOWN = 5
"""How many names are listed."""


def listed(names: Sequence[str], details: Mapping[str, str] | None = None) -> str:
    """The first names, and how many others there are; details come in brackets.

    Examples
    --------
    >>> listed(["age", "size"], {"size": "20 %"})
    '`age`, `size` (20 %)'
    """
    known = details or {}
    words = (f"`{n}` ({known[n]})" if n in known else f"`{n}`" for n in names[:SHOWN])
    shown, more = ", ".join(words), len(names) - SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """A share in percent, with three digits.

    Examples
    --------
    >>> percent(0.19865), percent(1.0)
    ('19.9 %', '100 %')
    """
    return f"{100 * share:.3g} %"
