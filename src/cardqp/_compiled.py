"""The one place that compiles: typed, cached to disk, without Python objects."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numba
import numpy as np

from cardqp._parts import part_options

Function = TypeVar("Function", bound=Callable[..., Any])

ZERO: Any = np.intp(0)
MINUS_ONE: Any = np.intp(-1)
"""Arguments of compiled functions.  The type of a literal ``0`` has its value in it, so
that Numba would compile a function of its own for it, with all that it calls."""

_ANY_ORDER = {"reassoc", "contract", "arcp", "nsz"}


def compiled(function: Function) -> Function:
    """Compile ``function`` on first call and keep the machine code on disk.

    Where there is no folder for it, each process compiles anew, and is told so once.
    While the function runs, other threads may run too.
    """
    return _compile_cached(function)


def compiled_brief(function: Function) -> Function:
    """Compile what takes a microsecond: other threads wait for it.

    To release the interpreter's lock and to get it back would take longer.
    """
    return _compile_cached(function, nogil=False)


def _compile_cached(function: Function, **options: Any) -> Function:
    try:
        return _compile(function, cache=True, **options)
    except RuntimeError:  # so Numba says that it found no folder to write to
        _say_that_nothing_is_kept()
        return _compile(function, **options)


@cache
def _say_that_nothing_is_kept() -> None:
    """Warn; answers of first calls are kept, so that there is no second warning."""
    warnings.warn(
        "cardqp compiles anew in each process, which takes ten to thirty seconds: "
        "neither the folder it is installed in nor the user's cache can be written to; "
        "set NUMBA_CACHE_DIR to a folder that can.",
        RuntimeWarning,
        stacklevel=2,
    )


def is_kept() -> bool:
    """Whether machine code is kept on disk, as far as is known by now."""
    return _say_that_nothing_is_kept.cache_info().currsize == 0


def inner(function: Function) -> Function:
    """Compile a part of other compiled functions: Python cannot call it.

    It is kept on disk with those, not by itself, and need not translate arguments,
    which makes it much quicker to compile: see ``_parts.py``.
    """
    return _compile(function, **part_options())


def inner_fast(function: Function) -> Function:
    """Compile a part with sums in any order: see where margins allow for it.

    Infinities and NaN keep their meaning.
    """
    return _compile(function, fastmath=_ANY_ORDER, **part_options())


def spliced(function: Function) -> Function:
    """Compile a part as if it were written where it is called.

    For what is called once: each layer of functions is optimised anew with all that is
    below it.
    """
    return _compile(function, inline="always")


def _compile(function: Function, *, nogil: bool = True, **options: Any) -> Function:
    # Division by zero gives an infinity or NaN, as in NumPy: no checks, no branches.
    options |= {"nogil": nogil, "error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(Function, numba.njit(**options)(function))
