"""Arrays of real numbers: their kind, their size, their entries."""

from collections.abc import Sized
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import ArrayLike, BoolArray, FloatArray
from cardqp.exceptions import ProblemError

LARGEST = 1e100
"""Entries beyond this, or divisors below its inverse, would overflow when squared."""

LEAST_TARGET = 1e-140
"""Squares of what is smaller, and what rounding makes of them, are lost digit by digit:
the least number with all its digits is 2e-308, a rounding 1e-16."""


def real_array(name: str, value: ArrayLike, ndim: int) -> FloatArray:
    """A read-only float64 copy of ``value``, contiguous and finite."""
    array = numeric_array(name, value, ndim)
    if array.size == 0 or max(array.max(), -array.min()) <= LARGEST:
        return array
    refuse(
        name,
        array,
        ~np.isfinite(array),
        "must be finite",
        "remove or impute such entries",
    )
    refuse(
        name, array, np.abs(array) > LARGEST, f"must be below {LARGEST:g}", "rescale it"
    )
    return array


def numeric_array(name: str, value: ArrayLike, ndim: int) -> FloatArray:
    """Like ``real_array``, but infinities may pass (bounds)."""
    raw = _numbers(name, value)
    rule = f"must have {ndim} dimension{'s' * (ndim > 1)}"
    shaped(raw.ndim == ndim, name, rule if ndim else "must be a single number", raw)
    array = np.array(raw, dtype=np.float64, order="C", copy=True)
    array.setflags(write=False)
    return array


def shaped(is_met: bool, name: str, rule: str, array: np.ndarray[Any, Any]) -> None:
    """Refuse an array unless its shape meets a rule."""
    if not is_met:
        raise ProblemError(name, rule, given=f"its shape is {array.shape}")


def _numbers(name: str, value: ArrayLike) -> np.ndarray[Any, Any]:
    """An array of real numbers of any type, not copied if it is one already."""
    if scipy.sparse.issparse(value):
        value = value.toarray()
    refuse_masked(**{name: value})
    not_numbers = partial(
        ProblemError, name, "must hold numbers", remedy="convert it to floats first"
    )
    try:
        raw = np.asarray(value)
        raw = raw.astype(np.float64) if raw.dtype == object else raw
    except (TypeError, ValueError, OverflowError) as err:
        raise not_numbers(given=str(err)) from err
    if raw.dtype.kind == "c":
        raise ProblemError(
            name,
            "must be real",
            given=f"its dtype is {raw.dtype}",
            remedy=f"pass {name}.real",
        )
    if raw.dtype.kind not in "fiub":
        raise not_numbers(given=f"its dtype is {raw.dtype}")
    return raw


def refuse_masked(**arrays: Any) -> None:
    """Raise for masked entries: elsewhere, what is below a mask would be believed."""
    for name, value in arrays.items():
        if _is_masked(value):
            raise ProblemError(
                name, "must not be masked", remedy="fill in the masked entries"
            )


def _is_masked(value: Any) -> bool:
    if isinstance(value, list | tuple):
        rows = (row for row in value if isinstance(row, np.ma.MaskedArray))
        return any(np.ma.is_masked(row) for row in rows)
    # Chunks of a Dask array are like its prototype; whether one has masked entries is
    # not known.
    prototype = getattr(value, "_meta", None)
    return np.ma.is_masked(value) or isinstance(prototype, np.ma.MaskedArray)


def refuse(
    name: str, array: FloatArray, wrong: BoolArray, rule: str, remedy: str
) -> None:
    """Raise for the first wrong entry, if there is one."""
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = f"{name}[{', '.join(map(str, where))}]" if where else "it"
        raise ProblemError(
            name, rule, given=f"{place} is {array[where]}", remedy=remedy
        )


def vector(name: str, value: ArrayLike, n: int, owner: str = "variable") -> FloatArray:
    """A finite vector of length ``n``, with one entry for each of its owners."""
    array = real_array(name, value, 1)
    entries(name, array, n, owner)
    return array


def entries(name: str, value: Sized, n: int, owner: str) -> None:
    """Refuse what has not one entry for each of its owners."""
    if len(value) != n:
        raise ProblemError(
            name,
            f"must have {n} entries, one per {owner}",
            given=f"it has {len(value)}",
        )


def number_or_entries(name: str, value: ArrayLike, n: int) -> FloatArray:
    """A vector of length ``n`` from one number for all, or one for each."""
    each = np.full(n, value) if np.ndim(value) == 0 else value
    array = numeric_array(name, each, 1)
    if len(array) != n:
        raise ProblemError(
            name, f"must be a number or have {n} entries", given=f"it has {len(array)}"
        )
    return array


def target(name: str, value: ArrayLike) -> FloatArray:
    """The responses: a vector of any length whose squares do not underflow."""
    array = real_array(name, value, 1)
    squarable(name, float(np.abs(array).max(initial=0.0)))
    return array


def squarable(name: str, size: float) -> None:
    """Refuse a vector whose largest entry is so small that its square underflows."""
    if 0.0 < size < LEAST_TARGET:
        raise ProblemError(
            name,
            f"must reach {LEAST_TARGET:g} somewhere, for its squares are lost "
            "otherwise",
            given=f"it reaches {size:.3g}",
            remedy="rescale it",
        )


def scalar(name: str, value: Any) -> float:
    """A finite real number."""
    return float(real_array(name, value, 0))


def mean_square(name: str, value: float) -> float:
    """The mean square of some data, which is going to be part of an objective."""
    if not value <= LARGEST:
        raise ProblemError(
            name,
            f"must have a mean square below {LARGEST:g}",
            given=f"it is {value:.3g}",
            remedy="rescale it",
        )
    return value


def data_matrix(name: str, value: Any) -> Any:
    """A matrix of real numbers of any type, as it is: neither copied nor read."""
    refuse_masked(**{name: value})
    is_array = isinstance(value, np.ndarray) or hasattr(value, "dask")
    is_array = is_array or scipy.sparse.issparse(value)
    data = value if is_array else np.asarray(value)
    if data.ndim != 2 or data.dtype.kind not in "biuf":
        raise ProblemError(
            name,
            "must be a matrix of real numbers",
            given=f"it has {data.ndim} dimensions and the type {data.dtype}",
        )
    return data
