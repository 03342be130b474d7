"""One line that tells how far a computation has come, on terminals only."""

import math
from collections.abc import Iterator
from typing import Self, TextIO

from cardqp._iterate import Progress

EVERY = 0.2
"""Seconds between two updates."""


class Line:
    """One line of a terminal that is written again and again; silent elsewhere."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.stream = stream
        self.active = not quiet and stream.isatty()
        self.is_written = False

    def write(self, text: str) -> None:
        """Write the line anew."""
        if self.active:
            self.stream.write(f"\r\033[K{text}")
            self.stream.flush()
            self.is_written = True

    def clear(self) -> None:
        """Leave nothing behind."""
        if self.is_written:
            self.write("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


class ProgressLine(Line):
    """A line that tells how a computation goes, of which it is a callback."""

    last = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show the progress, if the last line is old enough."""
        if progress.seconds - self.last < EVERY:
            return
        self.last = progress.seconds
        self.write(", ".join(describe(progress)))


def describe(progress: Progress) -> Iterator[str]:
    """The parts of the line."""
    yield f"{progress.stage}: {progress.seconds:.0f} s"
    if math.isinf(progress.objective) and math.isinf(progress.lower_bound):
        return
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
