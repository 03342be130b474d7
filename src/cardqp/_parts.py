"""How Numba compiles functions that only other compiled functions call.

Numba compiles each function as if Python might call it: it optimises the function, with
all that it calls, and makes machine code.  Whoever calls it is optimised together with
it again, and machine code is made of both.  For a part, both can wait until then, which
saves a fifth of the time to compile.  Exceptions that parts raise cannot carry values
that are computed.
"""

from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

# What is overridden below is not part of Numba's documented interface.
_KNOWN_VERSIONS = ((0, 60), (0, 68))


class _NoMachineCode:
    """A code generator for what has no machine code of its own."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the environment is for Python objects, and parts have none."""


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A function as it was written, to be linked into those that call it."""

    @property
    def codegen(self) -> _NoMachineCode:
        return _NoMachineCode()

    def get_pointer_to_function(self, _: str) -> int:
        """Zero, which tells Numba that there is no function for Python."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        """Leave it to those who call it."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    """Compile as usual, into a library without machine code."""

    def define_pipelines(self) -> Any:
        name = self.state.func_id.func_qualname
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), name)
        return super().define_pipelines()


def part_options() -> dict[str, Any]:
    """Options of ``numba.njit`` for parts; other versions of Numba take longer."""
    options: dict[str, Any] = {"no_cpython_wrapper": True}
    if _KNOWN_VERSIONS[0] <= numba.version_info.short <= _KNOWN_VERSIONS[1]:
        options["pipeline_class"] = _PartCompiler
    return options
