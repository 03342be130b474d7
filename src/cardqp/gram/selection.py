"""The choice of files, of their columns, and of the policy for missing cells."""

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.gram.readers import NumPyFile, Reader
from cardqp.problem import validation as check
from cardqp.tables.schema import Request
from cardqp.tables.text import Layout
from cardqp.tables.validation import POLICIES

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Key = str | int


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice of columns and settings, as the user names them.

    Attributes
    ----------
    target, columns, drop, weight, missing, categorical, max_levels
        As for :meth:`cardqp.gram.GramAccumulator.from_files`.
    layout : Layout
        How text is cut into cells.
    """

    target: Key | None
    columns: Sequence[Key] | None
    drop: Sequence[Key]
    weight: Key | None
    missing: str
    categorical: Sequence[Key]
    max_levels: check.Count
    layout: Layout

    def __post_init__(self) -> None:
        check.one_of("missing", self.missing, POLICIES)
        if self.columns is not None:
            check.listing("columns", self.columns, "columns")
        check.listing("drop", self.drop, "columns")
        check.listing("categorical", self.categorical, "columns")
        check.ranges(self)

    def wanted(self, reader: Reader) -> tuple[str, ...]:
        """Columns of a file: features, target, and the weight if there is one."""
        if self.target is None and not isinstance(reader, NumPyFile):
            raise ParameterError(
                "target",
                "must name the column to predict",
                given=f"`{reader.path}` has {_some(reader.columns)}",
            )
        target = _find("target", -1 if self.target is None else self.target, reader)
        last = [target]
        if self.weight is not None:
            last.append(_find("weight", self.weight, reader))
        if self.columns is None:
            features = [name for name in reader.columns if name not in last]
        else:
            features = [_find("columns", key, reader) for key in self.columns]
        dropped = {_find("drop", key, reader) for key in self.drop}
        if target in dropped:
            raise ParameterError(
                "drop", "must not name the target", given=f"it names {target!r}"
            )
        features = [name for name in features if name not in dropped]
        wanted = (*features, *last)
        if not features or len(set(wanted)) < len(wanted):
            raise ParameterError(
                "columns",
                Phrase(
                    "must name at least one feature, and no column twice, neither {} "
                    "nor {}",
                    Setting("target"),
                    Setting("weight"),
                ),
                given=f"it names {_some(features) or 'none'}",
            )
        return wanted

    def request(self, reader: Reader) -> Request:
        """The settings that an encoder of such files is made with."""
        wanted = self.wanted(reader)
        return Request(
            wanted[-1 if self.weight is None else -2],
            categorical=[_find("categorical", k, reader) for k in self.categorical],
            missing=self.missing,
            max_levels=self.max_levels,
        )


def _find(argument: str, key: Any, reader: Reader) -> str:
    """The name of a column that the user names, or counts in files without names."""
    columns = reader.columns
    if isinstance(reader, NumPyFile):
        if isinstance(key, int) and -len(columns) <= key < len(columns):
            return columns[key]
    elif key in columns:
        return str(key)
    raise ParameterError(
        argument,
        f"must be a column of `{reader.path}`",
        given=f"{key!r} is none",
        remedy=f"it has {_some(columns)}",
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" * (len(names) > 5))


def find_files(paths: Paths) -> list[Path]:
    """Files in the given order, or in the order of their names for a pattern."""
    if isinstance(paths, str):
        # Patterns of pathlib cannot be absolute.
        names = sorted(glob.glob(paths, recursive=True))  # noqa: PTH207
        found = [Path(name) for name in ([paths] if Path(paths).is_file() else names)]
    elif isinstance(paths, os.PathLike):
        found = [Path(paths)]
    else:
        several = list(paths) if isinstance(paths, Iterable) else paths
        check.listing("paths", several, "files", str | os.PathLike)
        found = [Path(name) for name in several]
    if not found:
        raise ParameterError(
            "paths", "must name files", given=f"nothing matches {paths!r}"
        )
    return found
