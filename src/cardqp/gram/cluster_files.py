"""Adding up Parquet files on a Dask cluster, in an order that it cannot change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

from cardqp._typing import FloatArray
from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.gram.accumulator import GramAccumulator
from cardqp.gram.encoding import add, measure_piece, not_empty
from cardqp.gram.files import Meter, Progress
from cardqp.gram.readers import NotNumbersError, Piece
from cardqp.gram.selection import Selection
from cardqp.gram.source import Paths, Source
from cardqp.gram.sums import ShiftedSums
from cardqp.gram.tree_sum import dask, total
from cardqp.tables.place import Place
from cardqp.tables.schema import Sum

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
        found = source.readers[self.reader].pieces(self.start)
        return [next(found)[1] for _ in range(self.start, self.stop)]


def accumulate_files(
    paths: Paths,
    selection: Selection,
    progress: Progress | None,
    checkpoint: str | PathLike[str] | None,
    client: Any,
) -> GramAccumulator:
    """Add up the row groups of Parquet files.

    Parameters
    ----------
    paths, progress, checkpoint, client
        As for :meth:`cardqp.gram.GramAccumulator.from_files`.
    selection : Selection
        What to take from the files.
    """
    if checkpoint is not None:
        raise ParameterError(
            "checkpoint",
            Phrase("must be None with a {}", Setting("client")),
            given="the cluster repeats what fails",
        )
    source = Source.open(paths, selection)
    batches, meter = batches_of(source), Meter(progress, source.n_rows)
    if source.needs_encoder:
        source = _infer_encoder(source, batches, meter, client)
    try:
        return _add_up(source, batches, meter, client)
    except NotNumbersError:
        return _add_up(
            _infer_encoder(source, batches, meter, client), batches, meter, client
        )


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


@dataclass(frozen=True, slots=True)
class ClusterTable:
    """The rows of files, read by the workers of a cluster, to infer types from."""

    source: Source
    batches: Sequence[Batch]
    meter: Meter
    client: Any

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns that were selected, the weight left out."""
        return self.source.columns

    def reduce(
        self, measure: Callable[[Any, Place], Sum], text: frozenset[str] | None
    ) -> Sum:
        """The sum of ``measure`` over all rows, in a fixed tree."""
        shared = dask().delayed((self.source, measure, text))
        task = dask().delayed(_measured)
        parts = [task(shared, batch) for batch in self.batches]
        sizes = [batch.n_rows for batch in self.batches]
        found: Sum | None = total(parts, add, self.client, self.meter, sizes)
        return not_empty(self.source, found)


def _infer_encoder(
    source: Source, batches: Sequence[Batch], meter: Meter, client: Any
) -> Source:
    meter.passes += 2
    return source.with_inferred_encoder(ClusterTable(source, batches, meter, client))


def _add_up(
    source: Source, batches: Sequence[Batch], meter: Meter, client: Any
) -> GramAccumulator:
    shared = dask().delayed((source, source.shift()))
    task = dask().delayed(_sums)
    parts = [task(shared, batch) for batch in batches]
    sizes = [batch.n_rows for batch in batches]
    sums = total(parts, ShiftedSums.__add__, client, meter, sizes)
    return GramAccumulator.from_sums(sums, source.names, source.encoder)


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
    shared: tuple[Source, Callable[[Any, Place], Sum], frozenset[str] | None],
    batch: Batch,
) -> Sum | None:
    """The sum of ``measure`` over some row groups."""
    source, measure, text = shared
    row, found = batch.row, None
    for piece in batch.pieces(source):
        part, rows = measure_piece(source, batch.reader, piece, row, measure, text)
        found = add(found, part)
        row += rows
    return found
