"""Which features are chosen together."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cardqp._typing import IntArray
from cardqp.exceptions import DataError
from cardqp.problem.validation import repeated
from cardqp.tables import TableEncoder


def feature_blocks(encoder: TableEncoder, source: str) -> IntArray | None:
    """One number for each feature, equal for those that are chosen together.

    The source is ``auto`` for the levels of each category; ``none``; or a JSON file
    from labels to lists of columns that are chosen together.
    """
    if source == "none":
        return None
    names = [column.name for column in encoder.columns]
    given = {} if source == "auto" else _numbers(_read(source), source)
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise not_used("--blocks", unknown[0])
    own = np.array([given.get(n, j - len(names)) for j, n in enumerate(names)])
    return own[encoder.blocks]


def not_used(option: str, name: str) -> DataError:
    """The error about a name that is no column of an encoder."""
    return DataError(
        option,
        "must name columns that are used",
        given=f"{name!r} is not in the table, or was left out",
    )


def _numbers(blocks: Mapping[str, list[str]], source: str) -> dict[str, int]:
    """The number of the block of each column."""
    twice = repeated([name for names in blocks.values() for name in names])
    if twice is not None:
        raise DataError(
            "--blocks",
            "must name columns once",
            given=f"{source} names {twice!r} twice",
        )
    return {name: k for k, names in enumerate(blocks.values()) for name in names}


def _read(source: str) -> dict[str, list[str]]:
    try:
        blocks: Any = json.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as err:
        raise DataError(
            "--blocks", "must be auto, none or a JSON file", given=f"{source}: {err}"
        ) from err
    is_good = isinstance(blocks, dict) and all(map(_is_list, blocks.values()))
    if not is_good:
        raise DataError(
            "--blocks",
            "must hold labels with lists of columns, such as "
            '{"size": ["height", "weight"]}',
            given=f"{source} does not",
        )
    return dict(blocks)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)
