"""One line that tells how far a computation has come, on terminals only."""

import math
from collections.abc import Iterator
from typing import TextIO

from cardqp._iterate import Progress

EVERY = 0.2
"""Seconds between two updates."""


class ProgressLine:
    """A callback that rewrites one line of a terminal; silent elsewhere."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.stream = stream
        self.active = not quiet and stream.isatty()
        self.last = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show the progress, if the last line is old enough."""
        if not self.active or progress.seconds - self.last < EVERY:
            return
        self.last = progress.seconds
        self._write(", ".join(describe(progress)))

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self.active and self.last:
            self._write("")

    def _write(self, text: str) -> None:
        self.stream.write(f"\r\033[K{text}")
        self.stream.flush()


def describe(progress: Progress) -> Iterator[str]:
    """The parts of the line."""
    yield f"{progress.stage}: {progress.seconds:.0f} s"
    yield f"best {progress.objective:.6g}"
    yield f"bound {progress.lower_bound:.6g}"
    if not progress.n_open:
        yield f"step {progress.n_iter}"
        return
    gap = (progress.objective - progress.lower_bound) / abs(progress.objective or 1.0)
    yield f"gap {gap:.2%}"
    rate = progress.n_iter / max(progress.seconds, 1e-9)
    yield f"{progress.n_iter} branches ({rate:.0f}/s), {progress.n_open} open"
    yield f"{progress.closed_share:.2%} closed"
    if not math.isnan(progress.estimate):
        yield f"about {progress.estimate:.1g} in all"
