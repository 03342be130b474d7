"""Files of rows, a few thousand at a time: Parquet, CSV and NumPy."""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import BackendNotFoundError, DataError, ParameterError
from cardqp.gram.sums import block_rows, row_blocks

Blocks = Iterator[FloatArray]
"""Arrays with one column per wanted column, NaN where something is missing.  They may
be written to, and are valid until the next one is taken."""

_CSV_BYTES = 2**22
"""Text that is parsed at a time: more is no faster and takes more memory."""

_PARQUET_BUFFER = 2**16
"""Bytes that are read at a time: without, whole row groups would be held."""

_INDEX = "__index_level_"
"""How pandas calls the labels of rows, which are no columns of its tables."""


class Reader(Protocol):
    """A file whose rows can be read from certain positions on."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, or their indices as text if they have no names."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if it is known before they are read."""

    def pieces(self, wanted: Sequence[str], start: int) -> Iterator[tuple[int, Blocks]]:
        """Pieces of the file from a position on, each with the position after it.

        Positions are 0 for the beginning, and what this function has given before.
        """


def open_reader(path: Path) -> Reader:
    """A reader for a file, by the ending of its name."""
    openers: dict[str, Callable[[Path], Reader]] = {
        ".parquet": ParquetFile.open,
        ".csv": CSVFile.open,
        ".npy": NumPyFile.open,
    }
    opener = openers.get(path.suffix.casefold())
    if opener is None:
        raise ParameterError(
            f"`paths` must name files that end in {', '.join(openers)}: it names "
            f"`{path}`."
        )
    if not path.is_file():
        raise DataError(f"`{path}` is not a file; correct `paths`.")
    with reading(path):
        reader = opener(path)
    if len(set(reader.columns)) < len(reader.columns):
        twice = next(c for c in reader.columns if reader.columns.count(c) > 1)
        raise DataError(
            f"`{path}` must have distinct names of columns: {twice!r} occurs twice."
        )
    return reader


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What goes wrong in a file becomes one line that names it."""
    try:
        yield
    except (DataError, ImportError):
        raise
    except (OSError, ValueError, EOFError) as err:
        reason = str(err).strip().partition("\n")[0].rstrip(".")[:200]
        raise DataError(
            f"`{path}` cannot be read: {reason}; it is truncated or damaged, write it "
            "again."
        ) from err


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file; its pieces are row groups."""

    path: Path
    columns: tuple[str, ...]
    group_rows: tuple[int, ...]

    @classmethod
    def open(cls, path: Path) -> "ParquetFile":
        """Read the names of columns and the sizes of row groups."""
        with _pyarrow("parquet").ParquetFile(path, pre_buffer=False) as file:
            about = file.metadata
            sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
            names = [n for n in file.schema_arrow.names if not n.startswith(_INDEX)]
            return cls(path, tuple(names), tuple(sizes))

    @property
    def n_rows(self) -> int:
        return sum(self.group_rows)

    def pieces(self, wanted: Sequence[str], start: int) -> Iterator[tuple[int, Blocks]]:
        for group in range(start, len(self.group_rows)):
            yield group + 1, self.group(wanted, group)

    def group(self, wanted: Sequence[str], group: int) -> Blocks:
        """The rows of one row group."""
        rows = block_rows(len(wanted))
        buffer = np.empty((len(wanted), rows))
        # Buffers ahead would keep all that was read in memory.
        with (
            reading(self.path),
            _pyarrow("parquet").ParquetFile(
                self.path, pre_buffer=False, buffer_size=_PARQUET_BUFFER
            ) as file,
        ):
            kinds = {field.name: field.type for field in file.schema_arrow}
            refuse_text(self.path, {name: kinds[name] for name in wanted})
            for batch in file.iter_batches(rows, [group], columns=list(wanted)):
                yield _fill(buffer, batch, wanted)


@dataclass(frozen=True, slots=True)
class CSVFile:
    """Text with commas and a header line; its pieces are some megabytes of lines."""

    path: Path
    columns: tuple[str, ...]
    n_rows: None = None

    @classmethod
    def open(cls, path: Path) -> "CSVFile":
        """Read the header line."""
        with path.open("rb") as stream:
            line = stream.readline().decode("utf-8-sig").strip()
        names = tuple(name.strip() for name in next(csv.reader([line]), []))
        if not names:
            raise ValueError("its first line has no names of columns")
        return cls(path, names)

    def pieces(self, wanted: Sequence[str], start: int) -> Iterator[tuple[int, Blocks]]:
        with reading(self.path), self.path.open("rb") as stream:
            if start:
                stream.seek(start)
            else:
                stream.readline()
            while text := _whole_lines(stream):
                yield stream.tell(), self._blocks(text, wanted)

    def _blocks(self, text: bytes, wanted: Sequence[str]) -> Blocks:
        table = self._parse(text, wanted)
        rows = block_rows(len(wanted))
        buffer = np.empty((len(wanted), rows))
        for i in range(0, table.num_rows, rows):
            yield _fill(buffer, table.slice(i, rows), wanted)

    def _parse(self, text: bytes, wanted: Sequence[str]) -> Any:
        """A table; numbers at once, everything else after a look at it."""
        arrow, arrow_csv = _pyarrow(), _pyarrow("csv")
        options = arrow_csv.ReadOptions(column_names=self.columns, use_threads=False)
        with reading(self.path):
            for kinds in (dict.fromkeys(wanted, arrow.float64()), None):
                convert = arrow_csv.ConvertOptions(
                    column_types=kinds, include_columns=list(wanted)
                )
                try:
                    table = arrow_csv.read_csv(
                        arrow.BufferReader(text), options, convert_options=convert
                    )
                except arrow.ArrowInvalid as err:
                    if kinds is None or "conversion error" not in str(err):
                        raise
                else:
                    break
        refuse_text(self.path, dict(zip(wanted, table.schema.types, strict=True)))
        return table


@dataclass(frozen=True, slots=True)
class NumPyFile:
    """A matrix in a ``.npy`` file; its pieces are blocks of rows."""

    path: Path
    columns: tuple[str, ...]
    n_rows: int

    @classmethod
    def open(cls, path: Path) -> "NumPyFile":
        """Read the shape."""
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise DataError(
                f"`{path}` must hold a matrix of numbers: its shape is {array.shape}, "
                f"its type {array.dtype}."
            )
        return cls(path, tuple(str(j) for j in range(array.shape[1])), len(array))

    def pieces(self, wanted: Sequence[str], start: int) -> Iterator[tuple[int, Blocks]]:
        places = [int(name) for name in wanted]
        for rows in row_blocks(self.n_rows - start, len(wanted)):
            first, after = rows.start + start, rows.stop + start
            yield after, self._block(places, first, after)

    def _block(self, places: list[int], first: int, after: int) -> Blocks:
        # A fresh map each time: pages of the last one are given back.
        with reading(self.path):
            rows = np.load(self.path, mmap_mode="r", allow_pickle=False)[first:after]
        yield rows[:, places].astype(np.float64)


def refuse_text(path: Path, kinds: dict[str, Any]) -> None:
    """Refuse columns that are not numbers or booleans."""
    types = _pyarrow().types
    fine = [types.is_integer, types.is_floating, types.is_boolean]
    fine += [types.is_decimal, types.is_null]
    for name, kind in kinds.items():
        if not any(test(kind) for test in fine):
            raise DataError(
                f"`{path}` must hold numbers or booleans: column {name!r} holds "
                f"{kind}; encode it as numbers, or leave it out by `columns`."
            )


def _whole_lines(stream: Any) -> bytes:
    """Some megabytes that end with a line, and not within quotes."""
    text = stream.read(_CSV_BYTES) + stream.readline()
    quotes = text.count(b'"')
    more = [text]
    while quotes % 2 and (line := stream.readline()):
        quotes += line.count(b'"')
        more.append(line)
    return b"".join(more)


def _fill(buffer: FloatArray, table: Any, wanted: Sequence[str]) -> FloatArray:
    """Columns of a table side by side, NaN where something is missing."""
    double = _pyarrow().float64()
    for row, name in zip(buffer, wanted, strict=True):
        column = table.column(name)
        if column.type != double:
            column = column.cast(double, safe=False)
        # Without copies of the values, unless some are missing.
        chunks = getattr(column, "chunks", [column])
        place = 0
        for chunk in chunks:
            row[place : place + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
            place += len(chunk)
    return buffer[:, : table.num_rows].T


def _pyarrow(module: str = "") -> Any:
    """The module pyarrow or a part of it, or an error that says how to get it."""
    from importlib import import_module

    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError as err:
        raise BackendNotFoundError(
            "Parquet and CSV files need pyarrow: install it with "
            "`pip install 'cardqp[data]'`."
        ) from err
