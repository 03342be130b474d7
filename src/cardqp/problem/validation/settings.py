"""Settings of methods: numbers and counts within their ranges, objects of a kind."""

from collections.abc import Collection, Iterable
from dataclasses import fields
from numbers import Real
from typing import Annotated, Any

import numpy as np

from cardqp.exceptions import InputError, ParameterError


def demand(
    is_met: bool,
    name: str,
    rule: str,
    value: Any,
    error: type[InputError] = ParameterError,
) -> None:
    """Refuse the value of an argument unless a rule is met."""
    if not is_met:
        raise error(name, rule, given=f"it is {value!r}")


def at_least(name: str, value: Any, least: float) -> None:
    """A setting of a method that has a smallest value."""
    rule = f"must be a number, at least {least:g}"
    demand(_is_number(value) and value >= least, name, rule, value)


def positive(name: str, value: Any) -> None:
    """A setting of a method that must be larger than zero."""
    is_met = _is_number(value) and value > 0
    demand(is_met, name, "must be a positive number", value)


def share(name: str, value: Any) -> None:
    """A setting of a method that is a part of a whole, between 0 and 1."""
    is_met = _is_number(value) and 0 <= value <= 1
    demand(is_met, name, "must be a number between 0 and 1", value)


def count(name: str, value: Any, least: int = 1) -> None:
    """A setting of a method that counts something, at least one by default."""
    rule = f"must be an integer, at least {least}"
    demand(is_integer(value) and value >= least, name, rule, value)


def _not_negative(name: str, value: Any) -> None:
    at_least(name, value, 0.0)


def _at_least_one(name: str, value: Any) -> None:
    at_least(name, value, 1.0)


# Types of fields that name their range; `ranges` checks it.
Count = Annotated[int, count]
Whole = Annotated[int, _not_negative]
NotNegative = Annotated[float, _not_negative]
AtLeastOne = Annotated[float, _at_least_one]
Positive = Annotated[float, positive]
Share = Annotated[float, share]
PositiveShare = Annotated[float, share, positive]


def ranges(settings: Any) -> None:
    """Check fields of an object by the ranges that their types name, and its parts.

    Fields that are made by a class, by default, must be of that class.
    """
    for part in fields(settings):
        for rule in getattr(part.type, "__metadata__", ()):
            rule(part.name, getattr(settings, part.name))
        if isinstance(part.default_factory, type):
            instance(part.name, getattr(settings, part.name), part.default_factory)


def whole(name: str, value: Any) -> None:
    """A whole number, zero or more."""
    if not is_integer(value) or value < 0:
        raise ParameterError(
            name, "must hold integers, at least 0", given=f"it holds {value!r}"
        )


def level(value: Any, largest: int) -> int:
    """A level of the hierarchy between 1 and ``largest``."""
    demand(is_integer(value), "level", "must be an integer", value)
    rule = f"must lie between 1 and {largest}, the number of eigenvectors at hand"
    demand(1 <= value <= largest, "level", rule, int(value))
    return int(value)


def instance(name: str, value: Any, kind: type) -> None:
    """An argument that must be one of our own objects."""
    if not isinstance(value, kind):
        raise ParameterError(
            name, f"must be a {kind.__name__}", given=f"it is a {type(value).__name__}"
        )


def listing(name: str, value: Any, what: str, kind: Any = object) -> None:
    """Refuse what is not a list; a string is not."""
    is_list = isinstance(value, Collection) and not isinstance(value, str | bytes)
    is_met = is_list and all(isinstance(entry, kind) for entry in value)
    demand(is_met, name, f"must be a list of {what}", value)


def integers(name: str, value: Any) -> None:
    """Refuse what has no entries; each of them is checked by itself."""
    demand(isinstance(value, Iterable), name, "must be a list of integers", value)


def one_of(name: str, value: Any, allowed: Iterable[str]) -> None:
    """A setting that is one of some names."""
    known = tuple(allowed)
    demand(value in known, name, f"must be one of {', '.join(known)}", value)


def function(name: str, value: Any) -> None:
    """Something to be called, or None."""
    demand(value is None or callable(value), name, "must be a function", value)


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
