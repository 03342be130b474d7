"""Adding up the rows of files, with checkpoints to go on from."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cardqp import _validation as check
from cardqp import storage
from cardqp.exceptions import ParameterError
from cardqp.gram.accumulator import GramAccumulator
from cardqp.gram.checks import sums_from_arrays, sums_to_arrays
from cardqp.gram.source import Paths, Selection, Source
from cardqp.gram.sums import ShiftedSums

SECONDS_BETWEEN_CHECKPOINTS = 10.0

_PLACES = ("reader", "position", "row")

Progress = Callable[[int, int | None], object]


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """How far files are read.

    Attributes
    ----------
    reader, position, row : int
        Which file is next, from which position of its reader on, and how many of its
        rows are done.
    sums : ShiftedSums
        The sums so far.
    """

    reader: int
    position: int
    row: int
    sums: ShiftedSums


def accumulate(
    paths: Paths,
    selection: Selection,
    progress: Progress | None,
    checkpoint: str | PathLike[str] | None,
) -> GramAccumulator:
    """Add up the rows of files one after the other.

    Parameters
    ----------
    paths, progress, checkpoint
        As for :meth:`cardqp.gram.GramAccumulator.from_files`.
    selection : Selection
        What to take from the files.
    """
    source = Source.open(paths, selection)
    kept = None if checkpoint is None else Checkpoint.of(source, checkpoint)
    start = None if kept is None else kept.read()
    if start is None:
        start = Cursor(0, 0, 0, ShiftedSums.zero(source.shift()))
    cursor = start
    for cursor in walk(source, start):
        report(progress, source, cursor.sums)
        if kept is not None:
            kept.write_if_due(cursor)
    if kept is not None:
        kept.write(cursor)
    return GramAccumulator.from_sums(cursor.sums, source.names)


def report(progress: Progress | None, source: Source, sums: ShiftedSums) -> None:
    """Say how many rows are done."""
    if progress is not None:
        progress(sums.n_samples + sums.n_dropped, source.n_rows)


def walk(source: Source, cursor: Cursor) -> Iterator[Cursor]:
    """Read on, and tell where we are after each piece."""
    sums, row, start = cursor.sums, cursor.row, cursor.position
    for i in range(cursor.reader, len(source.readers)):
        reader = source.readers[i]
        for after, blocks in reader.pieces(source.wanted, start):
            piece = source.sums_of(reader, blocks, row, sums.shift)
            sums += piece
            row += piece.n_samples + piece.n_dropped
            yield Cursor(i, after, row, sums)
        row = start = 0


@dataclass(slots=True)
class Checkpoint:
    """A file with sums, and how far the files that they come from are read."""

    path: Path
    plan: str
    names: tuple[str, ...] | None
    written: float = 0.0

    @classmethod
    def of(cls, source: Source, path: str | PathLike[str]) -> "Checkpoint":
        """The checkpoint of a source."""
        if not Path(path).parent.is_dir():
            raise ParameterError(
                f"`checkpoint` must be in a folder that exists: it is {str(path)!r}."
            )
        return cls(Path(path), json.dumps(source.plan()), source.names)

    def read(self) -> Cursor | None:
        """Where an earlier run was, if there was one with the same files."""
        self.written = time.monotonic()
        if not self.path.exists():
            return None
        data = storage.read_arrays(self.path)
        places = {name: data.pop(name, None) for name in _PLACES}
        if data.pop("plan", None) != self.plan:
            raise ParameterError(
                f"`checkpoint` must come from the same files, columns and settings: "
                f"{self.path} does not; remove it, or name another."
            )
        for place in places.values():
            check.whole("checkpoint", place)
        sums, _ = sums_from_arrays(data, self.path)
        return Cursor(**places, sums=sums)

    def write(self, cursor: Cursor) -> None:
        """Keep the sums; what was there before stays until all is written."""
        places = {name: getattr(cursor, name) for name in _PLACES}
        sums = sums_to_arrays(cursor.sums, self.names)
        storage.write_arrays(self.path, sums | places | {"plan": self.plan})
        self.written = time.monotonic()

    def write_if_due(self, cursor: Cursor) -> None:
        """Keep the sums if the last time is long ago."""
        if time.monotonic() - self.written >= SECONDS_BETWEEN_CHECKPOINTS:
            self.write(cursor)
