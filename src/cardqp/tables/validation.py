"""The rules for tables and encoders: each rule has one message, raised here only."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.problem.validation import LARGEST, LEAST_TARGET
from cardqp.tables.column_profile import ColumnProfile
from cardqp.tables.column_sums import Range
from cardqp.tables.complaints import ColumnError, Complaints
from cardqp.tables.header import check_distinct
from cardqp.tables.kinds import BOOLEAN, CATEGORY, NUMBER, is_numeric
from cardqp.tables.phrases import listed
from cardqp.tables.place import MissingCells

POLICIES = ("error", "drop", "mean")
"""What to do about missing cells."""

FEW_ROWS = 0.1
"""A share of the rows that one would rather do without than fill in cells."""

TARGET = "the target"
"""How messages call the column to predict."""


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
    complaints = Complaints()
    for option, given in named.items():
        for name in given:
            if name not in known:
                with complaints.kept():
                    raise _no_column(option, name, columns)
    complaints.check()
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


def _no_column(option: str, name: str, columns: Sequence[str]) -> DataError:
    """The error about a name that no column has; some column may be meant."""
    given = f"{name!r} is none of {listed(columns)}"
    alike = {each.lower(): each for each in reversed(columns)}
    close = get_close_matches(str(name).lower(), alike, n=1)
    if not close:
        return DataError(option, "must name columns", given=given)
    meant = alike[close[0]]
    # Lists of names are given as a whole, and others may be right.
    fix = [Setting(option, meant)] if option == "target" else []
    return DataError(
        option,
        "must name columns",
        given=given,
        remedy=f"perhaps {meant!r} is meant",
        fix=fix,
    )


def target_kind(profile: ColumnProfile, dates: str) -> str:
    """The type of the target, which must hold numbers or booleans."""
    name = profile.name
    if profile.is_empty:
        raise ColumnError(
            name, "must have values", given="all are missing", what=TARGET
        )
    try:
        kind = profile.kind(dates)
    except ColumnError as err:
        raise _about_target(err) from None
    if is_numeric(kind) or kind == BOOLEAN:
        return kind
    given, remedy = f"it is a {kind}", "name another column, or encode it"
    if kind == CATEGORY and NUMBER in profile.odd:
        texts = profile.odd[NUMBER].texts[:2]
        given += f", such as {' or '.join(repr(text[:40]) for text in texts)}"
        remedy = "name another column, or write 1 for some labels and 0 for others"
    raise ColumnError(
        name, "must hold numbers", given=given, remedy=remedy, what=TARGET
    )


def _about_target(error: ColumnError) -> ColumnError:
    """The complaint of a column as one of the target, which cannot be left out."""
    words = [each for each in error.fix if each.name not in ("drop", "categorical")]
    return ColumnError(
        error.column,
        error.said or "",
        given=error.given,
        remedy=Phrase("correct it, or use {}", *words) if words else "correct it",
        fix=words,
        what=TARGET,
    )


def target_range(name: str, found: Range) -> None:
    """The target must vary, and be neither too large nor too small."""
    most = max(abs(found.low), abs(found.high))
    if 0.0 < most < LEAST_TARGET:
        raise ColumnError(
            name,
            f"must reach {LEAST_TARGET:g} somewhere, for its squares are lost "
            "otherwise",
            given=f"it reaches {most:g}",
            remedy="rescale it",
            what=TARGET,
        )
    if most > LARGEST**0.5:
        raise ColumnError(
            name,
            f"must hold numbers below {LARGEST**0.5:g}, for they are squared",
            given=f"one is {most:g}",
            remedy="rescale it",
            what=TARGET,
        )
    if found.low == found.high:
        raise ColumnError(
            name, "must vary", given=f"all its values are {found.low:g}", what=TARGET
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


def complete(missing: Sequence[MissingCells], remedy: str = "") -> None:
    """No cell of a feature, or of what else columns are, may be missing."""
    # Not more rows are left out than this, and fewer if they miss several cells.
    most = sum(each.share for each in missing)
    complaints = Complaints()
    for each in missing:
        usual = Phrase(
            "use {} to leave out such rows, {} to fill in, or {}",
            Setting("missing", "drop"),
            Setting("missing", "mean"),
            Setting("drop", [each.name]),
        )
        fix = [Setting("missing", "drop" if most <= FEW_ROWS else "mean")]
        with complaints.kept():
            raise ColumnError(
                each.name,
                "must not miss values",
                given=str(each),
                remedy=remedy or usual,
                fix=() if remedy else fix,
            )
    complaints.check()


def target_complete(missing: Sequence[MissingCells]) -> None:
    """No row may be without a target."""
    drop = Setting("missing", "drop")
    for each in missing:
        raise ColumnError(
            each.name,
            "must not miss values",
            given=str(each),
            remedy=Phrase("use {} to leave out such rows", drop),
            fix=[drop],
            what=TARGET,
        )


def encoder_complaint(entry: Any) -> str:
    """The first fault of a stored encoder, columns aside; empty if there is none."""
    if not isinstance(entry, Mapping):
        return f"it is {str(entry)[:40]!r}"
    kind, missing = entry.get("target_kind"), entry.get("missing")
    if kind != BOOLEAN and not (isinstance(kind, str) and is_numeric(kind)):
        return f"`target_kind` is {kind!r}"
    if missing not in POLICIES:
        return f"`missing` is {missing!r}"
    if not isinstance(entry.get("target"), str):
        return f"`target` is {entry.get('target')!r}"
    for key in ("columns", "notes"):
        if not isinstance(entry.get(key, []), list):
            return f"`{key}` is no list"
    return "" if "columns" in entry else "`columns` is missing"
