"""The one place that compiles: typed, cached to disk, without Python objects."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile ``function`` on first call and keep the machine code on disk."""
    return cast(Function, numba.njit(cache=True)(function))
