"""Schemas: types and values of the columns of a table, in memory or read in parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.problem.validation import Count, one_of, ranges
from cardqp.tables import validation as check
from cardqp.tables.cells import read_cells
from cardqp.tables.column import Column
from cardqp.tables.column_profile import ColumnProfile, column_profiles
from cardqp.tables.column_sums import ColumnSums, refuse_labels
from cardqp.tables.kinds import CATEGORY, DATE
from cardqp.tables.phrases import count, listed
from cardqp.tables.place import Place

Measure = Callable[[Any, Place], Any]
"""What is known of some rows, from a pandas.DataFrame of them and their place; what is
known of several parts can be added."""

Total = Callable[[Measure, frozenset[str] | None], Any]
"""The sum of a measure over all parts of a table, which are read anew each time.  The
set has the columns whose cells must come as text, for some of them are; it is None if
that is not known yet."""


@dataclass(frozen=True, slots=True)
class Request:
    """The settings of :meth:`cardqp.tables.TableEncoder.from_table`."""

    target: str
    drop: Sequence[str] = ()
    only: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    missing: str = "error"
    max_levels: Count = 50

    def __post_init__(self) -> None:
        one_of("missing", self.missing, check.POLICIES)
        ranges(self)


@dataclass(frozen=True, slots=True)
class Schema:
    """Types of the columns of a table, with means, origins and labels.

    Attributes
    ----------
    target_kind : str
        The type of the target.
    columns : tuple of Column
        The features.
    notes : tuple of str
        Sentences on columns that were left out, encoded or filled in.
    text : set of str
        Columns whose cells must be read as text, for some of them are.
    """

    target_kind: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    text: frozenset[str]


def infer_schema(columns: Sequence[str], total: Total, request: Request) -> Schema:
    """Infer the schema in two passes over a table: types first, then values."""
    target, missing = request.target, request.missing
    names = check.feature_names(
        columns, target, request.drop, request.only, request.categorical
    )
    measure: Measure = partial(TableProfile.of, target=target, names=names)
    profiles = total(measure, None).each
    kinds = infer_types(profiles, names, request)
    text = frozenset(name for name in kinds if profiles[name].must_be_text)
    measure = partial(_sums, target=target, kinds=dict(kinds), missing=missing)
    sums = total(measure, text)
    if sums.n_rows == 0:
        raise DataError(
            None,
            "the table must have complete rows",
            given="every row misses a value",
            remedy=Phrase(
                "use {}, or {} the columns that miss most",
                Setting("missing", "mean"),
                Setting("drop"),
            ),
        )
    check.target_range(target, sums.ranges()[target])
    target_kind = kinds.pop(target)
    found = _columns(sums, kinds, request.max_levels)
    used = {column.name for column in found}
    constant = [name for name in kinds if name not in used]
    is_filled = missing == "mean"
    filled = [c.name for c in found if is_filled and profiles[c.name].missing_cells]
    empty = [name for name in names if profiles[name].is_empty]
    notes = [
        *_note(f"left out {count(len(empty), 'column')} without any value", empty),
        *_note(
            f"left out {count(len(constant), 'column')} without variation", constant
        ),
        *_about(found),
        *_note(
            "filled in missing cells, by the mean or the most frequent label", filled
        ),
    ]
    return Schema(target_kind, found, tuple(notes), text)


def infer_types(
    profiles: Mapping[str, ColumnProfile], names: Sequence[str], request: Request
) -> dict[str, str]:
    """The types of the target and of all features that have cells, by name.

    Cells that are missing and must not be are refused, and a target without numbers.
    """
    target = request.target
    kinds = {target: check.target_kind(profiles[target], request.missing)}
    for name in names:
        if not profiles[name].is_empty:
            is_label = name in request.categorical
            kinds[name] = CATEGORY if is_label else profiles[name].kind()
    if request.missing == "error":
        check.complete([each for n in kinds for each in profiles[n].missing_cells])
    return kinds


@dataclass(frozen=True, slots=True, eq=False)
class TableProfile:
    """The profiles of all columns."""

    each: Mapping[str, ColumnProfile]

    @classmethod
    def of(
        cls, frame: Any, place: Place, *, target: str, names: Sequence[str]
    ) -> "TableProfile":
        """Profile the target, and features in rows that have one."""
        found = column_profiles(frame[[target]], place)
        if found[target].n_missing:
            rows = np.flatnonzero(frame[target].notna())
            frame, place = frame.iloc[rows], place.only(rows)
        return cls(found | column_profiles(frame[list(names)], place))

    def __add__(self, other: "TableProfile") -> "TableProfile":
        """The profiles of both parts together."""
        return TableProfile(
            {name: profile + other.each[name] for name, profile in self.each.items()}
        )


def _sums(
    frame: Any, place: Place, *, target: str, kinds: Mapping[str, str], missing: str
) -> ColumnSums:
    """Sums over the rows that are used, target included."""
    cells = read_cells(frame, kinds, place)
    gone = cells.incomplete() if missing == "drop" else cells.missing(target)
    return ColumnSums.of(cells.take(np.flatnonzero(~gone)) if gone.any() else cells)


def _columns(
    sums: ColumnSums, kinds: Mapping[str, str], max_levels: int
) -> tuple[Column, ...]:
    """Columns that vary."""
    found, ranges = [], sums.ranges()
    for name, kind in kinds.items():
        if kind == CATEGORY:
            levels = _levels(name, sums, max_levels)
            if len(levels) > 1:
                found.append(Column(name, CATEGORY, levels=levels))
            continue
        low, high, mean = ranges[name]
        if low < high:
            origin = low if kind == DATE else 0.0
            found.append(Column(name, kind, origin, mean - origin))
    if not found:
        raise DataError(
            None, "the table must have features that vary", given="it has none"
        )
    return tuple(found)


def _levels(name: str, sums: ColumnSums, most: int) -> tuple[str, ...]:
    """Labels of a category, the most frequent first, then by name."""
    counts = sums.labels[name]
    if len(counts) > most:
        drop, raised = Setting("drop", [name]), Setting("max_levels")
        remedy = Phrase("use {}, or raise {}", drop, raised)
        refuse_labels(name, counts, most, str(len(counts)), remedy)
    levels = sorted(counts)
    first = max(levels, key=lambda level: counts[level], default="")
    return (first, *(level for level in levels if level != first))


def _note(words: str, names: Sequence[str]) -> list[str]:
    """A sentence about some columns, if there are any."""
    return [f"{words}: {listed(names)}"] if names else []


def _about(columns: Sequence[Column]) -> list[str]:
    notes = []
    dates = [column for column in columns if column.kind == DATE]
    if dates:
        since = ", ".join(f"`{c.name}` ({_day(c.origin)})" for c in dates[:5])
        notes.append(f"dates became days since the first one: {since}")
    labels = [column for column in columns if column.kind == CATEGORY]
    width = count(sum(len(column.levels) - 1 for column in labels), "feature")
    became = f"{count(len(labels), 'column')} of labels became {width}"
    words = f"{became}, one for each label but the most frequent"
    return [*notes, *_note(words, [column.name for column in labels])]


def _day(days: float) -> str:
    moment = np.datetime64(0, "s") + np.timedelta64(round(86400 * days), "s")
    return str(moment).replace("T", " ").removesuffix(" 00:00:00")
