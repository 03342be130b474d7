"""Names and counts in sentences."""

from collections.abc import Sequence

SHOWN = 5
"""How many names are listed."""


def listed(names: Sequence[str]) -> str:
    """The first names, and how many others there are."""
    shown = ", ".join(f"`{name}`" for name in names[:SHOWN])
    more = len(names) - SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
