"""Comma-separated tables of numbers with a header line."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import ProblemError
from cardqp.tables.header import check_names


@dataclass(frozen=True, slots=True)
class RegressionTable:
    """Features, response and the features' names."""

    X: FloatArray
    y: FloatArray
    names: tuple[str, ...]


def read_regression(
    path: str, target: str | None, standardize: bool = False
) -> RegressionTable:
    """Read a table and set the target column apart.

    Parameters
    ----------
    path : str
        A ``.csv`` file whose first line names the columns.
    target : str
        The column to predict; all others are features.
    standardize : bool
        Centre all columns and scale the features to unit variance.
    """
    header = _header(path)
    if target is None:
        raise ProblemError(
            "--target",
            "is missing",
            remedy=f"name the column to predict, one of {header}",
        )
    if target not in header:
        raise ProblemError(
            "--target", "must be a column", given=f"{target!r} is not in {header}"
        )
    values = _numbers(path, header)
    column = header.index(target)
    X, y = np.delete(values, column, axis=1), values[:, column]
    names = tuple(name for name in header if name != target)
    if standardize:
        X, y = _standardize(X, names), y - y.mean()
    return RegressionTable(X, y, names)


def _header(path: str) -> list[str]:
    first = next(_lines(path), (0, []))[1]
    if len(first) < 2:
        raise ProblemError(
            "file",
            "must have two columns or more, separated by commas",
            given=f"{path} starts with {','.join(first)!r}",
        )
    return check_names(first, path)


def _lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells of all lines that are not blank."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as err:
        raise ProblemError(
            "file", "must be a UTF-8 table", given=f"{path}: {err}"
        ) from err


def _numbers(path: str, header: list[str]) -> FloatArray:
    lines = _lines(path)
    next(lines)
    rows = [_parse(row, header, path, number) for number, row in lines]
    if not rows:
        raise ProblemError(
            "file", "must have rows below the header", given=f"{path} has none"
        )
    return np.array(rows)


def _parse(row: list[str], header: list[str], path: str, line: int) -> list[float]:
    if len(row) != len(header):
        raise ProblemError(
            "file",
            f"must have {len(header)} values in each line",
            given=f"line {line} of {path} has {len(row)}",
        )
    values = [_number(cell) for cell in row]
    for name, cell, value in zip(header, row, values, strict=True):
        if not math.isfinite(value):
            raise ProblemError(
                "file",
                "must hold numbers",
                given=f"line {line} of {path} has {cell!r} in column {name!r}",
                remedy="fill in, encode or remove it",
            )
    return values


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _standardize(X: FloatArray, names: tuple[str, ...]) -> FloatArray:
    spread = X.std(axis=0)
    constant = np.flatnonzero(spread == 0)
    if len(constant):
        raise ProblemError(
            "--standardize",
            "needs columns that vary",
            given=f"{names[constant[0]]!r} is constant",
            remedy="remove it",
        )
    return np.asarray((X - X.mean(axis=0)) / spread)
