"""Arrays of real numbers: their kind, their size, their entries."""

from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import ArrayLike, BoolArray, FloatArray
from cardqp.exceptions import ProblemError

LARGEST = 1e100
"""Entries beyond this, or divisors below its inverse, would overflow when squared."""


def real_array(name: str, value: ArrayLike, ndim: int) -> FloatArray:
    """A read-only float64 copy of ``value``, contiguous and finite."""
    array = numeric_array(name, value, ndim)
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
    if ndim == 0 and raw.ndim > 0:
        raise ProblemError(
            f"`{name}` must be a single number: its shape is {raw.shape}."
        )
    if raw.ndim != ndim:
        raise ProblemError(
            f"`{name}` must have {ndim} dimension{'s' * (ndim > 1)}: "
            f"its shape is {raw.shape}."
        )
    array = np.array(raw, dtype=np.float64, order="C", copy=True)
    array.setflags(write=False)
    return array


def _numbers(name: str, value: ArrayLike) -> np.ndarray[Any, Any]:
    """An array of real numbers of any type, not copied if it is one already."""
    if scipy.sparse.issparse(value):
        value = value.toarray()
    if np.ma.is_masked(value):
        raise ProblemError(f"`{name}` must not be masked: fill in the masked entries.")
    try:
        raw = np.asarray(value)
        raw = raw.astype(np.float64) if raw.dtype == object else raw
    except (TypeError, ValueError, OverflowError) as err:
        raise ProblemError(
            f"`{name}` must hold numbers: {err}; convert it to floats first."
        ) from err
    if raw.dtype.kind == "c":
        raise ProblemError(
            f"`{name}` must be real: its dtype is {raw.dtype}; pass {name}.real."
        )
    if raw.dtype.kind not in "fiub":
        raise ProblemError(
            f"`{name}` must hold numbers: its dtype is {raw.dtype}; "
            "convert it to floats first."
        )
    return raw


def refuse(
    name: str, array: FloatArray, wrong: BoolArray, rule: str, remedy: str
) -> None:
    """Raise for the first wrong entry, if there is one."""
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = ", ".join(str(i) for i in where)
        raise ProblemError(
            f"`{name}` {rule}: {name}[{place}] is {array[where]}; {remedy}."
        )


def vector(name: str, value: ArrayLike, n: int, owner: str = "variable") -> FloatArray:
    """A finite vector of length ``n``, with one entry for each of its owners."""
    array = real_array(name, value, 1)
    if len(array) != n:
        raise ProblemError(
            f"`{name}` must have {n} entries, one per {owner}: it has {len(array)}."
        )
    return array


def scalar(name: str, value: Any) -> float:
    """A finite real number."""
    return float(real_array(name, value, 0))


def data_matrix(name: str, value: Any) -> Any:
    """A matrix of real numbers of any type, as it is: neither copied nor read."""
    is_array = isinstance(value, np.ndarray) or hasattr(value, "dask")
    is_array = is_array or scipy.sparse.issparse(value)
    data = value if is_array else np.asarray(value)
    if data.ndim != 2 or data.dtype.kind not in "biuf":
        raise ProblemError(
            f"`{name}` must be a matrix of real numbers: it has {data.ndim} dimensions "
            f"and the type {data.dtype}."
        )
    return data
