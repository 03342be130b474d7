"""Adding up Parquet files on a Dask cluster, in an order that it cannot change."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

from cardqp._typing import FloatArray
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.gram.accumulator import GramAccumulator
from cardqp.gram.files import Meter, Progress
from cardqp.gram.readers import NotNumbersError, Piece
from cardqp.gram.selection import Paths, Selection
from cardqp.gram.source import Source, added
from cardqp.gram.sums import ShiftedSums
from cardqp.gram.tree_sum import dask, total
from cardqp.tables.schema import Measure

Over = Callable[..., Any]
""":func:`_over` for all batches: adds up what some function makes of each."""

TASK_ENTRIES = 2**24
"""Entries that a task reads, so that it takes a tenth of a second or more."""


class Batch(NamedTuple):
    """Row groups of a file that come one after the other.

    Attributes
    ----------
    reader : int
        Which file.
    start, stop : int
        Which row groups.
    row, n_rows : int
        How many rows are before them, and how many they have.
    """

    reader: int
    start: int
    stop: int
    row: int
    n_rows: int

    def pieces(self, source: Source) -> list[Piece]:
        """The row groups."""
        reader = source.readers[self.reader]
        found: Iterator[tuple[int, Piece]] = reader.pieces(self.start)
        return [next(found)[1] for _ in range(self.start, self.stop)]


def accumulate_files(
    paths: Paths,
    selection: Selection,
    progress: Progress | None,
    checkpoint: str | PathLike[str] | None,
    client: Any,
) -> GramAccumulator:
    """Add up the row groups of Parquet files."""
    if checkpoint is not None:
        raise ParameterError(
            "checkpoint",
            Phrase("must be None with a {}", Setting("client")),
            given="the cluster repeats what fails",
        )
    source = Source.open(paths, selection)
    meter = Meter(progress, source.n_rows)
    over_all = partial(_over, batches_of(source), meter, client)
    if source.needs_encoder:
        source = _infer_encoder(source, meter, over_all)
    try:
        return _add_up(source, over_all)
    except NotNumbersError:
        return _add_up(_infer_encoder(source, meter, over_all), over_all)


def batches_of(source: Source) -> list[Batch]:
    """All row groups, several at a time if they are small."""
    found = []
    enough = TASK_ENTRIES // len(source.wanted)
    for i, reader in enumerate(source.readers):
        sizes = reader.piece_rows
        if sizes is None:
            raise ParameterError(
                "paths",
                Phrase("must name Parquet files with a {}", Setting("client")),
                given=f"it names `{reader.path}`",
            )
        start = row = rows = 0
        for group, size in enumerate(sizes, start=1):
            rows += size
            if rows >= enough or group == len(sizes):
                found.append(Batch(i, start, group, row, rows))
                start, row, rows = group, row + rows, 0
    return found


def _infer_encoder(source: Source, meter: Meter, over_all: Over) -> Source:
    meter.passes += 2

    def total_of(measure: Measure, text: frozenset[str] | None) -> Any:
        return over_all(_measured, (source, measure, text), added)

    return source.with_inferred_encoder(total_of)


def _add_up(source: Source, over_all: Over) -> GramAccumulator:
    sums = over_all(_sums, (source, source.shift()), ShiftedSums.__add__)
    return GramAccumulator.from_sums(sums, source.names, source.encoder)


def _over(
    batches: Sequence[Batch],
    meter: Meter,
    client: Any,
    part_of: Callable[[Any, Batch], Any],
    shared: tuple[Any, ...],
    add: Callable[[Any, Any], Any],
) -> Any:
    """The sum over all batches of what workers make of them, in a fixed tree."""
    sent, task = dask().delayed(shared), dask().delayed(part_of)
    parts = [task(sent, batch) for batch in batches]
    return total(parts, add, client, meter, [batch.n_rows for batch in batches])


def _sums(shared: tuple[Source, FloatArray], batch: Batch) -> ShiftedSums:
    """The sums of some row groups."""
    source, shift = shared
    reader, row = source.readers[batch.reader], batch.row
    found = ShiftedSums.zero(shift)
    for piece in batch.pieces(source):
        part = source.sums_of(reader, piece, row, shift)
        row += part.n_samples + part.n_dropped
        found += part
    return found


def _measured(
    shared: tuple[Source, Measure, frozenset[str] | None], batch: Batch
) -> Any:
    """The sum of a measure over some row groups."""
    source, measure, text = shared
    reader = source.readers[batch.reader]
    return source.measured(reader, batch.pieces(source), batch.row, measure, text)
