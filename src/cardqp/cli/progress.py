"""One line that tells how far a computation has come, on terminals only."""

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
        self._write(
            f"{progress.stage}: {progress.seconds:.0f} s, step {progress.n_iter}, "
            f"best {progress.objective:.6g}, bound {progress.lower_bound:.6g}"
            + (f", {progress.n_open} open" if progress.n_open else "")
        )

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self.active and self.last:
            self._write("")

    def _write(self, text: str) -> None:
        self.stream.write(f"\r\033[K{text}")
        self.stream.flush()
