"""The rules for tables and encoders: each rule has one message, raised here only."""

from collections.abc import Mapping, Sequence
from typing import Any

from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.problem.validation import LARGEST, LEAST_TARGET
from cardqp.tables.column_profile import ColumnProfile
from cardqp.tables.column_sums import Range
from cardqp.tables.header import check_distinct
from cardqp.tables.kinds import BOOLEAN, NUMBER
from cardqp.tables.phrases import count, listed
from cardqp.tables.place import MissingCells

POLICIES = ("error", "drop", "mean")
"""What to do about missing cells."""


def feature_names(
    columns: Sequence[str],
    target: str,
    drop: Sequence[str],
    only: Sequence[str] | None,
    categorical: Sequence[str],
) -> list[str]:
    """The columns that are features, in the order of the table."""
    known = set(columns)
    wrong = next((name for name in columns if not isinstance(name, str)), None)
    if wrong is not None:
        raise DataError(
            "frame",
            "must name columns by texts",
            given=f"a name is {wrong!r}",
            remedy="use frame.columns.astype(str)",
        )
    check_distinct(columns, "frame", "must have distinct names of columns")
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
                    option,
                    "must name columns",
                    given=f"{name!r} is none of {listed(columns)}",
                )
    for option in ("drop", "categorical"):
        if target in named[option]:
            raise DataError(
                option, "must not name the target", given=f"it names {target!r}"
            )
    wanted = set(columns if only is None else only) - {target, *drop}
    if not wanted:
        raise DataError(
            None,
            "the table must have a feature besides the target",
            given="none is left",
        )
    return [name for name in columns if name in wanted]


def target_kind(profile: ColumnProfile, missing: str) -> str:
    """The type of the target, which must hold numbers or booleans."""
    name = profile.name
    if profile.is_empty:
        raise DataError(
            None, f"the target `{name}` must have values", given="all are missing"
        )
    kind = profile.kind()
    if kind not in (NUMBER, BOOLEAN):
        raise DataError(
            None,
            f"the target `{name}` must hold numbers",
            given=f"it is a {kind}",
            remedy="name another column, or encode it",
        )
    if missing == "error":
        target_complete(profile.missing_cells)
    return kind


def target_range(name: str, found: Range) -> None:
    """The target must vary, and be neither too large nor too small."""
    most = max(abs(found.low), abs(found.high))
    if 0.0 < most < LEAST_TARGET:
        raise DataError(
            None,
            f"the target `{name}` must reach {LEAST_TARGET:g} somewhere, for its "
            "squares are lost otherwise",
            given=f"it reaches {most:g}",
            remedy="rescale it",
        )
    if most > LARGEST**0.5:
        raise DataError(
            None,
            f"the target `{name}` must hold numbers below {LARGEST**0.5:g}, for "
            "they are squared",
            given=f"one is {most:g}",
            remedy="rescale it",
        )
    if found.low == found.high:
        raise DataError(
            None,
            f"the target `{name}` must vary",
            given=f"all its values are {found.low:g}",
        )


def has_columns(frame: Any, wanted: Sequence[str]) -> None:
    """A table must have the columns that an encoder or a model uses."""
    known = set(frame.columns)
    lacking = [name for name in wanted if name not in known]
    if lacking:
        raise DataError(
            None,
            "the table must have the columns that are used",
            given=f"it lacks {listed(lacking)}",
        )


def complete(
    missing: Sequence[MissingCells], remedy: str = "", what: str = "column"
) -> None:
    """No cell of a feature, or of what else it is, may be missing."""
    if not missing:
        return
    first = missing[0]
    others = f", and {count(len(missing) - 1, 'other column')}" * (len(missing) > 1)
    usual = Phrase(
        "use {} to leave out such rows, {} to fill in, or {}",
        Setting("missing", "drop"),
        Setting("missing", "mean"),
        Setting("drop", [first.name]),
    )
    raise DataError(
        None,
        f"{what} `{first.name}` must not miss values",
        given=f"{first}{others}",
        remedy=remedy or usual,
    )


def target_complete(missing: Sequence[MissingCells]) -> None:
    """No row may be without a target."""
    drop = Setting("missing", "drop")
    complete(missing, Phrase("use {} to leave out such rows", drop), "the target")


def encoder_complaint(entry: Any) -> str:
    """The first fault of a stored encoder, columns aside; empty if there is none."""
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
