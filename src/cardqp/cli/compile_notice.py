"""A line that tells why nothing happens while Numba compiles, which it does once."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

AFTER = 0.5
"""Seconds of compilation before anything is said."""


@contextmanager
def compile_notice() -> Iterator[None]:
    """Say so on standard error as soon as compilation takes a while.

    What is loaded from disk is not compiled, and nothing is said.
    """
    from numba.core import event

    with event.install_listener("numba:compile", _listener(sys.stderr)):
        yield


def _listener(stream: TextIO, clock: Callable[[], float] = time.perf_counter) -> Any:
    """A listener of Numba that writes one line."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]  # Numba is untyped
        """Adds up the time that compilations take, those inside others left out."""

        depth, begun, spent, is_said = 0, 0.0, 0.0, False

        def on_start(self, _: Any) -> None:
            """Begin to compile a function."""
            if self.depth == 0:
                self.begun = clock()
            self.depth += 1
            if not self.is_said and self.spent + clock() - self.begun > AFTER:
                self.is_said = True
                _say(stream)

        def on_end(self, _: Any) -> None:
            """End it."""
            self.depth -= 1
            if self.depth == 0:
                self.spent += clock() - self.begun

    return Listener()


def _say(stream: TextIO) -> None:
    from cardqp._compiled import is_kept

    once = "compiling once" if is_kept() else "compiling"
    clear = "\r\033[K" if stream.isatty() else ""  # what progress was written
    print(f"{clear}cardqp: {once}, for ten to thirty seconds", file=stream, flush=True)
