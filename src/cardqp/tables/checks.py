"""The rules for recipes: each rule has one message, raised here only."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cardqp._typing import BoolArray
from cardqp._validation import LARGEST
from cardqp.exceptions import DataError, ParameterError
from cardqp.tables.cells import Cells, read_cells
from cardqp.tables.kinds import BOOLEAN, NUMBER
from cardqp.tables.words import count, listed

POLICIES = ("error", "drop", "mean")


def policy(missing: Any) -> None:
    """What to do about missing cells."""
    if missing not in POLICIES:
        raise ParameterError(
            f"`--missing` must be one of {', '.join(POLICIES)}: it is {missing!r}."
        )


def feature_names(
    frame: Any,
    target: str,
    drop: Sequence[str],
    only: Sequence[str] | None,
    categorical: Sequence[str],
) -> list[str]:
    """The columns to learn from, in their order."""
    columns = list(frame.columns)
    known = set(columns)
    wrong = next((name for name in columns if not isinstance(name, str)), None)
    if wrong is not None:
        raise DataError(
            f"`frame` must name columns by texts: a name is {wrong!r}; use "
            "frame.columns.astype(str)."
        )
    if len(known) < len(columns):
        raise DataError("`frame` must have distinct names of columns; rename some.")
    named = {
        "target": [target],
        "drop": drop,
        "only": only or (),
        "categorical": categorical,
    }
    for option, given in named.items():
        for name in given:
            if name not in known:
                raise DataError(
                    f"`--{option}` must name columns: {name!r} is none of "
                    f"{listed(columns)}."
                )
    for option in ("drop", "categorical"):
        if target in named[option]:
            raise DataError(
                f"`--{option}` must not name the target: it names {target!r}."
            )
    wanted = set(columns if only is None else only) - {target, *drop}
    if not wanted:
        raise DataError(
            "the table must have a feature besides the target: none is left."
        )
    return [name for name in columns if name in wanted]


def target_column(frame: Any, target: str, missing: str) -> tuple[str, BoolArray]:
    """What the target holds, and which rows have it."""
    cells = read_cells(frame, [target])
    kind = cells.kinds[target]
    has_target = ~cells.missing(target)
    if not has_target.any():
        raise DataError(f"the target `{target}` must have values: all are missing.")
    if kind not in (NUMBER, BOOLEAN):
        raise DataError(
            f"the target `{target}` must hold numbers: it is a {kind}; name another "
            "column, or encode it."
        )
    if missing == "error":
        complete(cells)
    values = cells.numbers[has_target, 0]
    most = float(np.abs(values).max())
    if most > LARGEST**0.5:
        raise DataError(
            f"the target `{target}` must hold numbers below {LARGEST**0.5:g}, for they "
            f"are squared: one is {most:g}; rescale it."
        )
    if values.min() == values.max():
        raise DataError(
            f"the target `{target}` must vary: all its values are {values[0]:g}."
        )
    return kind, has_target


def has_columns(frame: Any, wanted: Sequence[str]) -> None:
    """A table must have the columns that were learnt."""
    known = set(frame.columns)
    lacking = [name for name in wanted if name not in known]
    if lacking:
        raise DataError(
            f"the table must have the columns that were learnt: it lacks "
            f"{listed(lacking)}."
        )


def complete(cells: Cells) -> None:
    """No cell may be missing."""
    counts = cells.count_missing()
    if not counts:
        return
    name, number = next(iter(counts.items()))
    first = int(np.argmax(cells.missing(name))) + 1
    others = (
        f", and {count(len(counts) - 1, 'other column')}" if len(counts) > 1 else ""
    )
    raise DataError(
        f"column `{name}` must not miss values: {number} of {cells.n_rows} are missing"
        f", the first in row {first}{others}; pass `--missing drop` to leave out such "
        f"rows, `--missing mean` to fill in, or `--drop {name}`."
    )


def recipe_complaint(entry: Any) -> str:
    """What is wrong with a stored recipe, columns aside; empty if nothing is."""
    if not isinstance(entry, Mapping):
        return f"it is {str(entry)[:40]!r}"
    allowed = {"target_kind": (NUMBER, BOOLEAN), "missing": POLICIES}
    for key, values in allowed.items():
        if entry.get(key) not in values:
            return f"`{key}` is {entry.get(key)!r}"
    if not isinstance(entry.get("target"), str):
        return f"`target` is {entry.get('target')!r}"
    for key in ("columns", "notes"):
        if not isinstance(entry.get(key, []), list):
            return f"`{key}` is no list"
    return "" if "columns" in entry else "`columns` is missing"
