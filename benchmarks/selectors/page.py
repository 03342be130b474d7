"""The page about a run, with its picture."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.selectors import on_random
from benchmarks.selectors.on_random import Outcome
from cardqp.plot import saved

INTRODUCTION = """\
# Beside mlxtend and scikit-learn

Whoever wants the best subset of features in Python tries all of them with mlxtend's
`ExhaustiveFeatureSelector`, or goes step by step with scikit-learn's
`SequentialFeatureSelector`, which proves nothing. Here both are put beside
`cardqp.all_subsets`, on the same rows and with one thread. The page is written by
`{command}`; how all is set is said in
[`benchmarks/selectors/__init__.py`](../../benchmarks/selectors/__init__.py)."""

ENUMERATION = """\
## Enumeration

The best subset of every size up to one, by its sum of squares: cardqp proves it,
mlxtend tries all. It is given `LinearRegression` and no cross-validation, and is
stopped after {limit:g} s of the processor. `difference` is the largest relative one of
two sums of squares; at 1e-10 there would be no page."""

STEPS = """\
## Step by step

Seconds of the processor, and by how much the sum of squares is above the least one of
this size, which cardqp proves; its seconds are those of all sizes up to this one. The
first two ways of scikit-learn score on the rows that they fit: each step is the one
with the least sum of squares. With five folds, its default, the aim is another one, the
R2 of cross-validation: that the sum of squares is larger is no fault then. Each is
stopped after {limit:g} s."""

RANDOM = """\
## How often the best subset is missed

{count} random tables of {rows} rows and {fewest} to {most} columns, neighbours of which
have a correlation of .5 to .9 (`cardqp.datasets.make_regression`); {true} columns
matter, as much as the noise or three times as much. Losses are of the sum of squares,
their median that of the tables where the best subset is missed. `error on other rows`
is the expected squared one, over that of the truth: the geometric mean. Seconds are of
the processor, for each table."""

OUTLOOK = """\
The least sum of squares is about these rows: the column of errors says what the subset
is worth on others. How to choose the size, and what may be said of a model that was
chosen, is on the page about [the Hitters data](hitters.md); R's `leaps` has
[a page](from-leaps.md), too."""


def write_page(
    path: Path,
    command: str,
    limit: float,
    tables: Sequence[Sequence[str]],
    outcomes: Sequence[Outcome],
    count: int,
) -> None:
    """Write the page, and its picture beside it.

    Parameters
    ----------
    path : Path
        The page.
    command : str
        What writes it.
    limit : float
        Seconds that a selector had.
    tables : three sequences of str
        The tables, by line: enumeration, step by step, random tables.
    outcomes : sequence of Outcome
        What the picture shows.
    count : int
        How many random tables there were.
    """
    enumeration, steps, random = ("\n".join(table) for table in tables)
    picture = path.with_suffix(".png")
    saved(on_random.draw(outcomes), picture)
    numbers = {
        "count": count,
        "rows": on_random.N_ROWS,
        "true": on_random.N_TRUE,
        "fewest": on_random.FEWEST,
        "most": on_random.MOST,
    }
    parts = [
        INTRODUCTION.format(command=command),
        _versions(),
        ENUMERATION.format(limit=limit),
        enumeration,
        STEPS.format(limit=limit),
        steps,
        RANDOM.format(**numbers),
        random,
        f"![how often the best subset is missed, by correlation]({picture.name})",
        OUTLOOK,
    ]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _versions() -> str:
    found = [f"{name} {version(name)}" for name in ("mlxtend", "scikit-learn", "numpy")]
    return f"Versions: {', '.join(found)}, Python {platform.python_version()}."
