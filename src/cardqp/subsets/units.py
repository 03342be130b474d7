"""Names of what is chosen as one: features, categories and groups."""

from collections.abc import Sequence

import numpy as np

from cardqp._typing import IntArray

LEVEL = "="
"""What stands between a category and its level in the name of a feature."""

NAMED = 3
"""How many features the name of a group lists."""


def unit_names(names: Sequence[str], blocks: IntArray | None) -> tuple[str, ...]:
    """For each feature the name of what it is chosen with.

    The levels of a category have the name of the category, other groups those of their
    features.

    Examples
    --------
    >>> names = ["a", "city=Oslo", "city=Rome", "b", "c"]
    >>> unit_names(names, np.array([0, 1, 1, 2, 2]))
    ('a', 'city', 'city', 'b + c', 'b + c')
    """
    if blocks is None:
        return tuple(names)
    found = list(names)
    for block in np.unique(blocks):
        members = np.flatnonzero(blocks == block).tolist()
        if len(members) > 1:
            name = _together([names[j] for j in members], names)
            for j in members:
                found[j] = name
    return tuple(found)


def _together(members: list[str], names: Sequence[str]) -> str:
    """The name of several features."""
    category = members[0].split(LEVEL)[0]
    if members == [name for name in names if name.startswith(category + LEVEL)]:
        return category
    more = len(members) - NAMED
    shown = " + ".join(members[:NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
