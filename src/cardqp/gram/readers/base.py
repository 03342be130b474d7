"""Interfaces and helpers that all readers share."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, Protocol

from cardqp._typing import FloatArray
from cardqp.exceptions import CardQPError, DataError, optional

Blocks = Iterator[FloatArray]
"""Arrays with one column per wanted column, NaN where something is missing.  They may
be written to, and are valid until the next one is taken."""

Frames = Iterator[Any]
"""DataFrames of pandas with the wanted columns."""


class NotNumbersError(DataError):
    """A column holds something else: it can be read in frames, not in blocks."""


class Piece(Protocol):
    """Some rows of a file that come one after the other."""

    def blocks(self, wanted: Sequence[str]) -> Blocks:
        """The rows as numbers.

        Raises
        ------
        NotNumbersError
            When a column does not hold numbers, or booleans of a type of their own.
        """

    def frames(
        self, wanted: Sequence[str], text: frozenset[str] | None, rows: int
    ) -> Frames:
        """The rows as they are.

        Parameters
        ----------
        wanted : sequence of str
            Names of columns.
        text : set of str or None
            Columns whose cells must come as text where the file has text; None for
            those that hold true and false in these rows, and may not in others.
        rows : int
            How many rows to give at a time, at most.
        """


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

    @property
    def piece_rows(self) -> tuple[int, ...] | None:
        """Number of rows of each piece, if positions are numbers of pieces."""

    def pieces(self, start: int) -> Iterator[tuple[int, Piece]]:
        """Pieces of the file from a position on, each with the position after it.

        Positions are 0 for the beginning, and what this function has given before.
        """


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn exceptions while a file is read into errors of one line that name it."""
    try:
        yield
    except (CardQPError, ImportError):
        raise
    except (OSError, ValueError, EOFError, TokenError, zlib.error) as err:
        reason = str(err).strip().partition("\n")[0].rstrip(".")[:200]
        raise DataError(
            None,
            f"`{path}` cannot be read",
            given=reason,
            remedy="it is truncated or damaged, write it again",
        ) from err


def refuse_text(path: Path, kinds: dict[str, Any]) -> None:
    """Refuse columns that are not numbers or booleans.

    Parameters
    ----------
    path : path
        The file.
    kinds : dict
        From names of columns to their types in Arrow.
    """
    types = pyarrow().types
    fine = [types.is_integer, types.is_floating, types.is_boolean]
    fine += [types.is_decimal, types.is_null]
    for name, kind in kinds.items():
        if not any(test(kind) for test in fine):
            raise NotNumbersError(
                None,
                f"`{path}` must hold numbers or booleans",
                given=f"column {name!r} holds {kind}",
            )


def fill(buffer: FloatArray, table: Any, wanted: Sequence[str]) -> FloatArray:
    """Columns of an Arrow table side by side, NaN where something is missing."""
    double = pyarrow().float64()
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


def pyarrow(module: str = "") -> Any:
    """The module pyarrow or a part of it, or an error that says how to get it."""
    name = f"pyarrow.{module}" if module else "pyarrow"
    return optional(name, "Parquet and CSV files need pyarrow", "data")
