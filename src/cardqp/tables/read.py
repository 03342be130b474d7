"""From a file, or standard input, to a table with one name for each column."""

import gzip
import io
import sys
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from cardqp.exceptions import DataError
from cardqp.problem import validation as check
from cardqp.tables import encodings, separators
from cardqp.tables.frames import BROKEN_PARQUET, read_parquet, require_pandas
from cardqp.tables.header import check_names
from cardqp.tables.text import MISSING, Layout, parse_text

_PARQUET, _GZIP, _ZIP = b"PAR1", b"\x1f\x8b", b"PK\x03\x04"


def read_table(
    path: str | PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str = separators.AUTO,
    missing: Sequence[str] = MISSING,
    least_columns: int = 2,
    encoding: str = encodings.AUTO,
    skip_lines: Sequence[int] = (),
) -> Any:
    """Read a table whose first line names the columns.

    Parameters
    ----------
    path : path
        Text (``.csv``, ``.tsv``, ``.txt``, also ``.gz``) or ``.parquet``, as is seen
        from the contents.  ``"-"`` is standard input.
    delimiter : str, optional
        What separates the cells of text: one character, or ``"tab"``.  By default that
        one of comma, semicolon, tab and ``|`` which fits the first lines best.
    decimal : {"auto", ".", ","}
        What separates the decimals of text; by default what the cells show.
    missing : sequence of str
        Cells of text that count as missing, besides empty ones.
    least_columns : int
        Text with fewer columns is refused: its delimiter must be another.
    encoding : str
        The encoding of text, such as ``"cp1250"``; by default UTF-8, or else UTF-16 or
        the code page of Windows for Western Europe.
    skip_lines : sequence of int
        Numbers of lines of text, from 1, that are left out, such as titles above the
        header.

    Returns
    -------
    pandas.DataFrame
        ``attrs["notes"]`` says what was guessed and left out.  Columns without a name
        are called by their place, unless the first one names rows; names that come
        twice get a number.

    Raises
    ------
    DataError
        When the file is not there, or is not such a table.
    ParameterError
        When a setting is outside its range.
    BackendNotFoundError
        When pandas, or pyarrow for Parquet, is not installed.
    """
    require_pandas("A table")
    label = "standard input" if str(path) == "-" else str(path)
    data = _unpacked(_contents(path, label), label)
    if not data or data.isspace():
        raise DataError(None, f"{label} must be a table", given="it is empty")
    if data.startswith(_PARQUET) or label.lower().endswith(".parquet"):
        return _from_parquet(data, label)
    if data.startswith(_ZIP):
        raise DataError(
            None,
            f"{label} must be text or Parquet",
            given="it is a spreadsheet or an archive",
            remedy="save it as CSV",
        )
    check.listing("missing", missing, "texts", str)
    check.listing("skip_lines", skip_lines, "integers", int)
    check.instance("encoding", encoding, str)
    check.one_of("decimal", decimal, (separators.AUTO, ".", ","))
    layout = Layout(
        *(delimiter, decimal, tuple(missing), least_columns, encoding),
        skip_lines=tuple(skip_lines),
    )
    return parse_text(data, label, layout)


def _contents(path: str | PathLike[str], label: str) -> bytes:
    if str(path) == "-":
        return b"" if sys.stdin is None else sys.stdin.buffer.read()
    if Path(path).is_dir():
        raise DataError(None, f"{label} must be a file", given="it is a folder")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(
            None, f"{label} must be a file", given="it does not exist"
        ) from None
    except (OSError, ValueError) as err:
        raise DataError(
            None, f"{label} must be a file that can be read", given=str(err)
        ) from err


def _unpacked(data: bytes, label: str) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as err:
        raise DataError(
            None,
            f"{label} must be a complete gzip file",
            given=str(err),
            remedy="get it again",
        ) from err


def _parquet_names(data: bytes) -> list[str]:
    """Names of columns, which pandas does not read if one occurs twice.

    None of a broken file: reading it all tells why.
    """
    try:
        from pyarrow.parquet import read_schema

        return [str(name) for name in read_schema(io.BytesIO(data)).names]
    except (ImportError, *BROKEN_PARQUET):
        return []


def _from_parquet(data: bytes, label: str) -> Any:
    check_names(_parquet_names(data), label)
    frame = read_parquet(data, label)
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    frame.columns = check_names(list(map(str, frame.columns)), label)
    if len(frame) == 0:
        raise DataError(None, f"{label} must have rows", given="it has none")
    return frame
