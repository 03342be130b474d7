"""Schemas: types and values of the columns of a table, in memory or read in parts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.problem.validation import Count, Share, one_of, ranges
from cardqp.tables import validation as check
from cardqp.tables.cells import read_cells
from cardqp.tables.column import Column
from cardqp.tables.column_profile import ColumnProfile, column_profiles
from cardqp.tables.column_sums import ColumnSums, Range, refuse_labels
from cardqp.tables.complaints import Complaints
from cardqp.tables.dates import DATE, DATES, ORDERS
from cardqp.tables.kinds import CATEGORY, unit_of
from cardqp.tables.phrases import count, listed, percent
from cardqp.tables.place import Place

MAX_MISSING = 0.5
"""Columns that miss more of their cells than this are left out by default."""

LEAST_UNLIKE = 10
"""Fewer texts may be all different by chance."""

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
    max_missing: Share = MAX_MISSING
    dates: str = "auto"

    def __post_init__(self) -> None:
        one_of("missing", self.missing, check.POLICIES)
        one_of("dates", self.dates, tuple(ORDERS))
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
    """Infer the schema in two passes over a table: types first, then values.

    What is wrong with any column is said at once, after both.
    """
    target, missing = request.target, request.missing
    names = check.feature_names(
        columns, target, request.drop, request.only, request.categorical
    )
    measure: Measure = partial(TableProfile.of, target=target, names=names)
    profiles = total(measure, None).each
    sparse = _too_sparse(profiles, names, request)
    complaints = Complaints()
    used = [name for name in names if name not in sparse]
    kinds = infer_types(profiles, used, request, complaints)
    if target not in kinds:
        complaints.check()
    text = frozenset(name for name in kinds if profiles[name].must_be_text)
    measure = partial(_sums, target=target, kinds=dict(kinds), missing=missing)
    with complaints.kept():
        sums = total(measure, text)
        found = _columns(sums, kinds, request)
    complaints.check()
    if not found:
        raise DataError(
            None, "the table must have features that vary", given="it has none"
        )
    notes = [
        *_about_left_out(
            *(profiles, names, sparse, _unlike(sums)), kinds.keys() - {target}, found
        ),
        *_about(found),
        *_about_missing(profiles, found, missing),
    ]
    return Schema(kinds[target], found, tuple(notes), text)


def _too_sparse(
    profiles: Mapping[str, ColumnProfile], names: Sequence[str], request: Request
) -> list[str]:
    """Features that miss too many cells; those that the user chose are kept."""
    if request.only is not None:
        return []
    return [n for n in names if request.max_missing < profiles[n].share_missing < 1]


def infer_types(
    profiles: Mapping[str, ColumnProfile],
    names: Sequence[str],
    request: Request,
    complaints: Complaints,
) -> dict[str, str]:
    """The types of the target and of all features that have cells, by name.

    Columns whose cells fit no type are left out, and what is wrong with them is kept,
    as are complaints of missing cells.
    """
    target, kinds = request.target, dict[str, str]()
    with complaints.kept():
        kinds[target] = check.target_kind(profiles[target], request.dates)
    for name in names:
        if not profiles[name].is_empty:
            is_label = name in request.categorical
            with complaints.kept():
                kinds[name] = (
                    CATEGORY if is_label else profiles[name].kind(request.dates)
                )
    if request.missing == "error":
        with complaints.kept():
            check.target_complete(profiles[target].missing_cells)
        with complaints.kept():
            check.complete(
                [
                    each
                    for n in names
                    if n in kinds
                    for each in profiles[n].missing_cells
                ]
            )
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
    sums: ColumnSums, kinds: Mapping[str, str], request: Request
) -> tuple[Column, ...]:
    """Features that vary; the target must, too."""
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
            fix=[Setting("missing", "mean")],
        )
    complaints, ranges, unlike = Complaints(), sums.ranges(), _unlike(sums)
    with complaints.kept():
        check.target_range(request.target, ranges[request.target])
    found = []
    for name, kind in kinds.items():
        if name == request.target or name in unlike:
            continue
        with complaints.kept():
            column = _column(name, kind, sums, ranges[name], request.max_levels)
            found += [] if column is None else [column]
    complaints.check()
    return tuple(found)


def _unlike(sums: ColumnSums) -> list[str]:
    """Columns of labels that tell nothing of other rows: each occurs once."""
    return [
        name
        for name, counts in sums.labels.items()
        if len(counts) == counts.total() >= LEAST_UNLIKE
    ]


def _column(
    name: str, kind: str, sums: ColumnSums, found: Range, max_levels: int
) -> Column | None:
    """The encoding of a column; None if it does not vary."""
    if kind == CATEGORY:
        levels = _levels(name, sums, max_levels)
        return Column(name, CATEGORY, levels=levels) if len(levels) > 1 else None
    if not found.low < found.high:
        return None
    origin = found.low if kind in DATES else 0.0
    return Column(name, kind, origin, found.mean - origin)


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


def _note(
    words: str, names: Sequence[str], details: Mapping[str, str] | None = None
) -> list[str]:
    """A sentence about some columns, if there are any."""
    return [f"{words}: {listed(names, details)}"] if names else []


def _shares(
    profiles: Mapping[str, ColumnProfile], names: Sequence[str]
) -> dict[str, str]:
    """The share of missing cells of each column, in percent."""
    return {name: percent(profiles[name].share_missing) for name in names}


def _about_left_out(
    profiles: Mapping[str, ColumnProfile],
    names: Sequence[str],
    sparse: Sequence[str],
    unlike: Sequence[str],
    typed: Collection[str],
    found: Sequence[Column],
) -> list[str]:
    """Sentences on columns that are not used, and why."""
    empty = [name for name in names if profiles[name].is_empty]
    used = {*unlike, *(column.name for column in found)}
    constant = [name for name in names if name in typed and name not in used]
    most = (
        f"left out {count(len(sparse), 'column')} for missing cells, as {{}} says: {{}}"
    )
    shares = listed(sparse, _shares(profiles, sparse))
    return [
        *_note(f"left out {count(len(empty), 'column')} without any value", empty),
        *([Phrase(most, Setting("max_missing"), shares)] if sparse else []),
        *_note(
            f"left out {count(len(unlike), 'column')} of texts that are all different",
            unlike,
        ),
        *_note(
            f"left out {count(len(constant), 'column')} without variation", constant
        ),
    ]


def _about_missing(
    profiles: Mapping[str, ColumnProfile], found: Sequence[Column], missing: str
) -> list[str]:
    """A sentence on missing cells, and what became of them."""
    words = {
        "mean": "filled in missing cells, by the mean or the most frequent label",
        "drop": "columns with missing cells, whose rows were left out",
    }
    names = [c.name for c in found if profiles[c.name].n_missing]
    # Those that miss most are the ones to think about.
    names.sort(key=lambda name: -profiles[name].n_missing)
    return _note(words[missing], names, _shares(profiles, names)) if names else []


def _about(columns: Sequence[Column]) -> list[str]:
    """Sentences on columns that became numbers."""
    dates = [column for column in columns if column.kind in DATES]
    since = {column.name: _first_day(column) for column in dates}
    units = {c.name: unit_of(c.kind) for c in columns if unit_of(c.kind)}
    labels = [column for column in columns if column.kind == CATEGORY]
    width = count(sum(len(column.levels) - 1 for column in labels), "feature")
    became = f"{count(len(labels), 'column')} of labels became {width}"
    words = f"{became}, one for each label but the most frequent"
    return [
        *_note("dates became days since the first one", list(since), since),
        *_note("numbers were read without their units", list(units), units),
        *_note(words, [column.name for column in labels]),
    ]


def _first_day(column: Column) -> str:
    """The first date of a column, and the order of its parts if it was not plain."""
    order = column.kind.removeprefix(DATE)
    return f"{_day(column.origin)}{order}"


def _day(days: float) -> str:
    moment = np.datetime64(0, "s") + np.timedelta64(round(86400 * days), "s")
    return str(moment).replace("T", " ").removesuffix(" 00:00:00")
