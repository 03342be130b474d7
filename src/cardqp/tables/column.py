"""How one column of a table becomes one or more columns of numbers."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import DataError
from cardqp.tables.dates import DATES
from cardqp.tables.kinds import CATEGORY, is_kind


@dataclass(frozen=True, slots=True)
class Column:
    """The encoding of one column.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        ``number``, ``boolean``, ``date`` or ``category``.  Numbers may have a unit, as
        in ``number in kg``, and dates an order, as in ``date, day first``.
    origin : float
        What is subtracted from numbers: the first date, in days since 1970, or 0.
    fill : float
        What may stand for missing numbers: their mean, the origin subtracted.
    levels : tuple of str
        The labels of a category.  The first, the most frequent one, is what the others
        are compared with: it has no column of its own, and stands for missing labels.
    """

    name: str
    kind: str
    origin: float = 0.0
    fill: float = 0.0
    levels: tuple[str, ...] = ()

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        if self.kind != CATEGORY:
            return (self.name,)
        return tuple(f"{self.name}={level}" for level in self.levels[1:])

    def dummies(
        self, codes: FloatArray, labels: Sequence[str]
    ) -> tuple[FloatArray, int]:
        """A column of zeros and ones for each level but the first.

        Codes stand for labels, NaN for missing cells.  Also how many of the cells have
        labels that are none of the levels: they are taken for the first.
        """
        place = {level: code for code, level in enumerate(self.levels)}
        known = np.array([place.get(label, -1) for label in labels] + [0])
        # Missing labels have the last one.
        found = known[np.where(np.isnan(codes), -1, codes).astype(int)]
        columns = found[:, None] == np.arange(1, len(self.levels))
        return columns.astype(float), int((found < 0).sum())

    def to_dict(self) -> dict[str, Any]:
        """The fields that its kind uses, as a dictionary that JSON can hold."""
        entry: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind == CATEGORY:
            return entry | {"levels": list(self.levels)}
        return entry | {key: getattr(self, key) for key in _numbers(self.kind)}

    @classmethod
    def from_dict(cls, entry: Any) -> "Column":
        """The column that :meth:`to_dict` wrote; any other entry is refused."""
        wrong = _complaint(entry)
        if wrong:
            raise DataError("columns", "must hold columns of an encoder", given=wrong)
        name, kind = entry["name"], entry["kind"]
        if kind == CATEGORY:
            return cls(name, kind, levels=tuple(entry["levels"]))
        numbers: dict[str, Any] = {key: float(entry[key]) for key in _numbers(kind)}
        return cls(name, kind, **numbers)


def _numbers(kind: str) -> tuple[str, ...]:
    """Fields that hold a number, if they are used for columns of a kind."""
    return ("origin", "fill") if kind in DATES else ("fill",)


def _complaint(entry: Any) -> str:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        return f"an entry without a name is {str(entry)[:40]!r}"
    name, kind = entry["name"], entry.get("kind")
    if not is_kind(kind):
        return f"the kind of {name!r} is {kind!r}"
    if kind == CATEGORY:
        good = _are_texts(entry.get("levels"))
        return (
            "" if good else f"`levels` of {name!r} must be distinct texts, two or more"
        )
    for key in _numbers(str(kind)):
        if not is_finite(entry.get(key)):
            return f"`{key}` of {name!r} is {entry.get(key)!r}"
    return ""


def _are_texts(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(text, str) for text in value)
        and len(set(value)) == len(value) > 1
    )


def is_finite(value: Any) -> bool:
    """Whether something from JSON is a finite number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max
