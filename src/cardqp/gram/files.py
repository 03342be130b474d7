"""Adding up the rows of files, with checkpoints to go on from."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from cardqp import storage
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.gram.accumulator import GramAccumulator
from cardqp.gram.encoding import FileEncoder
from cardqp.gram.readers import NotNumbersError
from cardqp.gram.selection import Paths, Selection
from cardqp.gram.source import Source, added
from cardqp.gram.sums import ShiftedSums
from cardqp.gram.validation import from_json, sums_from_arrays, sums_to_arrays
from cardqp.problem import validation as check
from cardqp.tables.place import Place
from cardqp.tables.schema import Measure

SECONDS_BETWEEN_CHECKPOINTS = 10.0

_PLACES = ("reader", "position", "row")

Progress = Callable[[int, int | None], object]


@dataclass(frozen=True, slots=True, eq=False)
class Cursor:
    """Position up to which files have been read, and the sums up to there.

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
    """Add up the rows of files one after the other."""
    source = Source.open(paths, selection)
    kept = None if checkpoint is None else Checkpoint.of(source, checkpoint)
    start, encoder = (None, None) if kept is None else kept.read()
    source, meter = source.with_encoder(encoder), Meter(progress, source.n_rows)
    if source.needs_encoder and source.file_encoder is None:
        source = infer_encoder(source, meter)
    try:
        return _add_up(source, start, meter, kept)
    except NotNumbersError:
        return _add_up(infer_encoder(source, meter), None, meter, kept)


def infer_encoder(source: Source, meter: "Meter") -> Source:
    """The source with an encoder, for which all files are read twice."""
    meter.passes += 2
    source = source.with_inferred_encoder(partial(_total, source, meter))
    if meter.n_rows is None:
        meter.n_rows = meter.done // 2
    return source


def _total(
    source: Source, meter: "Meter", measure: Measure, text: frozenset[str] | None
) -> Any:
    """The sum of a measure over all rows, in their order."""

    def watched(frame: Any, place: Place) -> Any:
        part = measure(frame, place)
        meter.add(len(frame))
        return part

    total = None
    for reader in source.readers:
        pieces = (piece for _, piece in reader.pieces(0))
        total = added(total, source.measured(reader, pieces, 0, watched, text))
    return total


def _add_up(
    source: Source,
    start: "Cursor | None",
    meter: "Meter",
    kept: "Checkpoint | None",
) -> GramAccumulator:
    if start is None:
        start = Cursor(0, 0, 0, ShiftedSums.zero(source.shift()))
    cursor, before = start, meter.done
    for cursor in walk(source, start):
        meter.reach(before + cursor.sums.n_samples + cursor.sums.n_dropped)
        if kept is not None:
            kept.write_if_due(cursor, source.file_encoder)
    if kept is not None:
        kept.write(cursor, source.file_encoder)
    return GramAccumulator.from_sums(cursor.sums, source.names, source.encoder)


@dataclass(slots=True)
class Meter:
    """Says how many rows have been read, of how many.

    Attributes
    ----------
    progress : callable or None
        Whom to say it.
    n_rows : int or None
        Number of rows of all files, if it is known.
    passes : int
        How often they are read.
    done : int
        How many rows have been read.
    """

    progress: Progress | None
    n_rows: int | None
    passes: int = 1
    done: int = 0

    def reach(self, done: int) -> None:
        """Say how many rows have been read."""
        self.done = done
        if self.progress is not None:
            total = None if self.n_rows is None else self.passes * self.n_rows
            self.progress(done, total)

    def add(self, rows: int) -> None:
        """Say that some more rows have been read."""
        self.reach(self.done + rows)


def walk(source: Source, cursor: Cursor) -> Iterator[Cursor]:
    """Read on, and tell where we are after each piece."""
    sums, row, start = cursor.sums, cursor.row, cursor.position
    for i in range(cursor.reader, len(source.readers)):
        reader = source.readers[i]
        for after, piece in reader.pieces(start):
            part = source.sums_of(reader, piece, row, sums.shift)
            sums += part
            row += part.n_samples + part.n_dropped
            yield Cursor(i, after, row, sums)
        row = start = 0


@dataclass(slots=True)
class Checkpoint:
    """A file with sums, and how far the files that they come from are read."""

    path: Path
    plan: str
    written: float = 0.0

    @classmethod
    def of(cls, source: Source, path: str | PathLike[str]) -> "Checkpoint":
        """The checkpoint of a source."""
        is_file = isinstance(path, str | PathLike) and not Path(path).is_dir()
        check.demand(is_file, "checkpoint", "must be the path of a file", str(path))
        is_there, rule = Path(path).parent.is_dir(), "must be in a folder that exists"
        check.demand(is_there, "checkpoint", rule, str(path))
        return cls(Path(path), json.dumps(source.plan()))

    def read(self) -> tuple[Cursor | None, FileEncoder | None]:
        """Where an earlier run was, if there was one with the same files."""
        self.written = time.monotonic()
        if not self.path.exists():
            return None, None
        try:
            data = storage.read_arrays(self.path)
        except ProblemError as err:
            raise ParameterError(
                "checkpoint",
                "must be a file of an earlier run",
                given=f"{self.path} is none, or damaged",
                remedy="remove it, or name another",
            ) from err
        places = {name: data.pop(name, None) for name in _PLACES}
        if data.pop("plan", None) != self.plan:
            raise ParameterError(
                "checkpoint",
                "must come from the same files, columns and settings",
                given=f"{self.path} does not",
                remedy="remove it, or name another",
            )
        for place in places.values():
            check.whole("checkpoint", place)
        entry = from_json(data.pop("coding", ""))
        sums, *_ = sums_from_arrays(data, self.path)
        encoder = None if entry is None else FileEncoder.from_dict(entry)
        return Cursor(**places, sums=sums), encoder

    def write(self, cursor: Cursor, encoder: FileEncoder | None) -> None:
        """Keep the sums; what was there before stays until all is written."""
        entries = {name: getattr(cursor, name) for name in _PLACES}
        entries["plan"] = self.plan
        entries["coding"] = json.dumps(None if encoder is None else encoder.to_dict())
        try:
            storage.write_arrays(self.path, sums_to_arrays(cursor.sums) | entries)
        except OSError as err:
            raise ParameterError(
                "checkpoint", "must be a file that can be written", given=str(err)
            ) from err
        self.written = time.monotonic()

    def write_if_due(self, cursor: Cursor, encoder: FileEncoder | None) -> None:
        """Keep the sums if the last time is long ago."""
        if time.monotonic() - self.written >= SECONDS_BETWEEN_CHECKPOINTS:
            self.write(cursor, encoder)
