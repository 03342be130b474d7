"""From the bytes of a file to checked numbers, by pandas."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import DataError
from cardqp.tables.frames import exact_decimals, read_parquet, require_pandas


@dataclass(frozen=True, slots=True)
class Layout:
    """One of the files that a data set may come in.

    Attributes
    ----------
    file : str
        Its name.
    rows, width : int
        Its shape.
    remark : str
        What readers of a table should know about this file.
    names : tuple of str, optional
        Names of the columns, if the file has no header.
    """

    file: str
    rows: int
    width: int
    remark: str
    names: tuple[str, ...] | None = None

    @property
    def is_parquet(self) -> bool:
        """Whether the file is binary."""
        return self.file.endswith(".parquet")

    def fits(self, data: bytes, target: str) -> bool:
        """Whether a header, if there should be one, names the target.

        Other data sets come in files of the same names, such as ``train.csv``.
        """
        return self.is_parquet or self.names is not None or target in _header(data)


def parse(data: bytes, layout: Layout, label: str) -> Any:
    """A frame of the layout's shape, with names of columns.

    Parameters
    ----------
    data : bytes
        Contents of the file.
    layout : Layout
        What it should look like.
    label : str
        How messages call it.
    """
    if layout.is_parquet:
        frame = read_parquet(data, label)
        names: Sequence[str] = [str(name) for name in frame.columns]
    else:
        frame = _read_text(data, 0 if layout.names else 1, label)
        names = layout.names or _header(data)
    shape = (len(frame), max(len(names), frame.shape[1]))
    if shape != (layout.rows, layout.width):
        raise DataError(
            f"{label} must have {layout.rows} rows and {layout.width} columns: it has "
            f"{shape[0]} and {shape[1]}; it is not complete, or another file."
        )
    if len(names) != frame.shape[1] or len(set(names)) < len(names):
        raise DataError(
            f"{label} must have one name for each of its {layout.width} columns: its "
            f"first line has {len(set(names))}, its rows have {frame.shape[1]} entries."
        )
    frame.columns = list(names)
    return frame


def numbers(frame: Any, columns: Sequence[str], label: str) -> FloatArray:
    """Some columns as floats, none missing.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    columns : sequence of str
        Names of the columns.
    label : str
        How messages call the file.
    """
    values = np.empty((len(frame), len(columns)))
    for j, column in enumerate(columns):
        values[:, j] = _column(frame, column, label)
    return values


def _column(frame: Any, column: str, label: str) -> FloatArray:
    if column not in frame.columns:
        raise DataError(f"{label} must have a column `{column}`: it has none.")
    series = frame[column]
    if series.dtype.kind not in "biuf":
        series = require_pandas().to_numeric(series.astype(object), errors="coerce")
    values = np.asarray(series.to_numpy(dtype=float, na_value=np.nan))
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{label} must hold finite numbers in column `{column}`: row {row + 1} "
            f"has `{str(frame[column].iloc[row])[:40]}`; get the file again."
        )
    return values


def _header(data: bytes) -> tuple[str, ...]:
    line = data.partition(b"\n")[0].decode("utf-8-sig", errors="replace").strip()
    try:
        return tuple(name.strip() for name in next(csv.reader([line]), []))
    except csv.Error:  # a line too long to be one
        return ()


def _read_text(data: bytes, skipped: int, label: str) -> Any:
    """Rows without the header.

    The header is read apart: pandas would take a first column that has no name for
    labels of the rows.
    """
    pandas = require_pandas()
    try:
        return pandas.read_csv(
            io.BytesIO(data),
            header=None,
            skiprows=skipped,
            na_values=["?"],
            skipinitialspace=True,
            low_memory=False,
            encoding="utf-8-sig",
            encoding_errors="replace",
            **exact_decimals(pandas.__version__),
        )
    except ValueError as err:
        raise DataError(f"{label} is not a table of numbers: {err}.") from err
