"""What is learnt about the columns of a table."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cardqp import _validation as check
from cardqp.exceptions import DataError
from cardqp.tables.cells import Cells
from cardqp.tables.checks import complete
from cardqp.tables.column import Column
from cardqp.tables.kinds import CATEGORY, DATE
from cardqp.tables.words import count, listed

Learnt = tuple[tuple[Column, ...], tuple[str, ...]]


def learn_columns(cells: Cells, *, missing: str, max_levels: int) -> Learnt:
    """The columns to use, and sentences on what was found.

    Parameters
    ----------
    cells : Cells
        All columns but the target.
    missing : {"error", "drop", "mean"}
        What to do about missing cells.
    max_levels : int
        The most levels of a category.

    Raises
    ------
    DataError
        When cells are missing and must not be, when a category has too many levels, or
        when nothing is left.
    """
    check.count("max_levels", max_levels)
    counts = cells.count_missing()
    empty = [name for name, number in counts.items() if number == cells.n_rows]
    present = _complete(cells.without(empty), missing)
    found = _numbers(present) | _categories(present, max_levels)
    constant = [name for name in present.kinds if name not in found]
    if not found:
        raise DataError("the table must have features that vary: it has none.")
    columns = tuple(found[name] for name in present.kinds if name in found)
    notes = [
        *_left_out(empty, "without any value"),
        *_left_out(constant, "without variation"),
        *_about(columns),
        *_filled(
            [name for name in counts if name in found] if missing == "mean" else []
        ),
    ]
    return columns, tuple(notes)


def _complete(cells: Cells, missing: str) -> Cells:
    """What is left to learn from: complete rows, or all."""
    if missing == "error":
        complete(cells)
    if missing != "drop":
        return cells
    rows = np.flatnonzero(~cells.incomplete())
    if len(rows) == 0:
        raise DataError(
            "the table must have complete rows: every row misses a value; pass "
            "`--missing mean`, or `--drop` the columns that miss most."
        )
    return cells if len(rows) == cells.n_rows else cells.take(rows)


def _numbers(cells: Cells) -> dict[str, Column]:
    """Columns of numbers that vary."""
    low = np.fmin.reduce(cells.numbers, axis=0)
    high = np.fmax.reduce(cells.numbers, axis=0)
    means = np.nanmean(cells.numbers, axis=0)
    columns = {}
    for j in np.flatnonzero(low < high):
        name = cells.numeric[j]
        kind = cells.kinds[name]
        origin = float(low[j]) if kind == DATE else 0.0
        columns[name] = Column(name, kind, origin, float(means[j]) - origin)
    return columns


def _categories(cells: Cells, max_levels: int) -> dict[str, Column]:
    """Categories with two levels or more, the most frequent first, then by name."""
    columns = {}
    for name, labels in cells.labels.items():
        counts = Counter(cell for cell in labels if cell is not None)
        levels = sorted(counts)
        if len(levels) > max_levels:
            raise DataError(
                f"column `{name}` must have at most {max_levels} different labels: it "
                f"has {len(levels)}, such as {_short(levels[0])}; pass `--drop {name}`"
                ", or raise `--max-levels`."
            )
        if len(levels) > 1:
            first = max(levels, key=lambda level: counts[level])
            others = (level for level in levels if level != first)
            columns[name] = Column(name, CATEGORY, levels=(first, *others))
    return columns


def _left_out(names: Sequence[str], reason: str) -> list[str]:
    if not names:
        return []
    return [f"left out {count(len(names), 'column')} {reason}: {listed(names)}"]


def _about(columns: Sequence[Column]) -> list[str]:
    notes = []
    dates = [column for column in columns if column.kind == DATE]
    if dates:
        since = ", ".join(f"`{c.name}` ({_day(c.origin)})" for c in dates[:5])
        notes.append(f"dates became days since the first one: {since}")
    labels = [column for column in columns if column.kind == CATEGORY]
    if labels:
        width = sum(len(column.levels) - 1 for column in labels)
        names = listed([column.name for column in labels])
        notes.append(
            f"{count(len(labels), 'column')} of labels became "
            f"{count(width, 'feature')}, one for each label but the most frequent: "
            f"{names}"
        )
    return notes


def _filled(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        f"filled in missing cells, by the mean or the most frequent label: "
        f"{listed(names)}"
    ]


def _day(days: float) -> str:
    moment = np.datetime64(0, "s") + np.timedelta64(round(86400 * days), "s")
    return str(moment).replace("T", " ").removesuffix(" 00:00:00")


def _short(value: Any) -> str:
    return repr(str(value)[:40])
