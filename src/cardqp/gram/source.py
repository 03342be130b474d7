"""Which columns of which files are added up, and what to do about bad rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.gram.encoding import FileEncoder
from cardqp.gram.readers import (
    Blocks,
    NotNumbersError,
    NumPyFile,
    Piece,
    Reader,
    open_reader,
)
from cardqp.gram.selection import Paths, Selection, find_files
from cardqp.gram.sums import ShiftedSums, UnusableEntryError, block_rows
from cardqp.problem.validation import LARGEST
from cardqp.tables.encoder import TableEncoder
from cardqp.tables.place import Place
from cardqp.tables.schema import Measure, Total, infer_schema


@dataclass(frozen=True, slots=True)
class Source:
    """Files with the same columns.

    Attributes
    ----------
    readers : tuple of Reader
        The files in their order.
    selection : Selection
        What is taken from them.
    wanted : tuple of str
        Features, target, and the weight if there is one.
    file_encoder : FileEncoder, optional
        How rows become numbers, if they are not numbers.
    """

    readers: tuple[Reader, ...]
    selection: Selection
    wanted: tuple[str, ...]
    file_encoder: FileEncoder | None = None

    @classmethod
    def open(cls, paths: Paths, selection: Selection) -> "Source":
        """Open all files, without reading rows."""
        layout = selection.layout
        readers = tuple(open_reader(path, layout) for path in find_files(paths))
        first = readers[0]
        for reader in readers[1:]:
            if odd := set(first.columns) ^ set(reader.columns):
                name = sorted(odd)[0]
                has, lacks = first.path, reader.path
                if name in reader.columns:
                    has, lacks = lacks, has
                raise DataError(
                    None,
                    "Files must have the same columns",
                    given=f"`{has}` has {name!r}, `{lacks}` does not",
                )
        return cls(readers, selection, selection.wanted(first))

    @property
    def needs_encoder(self) -> bool:
        """Whether an encoder is needed even if all columns hold numbers."""
        return self.selection.missing == "mean" or bool(self.selection.categorical)

    def with_inferred_encoder(self, total: Total) -> "Source":
        """The source with an encoder that is inferred from totals of all rows.

        Without rows, these are None.
        """
        request = self.selection.request(self.readers[0])

        def total_of(measure: Measure, text: frozenset[str] | None) -> Any:
            found = total(measure, text)
            if found is None:
                raise self._lacks("rows")
            return found

        schema = infer_schema(self.columns, total_of, request)
        encoder = TableEncoder.from_schema(request, schema)
        weight = self.wanted[-1] if self.has_weight else None
        return self.with_encoder(FileEncoder(encoder, schema.text, weight))

    def with_encoder(self, file_encoder: FileEncoder | None) -> "Source":
        """The source with an encoder that is known; itself without one."""
        if file_encoder is None:
            return self
        return replace(self, file_encoder=file_encoder, wanted=file_encoder.wanted)

    @property
    def encoder(self) -> TableEncoder | None:
        """Encoder of the columns; None if all columns are numbers."""
        return None if self.file_encoder is None else self.file_encoder.encoder

    @property
    def has_weight(self) -> bool:
        """Whether rows have weights."""
        return self.selection.weight is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of features and target."""
        return self.wanted[: self._width]

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, if files have names."""
        is_numpy = any(isinstance(reader, NumPyFile) for reader in self.readers)
        return None if is_numpy and self.file_encoder is None else self.columns[:-1]

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if it is known before they are read."""
        total = 0
        for reader in self.readers:
            if reader.n_rows is None:
                return None
            total += reader.n_rows
        return total

    def plan(self) -> list[Any]:
        """Files, columns and settings, which a checkpoint must agree with."""
        states = [(reader.path, reader.path.stat()) for reader in self.readers]
        files = [[str(p.resolve()), s.st_size, s.st_mtime_ns] for p, s in states]
        chosen = self.selection
        layout = chosen.layout
        settings: list[Any] = [
            chosen.missing,
            list(chosen.categorical),
            chosen.max_levels,
        ]
        settings += [layout.delimiter, layout.decimal, list(layout.missing)]
        wanted = chosen.wanted(self.readers[0])
        return [files, list(wanted), self.has_weight, settings]

    def shift(self) -> FloatArray:
        """A point near the mean: that of the first block with complete rows."""
        n_rows = 0
        for block in self._all_blocks():
            n_rows += len(block)
            complete = block[~np.isnan(block).any(axis=1), : self._width]
            if len(complete):
                with np.errstate(invalid="ignore"):
                    mean = complete.mean(axis=0)
                # Rows that are not finite are refused later, with their place.
                return np.where(np.isfinite(mean), mean, 0.0)
        if n_rows and self.file_encoder is None:
            raise NotNumbersError("Some column may be empty.")  # and is then left out
        raise self._lacks("rows in which nothing is missing")

    def _lacks(self, what: str) -> DataError:
        """The error about rows that no file has."""
        first, others = self.readers[0].path, len(self.readers) - 1
        return DataError(
            None,
            f"Files must have {what}",
            given=f"`{first}` and {others} others have none",
        )

    def measured(
        self,
        reader: Reader,
        pieces: Iterable[Piece],
        row: int,
        measure: Measure,
        text: frozenset[str] | None,
    ) -> Any:
        """The sum of a measure over pieces of a file, as they are; None without rows.

        Pieces come one after the other; ``row`` rows of the file are before them.  For
        the other arguments see :data:`cardqp.tables.schema.Total`.
        """
        total, rows = None, block_rows(len(self.columns))
        for piece in pieces:
            for frame in piece.frames(self.columns, text, rows):
                total = added(total, measure(frame, Place(str(reader.path), row)))
                row += len(frame)
        return total

    def sums_of(
        self, reader: Reader, piece: Piece, row: int, shift: FloatArray
    ) -> ShiftedSums:
        """Sums of a piece of a file about a point; ``row`` rows are before it."""
        total = ShiftedSums.zero(shift)
        for block in self._blocks(reader, piece, row):
            total += self._block_sums(reader, block, row, shift)
            row += len(block)
        return total

    @property
    def _width(self) -> int:
        """Number of features and target."""
        return len(self.wanted) - self.has_weight

    def _all_blocks(self) -> Iterator[FloatArray]:
        for reader in self.readers:
            for _, piece in reader.pieces(0):
                yield from self._blocks(reader, piece, 0)

    def _blocks(self, reader: Reader, piece: Piece, row: int) -> Blocks:
        if self.file_encoder is None:
            return piece.blocks(self.wanted)
        return self.file_encoder.blocks(piece, reader.path, row)

    def _block_sums(
        self, reader: Reader, block: FloatArray, row: int, shift: FloatArray
    ) -> ShiftedSums:
        values = block[:, : self._width]
        weights = block[:, -1] if self.has_weight else None
        if weights is not None and (weights < 0).any():
            wrong = (block < 0) & (np.arange(len(self.wanted)) == self._width)
            rule = "not have negative weights"
            self._refuse(reader, row, block, wrong, rule, "correct it")
        values -= shift
        try:
            return ShiftedSums.of_block(values, weights, shift)
        except UnusableEntryError:
            kept = ~self._incomplete(reader, block, row)
        part = ShiftedSums.of_block(
            values[kept], None if weights is None else weights[kept], shift
        )
        return replace(part, n_dropped=len(block) - part.n_samples)

    def _incomplete(self, reader: Reader, block: FloatArray, row: int) -> BoolArray:
        """Rows to be dropped; raises for everything else that is wrong."""
        gone = np.isnan(block)
        if gone.any() and self.selection.missing == "error":
            remedy = Phrase(
                "use {} or {}", Setting("missing", "drop"), Setting("missing", "mean")
            )
            self._refuse(reader, row, block, gone, "be complete", remedy)
        infinite = np.isinf(block)
        if infinite.any():
            self._refuse(reader, row, block, infinite, "be finite", "correct it")
        size = np.abs(np.where(gone, 0.0, block))
        if size.max() > LARGEST or not gone.any():
            rule = f"be below {LARGEST:g}"
            self._refuse(reader, row, block, size == size.max(), rule, "rescale it")
        return np.asarray(gone.any(axis=1))

    def _refuse(
        self,
        reader: Reader,
        row: int,
        block: FloatArray,
        wrong: BoolArray,
        rule: str,
        remedy: str,
    ) -> None:
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        value = "missing" if np.isnan(block[i, j]) else f"{block[i, j]:g}"
        raise DataError(
            None,
            f"`{reader.path}` must {rule}",
            given=f"column {self.wanted[j]!r} in row {row + i + 1} is {value}",
            remedy=remedy,
        )


def added(total: Any, part: Any) -> Any:
    """The sum of two parts, where None is nothing."""
    if total is None or part is None:
        return part if total is None else total
    return total + part
