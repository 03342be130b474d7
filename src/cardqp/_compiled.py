"""The one place that compiles: typed, cached to disk, without Python objects."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile ``function`` on first call and keep the machine code on disk.

    While it runs, other threads may run too.
    """
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


def compiled_fast(function: Function) -> Function:
    """Compile as above, with sums in any order: not for numbers that prove something.

    Infinities and NaN keep their meaning.
    """
    flags = {"reassoc", "contract", "arcp", "nsz"}
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath=flags)(function))
