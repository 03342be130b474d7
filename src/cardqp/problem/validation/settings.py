"""Settings of methods: numbers and counts within their ranges, objects of a kind."""

from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np

from cardqp.exceptions import ParameterError


def at_least(name: str, value: Any, least: float) -> None:
    """A setting of a method that has a smallest value."""
    if not _is_number(value) or not value >= least:
        raise ParameterError(
            f"`{name}` must be a number, at least {least:g}: it is {value!r}."
        )


def positive(name: str, value: Any) -> None:
    """A setting of a method that must be larger than zero."""
    if not _is_number(value) or not value > 0:
        raise ParameterError(f"`{name}` must be a positive number: it is {value!r}.")


def count(name: str, value: Any) -> None:
    """A setting of a method that counts something, at least one."""
    if not is_integer(value) or value < 1:
        raise ParameterError(
            f"`{name}` must be an integer, at least 1: it is {value!r}."
        )


def seed(value: Any) -> None:
    """What decides all that is random."""
    if not is_integer(value) or value < 0:
        raise ParameterError(f"`seed` must be an integer, at least 0: it is {value!r}.")


def whole(name: str, value: Any) -> None:
    """A whole number, zero or more."""
    if not is_integer(value) or value < 0:
        raise ParameterError(
            f"`{name}` must hold integers, at least 0: it holds {value!r}."
        )


def level(value: Any, largest: int) -> int:
    """A level of the hierarchy between 1 and ``largest``."""
    if not is_integer(value):
        raise ParameterError(f"`level` must be an integer: it is {value!r}.")
    if not 1 <= value <= largest:
        raise ParameterError(
            f"`level` must lie between 1 and {largest}, the number of eigenvectors "
            f"at hand: it is {value}."
        )
    return int(value)


def instance(name: str, value: Any, kind: type) -> None:
    """An argument that must be one of our own objects."""
    if not isinstance(value, kind):
        raise ParameterError(
            f"`{name}` must be a {kind.__name__}: it is a {type(value).__name__}."
        )


def listing(name: str, value: Any, what: str, kind: Any = object) -> None:
    """Refuse what is no list; a text is none."""
    is_list = isinstance(value, Collection) and not isinstance(value, str | bytes)
    if not is_list or not all(isinstance(entry, kind) for entry in value):
        raise ParameterError(f"`{name}` must be a list of {what}: it is {value!r}.")


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
