"""Settings of methods: numbers and counts within their ranges, objects of a kind."""

from collections.abc import Collection, Iterable
from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np

from cardqp.exceptions import ParameterError


def at_least(name: str, value: Any, least: float) -> None:
    """A setting of a method that has a smallest value."""
    if not _is_number(value) or not value >= least:
        raise ParameterError(
            name, f"must be a number, at least {least:g}", given=f"it is {value!r}"
        )


def positive(name: str, value: Any) -> None:
    """A setting of a method that must be larger than zero."""
    if not _is_number(value) or not value > 0:
        raise ParameterError(
            name, "must be a positive number", given=f"it is {value!r}"
        )


def share(name: str, value: Any) -> None:
    """A setting of a method that is a part of a whole, between 0 and 1."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise ParameterError(
            name, "must be a number between 0 and 1", given=f"it is {value!r}"
        )


def count(name: str, value: Any) -> None:
    """A setting of a method that counts something, at least one."""
    if not is_integer(value) or value < 1:
        raise ParameterError(
            name, "must be an integer, at least 1", given=f"it is {value!r}"
        )


def ranges(
    settings: Any,
    *,
    counts: str = "",
    shares: str = "",
    positives: str = "",
    nonnegatives: str = "",
) -> None:
    """Check fields of an object, named in strings with spaces, and its parts.

    Fields that are made by a class, by default, must be of that class.
    """
    rules = (count, counts), (share, shares), (positive, positives)
    for rule, names in rules:
        for name in names.split():
            rule(name, getattr(settings, name))
    for name in nonnegatives.split():
        at_least(name, getattr(settings, name), 0.0)
    for part in fields(settings):
        if isinstance(part.default_factory, type):
            instance(part.name, getattr(settings, part.name), part.default_factory)


def seed(value: Any) -> None:
    """Check the seed of random choices: a nonnegative integer."""
    if not is_integer(value) or value < 0:
        raise ParameterError(
            "seed", "must be an integer, at least 0", given=f"it is {value!r}"
        )


def whole(name: str, value: Any) -> None:
    """A whole number, zero or more."""
    if not is_integer(value) or value < 0:
        raise ParameterError(
            name, "must hold integers, at least 0", given=f"it holds {value!r}"
        )


def level(value: Any, largest: int) -> int:
    """A level of the hierarchy between 1 and ``largest``."""
    if not is_integer(value):
        raise ParameterError("level", "must be an integer", given=f"it is {value!r}")
    if not 1 <= value <= largest:
        raise ParameterError(
            "level",
            f"must lie between 1 and {largest}, the number of eigenvectors at hand",
            given=f"it is {value}",
        )
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
    if not is_list or not all(isinstance(entry, kind) for entry in value):
        raise ParameterError(
            name, f"must be a list of {what}", given=f"it is {value!r}"
        )


def integers(name: str, value: Any) -> None:
    """Refuse what has no entries; each of them is checked by itself."""
    if not isinstance(value, Iterable):
        raise ParameterError(
            name, "must be a list of integers", given=f"it is {value!r}"
        )


def one_of(name: str, value: Any, allowed: Iterable[str]) -> None:
    """A setting that is one of some names."""
    known = tuple(allowed)
    if value not in known:
        raise ParameterError(
            name, f"must be one of {', '.join(known)}", given=f"it is {value!r}"
        )


def function(name: str, value: Any) -> None:
    """Something to be called, or None."""
    if value is not None and not callable(value):
        raise ParameterError(name, "must be a function", given=f"it is {value!r}")


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
