"""What all readers share."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import CardQPError, DataError, optional
from cardqp.gram.sums import block_rows

Blocks = Iterator[FloatArray]
"""Arrays with one column per wanted column, NaN where something is missing.  They may
be written to, and are valid until the next one is taken."""

Frames = Iterator[Any]
"""DataFrames of pandas with the wanted columns."""


class NotNumbersError(DataError):
    """A column holds something else: it can be read in frames, not in blocks."""


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


def blocks_of(tables: Iterable[Any], wanted: Sequence[str]) -> Blocks:
    """Columns of Arrow tables, of :func:`block_rows` rows at most, side by side."""
    buffer = np.empty((len(wanted), block_rows(len(wanted))))
    for table in tables:
        _fill(buffer, table, wanted)
        yield buffer[:, : table.num_rows].T


def _fill(buffer: FloatArray, table: Any, wanted: Sequence[str]) -> None:
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


def pyarrow(module: str = "") -> Any:
    """The module pyarrow or a part of it, or an error that says how to get it."""
    name = f"pyarrow.{module}" if module else "pyarrow"
    return optional(name, "Parquet and CSV files need pyarrow", "data")
