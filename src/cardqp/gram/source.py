"""Which columns of which files are added up, and what to do about bad rows."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp._validation import LARGEST
from cardqp.exceptions import DataError, ParameterError
from cardqp.gram.readers import Blocks, NumPyFile, Reader, open_reader
from cardqp.gram.sums import ShiftedSums, UnusableEntryError

Missing = Literal["error", "drop"]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Key = str | int


@dataclass(frozen=True, slots=True)
class Selection:
    """What to take from files, as the user names it.

    Attributes
    ----------
    target, columns, weight, missing
        As for :meth:`cardqp.gram.GramAccumulator.from_files`.
    """

    target: Key | None = None
    columns: Sequence[Key] | None = None
    weight: Key | None = None
    missing: Missing = "error"

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise ParameterError(
                f"`missing` must be one of {', '.join(get_args(Missing))}: it is "
                f"{self.missing!r}."
            )
        if isinstance(self.columns, str):
            raise ParameterError(
                f"`columns` must be a list of columns: it is {self.columns!r}."
            )

    def wanted(self, reader: Reader) -> tuple[str, ...]:
        """Columns of a file: features, target, and the weight if there is one."""
        if self.target is None and not isinstance(reader, NumPyFile):
            raise ParameterError(
                f"`target` must name the column to predict: `{reader.path}` has "
                f"{_some(reader.columns)}."
            )
        target = _find("target", -1 if self.target is None else self.target, reader)
        last = [target]
        if self.weight is not None:
            last.append(_find("weight", self.weight, reader))
        if self.columns is None:
            features = [name for name in reader.columns if name not in last]
        else:
            features = [_find("columns", key, reader) for key in self.columns]
        wanted = (*features, *last)
        if not features or len(set(wanted)) < len(wanted):
            raise ParameterError(
                "`columns` must name at least one feature, and no column twice, "
                f"neither `target` nor `weight`: it names {_some(features) or 'none'}."
            )
        return wanted


def _find(argument: str, key: Any, reader: Reader) -> str:
    """The name of a column that the user names, or counts in files without names."""
    columns = reader.columns
    if isinstance(reader, NumPyFile):
        if isinstance(key, int) and -len(columns) <= key < len(columns):
            return columns[key]
    elif key in columns:
        return str(key)
    raise ParameterError(
        f"`{argument}` must be a column of `{reader.path}`: {key!r} is none; it has "
        f"{_some(columns)}."
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" * (len(names) > 5))


@dataclass(frozen=True, slots=True)
class Source:
    """Files with the same columns.

    Attributes
    ----------
    readers : tuple of Reader
        The files in their order.
    wanted : tuple of str
        Features, target, and the weight if there is one.
    has_weight : bool
        Whether there is.
    missing : {"error", "drop"}
        What to do with rows where something is missing.
    """

    readers: tuple[Reader, ...]
    wanted: tuple[str, ...]
    has_weight: bool
    missing: Missing

    @classmethod
    def open(cls, paths: Paths, selection: Selection) -> "Source":
        """Look at all files without reading rows."""
        readers = tuple(open_reader(path) for path in find_files(paths))
        first = readers[0]
        for reader in readers[1:]:
            if odd := set(first.columns) ^ set(reader.columns):
                name = sorted(odd)[0]
                has, lacks = first.path, reader.path
                if name in reader.columns:
                    has, lacks = lacks, has
                raise DataError(
                    f"Files must have the same columns: `{has}` has {name!r}, "
                    f"`{lacks}` does not."
                )
        wanted = selection.wanted(first)
        return cls(readers, wanted, selection.weight is not None, selection.missing)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, if files have names."""
        if any(isinstance(reader, NumPyFile) for reader in self.readers):
            return None
        return self.wanted[: self._width - 1]

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
        """What makes this source the same as that of an earlier run."""
        states = [(reader.path, reader.path.stat()) for reader in self.readers]
        files = [[str(p.resolve()), s.st_size, s.st_mtime_ns] for p, s in states]
        return [files, list(self.wanted), self.has_weight, self.missing]

    def shift(self) -> FloatArray:
        """A point near the mean: that of the first block with complete rows."""
        for block in self._all_blocks():
            complete = block[~np.isnan(block).any(axis=1), : self._width]
            if len(complete):
                with np.errstate(invalid="ignore"):
                    mean = complete.mean(axis=0)
                # Rows that are not finite are refused later, with their place.
                return np.where(np.isfinite(mean), mean, 0.0)
        raise DataError(
            "Files must have rows in which nothing is missing: "
            f"`{self.readers[0].path}` and {len(self.readers) - 1} others have none."
        )

    def sums_of(
        self, reader: Reader, blocks: Blocks, row: int, shift: FloatArray
    ) -> ShiftedSums:
        """Sums of a piece of a file.

        Parameters
        ----------
        reader : Reader
            The file.
        blocks : iterator of arrays
            The piece.
        row : int
            How many rows of the file are before it.
        shift : (n + 1,) array
            The point.
        """
        total = ShiftedSums.zero(shift)
        for block in blocks:
            total += self._block_sums(reader, block, row, shift)
            row += len(block)
        return total

    @property
    def _width(self) -> int:
        """Number of features and target."""
        return len(self.wanted) - self.has_weight

    def _all_blocks(self) -> Iterator[FloatArray]:
        for reader in self.readers:
            for _, blocks in reader.pieces(self.wanted, 0):
                yield from blocks

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
        if gone.any() and self.missing == "error":
            self._refuse(
                reader, row, block, gone, "be complete", 'use `missing="drop"`'
            )
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
            f"`{reader.path}` must {rule}: column {self.wanted[j]!r} in row "
            f"{row + i + 1} is {value}; {remedy}."
        )


def find_files(paths: Paths) -> list[Path]:
    """Files in the given order, or in the order of their names for a pattern."""
    if isinstance(paths, str):
        # Patterns of pathlib cannot be absolute.
        names = sorted(glob.glob(paths, recursive=True))  # noqa: PTH207
        found = [Path(name) for name in ([paths] if Path(paths).is_file() else names)]
    elif isinstance(paths, os.PathLike):
        found = [Path(paths)]
    else:
        found = [Path(name) for name in paths]
    if not found:
        raise ParameterError(f"`paths` must name files: nothing matches {paths!r}.")
    return found
