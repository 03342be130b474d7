"""Rows of the page about tables: enumeration, and selection step by step."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

from benchmarks import leaps
from benchmarks.instances import standardised
from benchmarks.leaps import Table
from benchmarks.prediction import diabetes, hitters
from benchmarks.selectors.choosers import SEQUENTIAL, Choose, exhaustive
from benchmarks.selectors.limited import within
from benchmarks.selectors.referee import largest_difference, loss, percent, proved
from cardqp._typing import FloatArray
from cardqp.subsets.result import Subset

ENUMERATED = (
    ("diabetes", 10),
    ("Hitters", 4),
    ("Hitters", 6),
    ("Hitters", 19),
    ("diabetes, squares", 3),
    ("diabetes, squares", 5),
    ("online news", 2),
    ("online news", 3),
)
"""Tables, and the largest size to which mlxtend enumerates their subsets."""


def tables() -> dict[str, Callable[[], Table]]:
    """Those of the benchmark beside leaps that are not random, and two more."""
    real = {k: v for k, v in leaps.tables().items() if not k.startswith("random")}
    found: dict[str, Callable[[], Table]] = {"diabetes": partial(diabetes, 1)}
    if find_spec("ISLP") is not None:
        found["Hitters"] = hitters
    return found | {"diabetes, squares": real.pop("diabetes")} | real


EXHAUSTIVE_HEADER = (
    "| table | rows | columns | sizes to | subsets | cardqp s | mlxtend s | ratio | "
    "difference |"
)


def exhaustive_rows(names: list[str], limit: float) -> Iterator[str]:
    """All sizes up to one: this library, and mlxtend by enumeration."""
    for name, size in ENUMERATED:
        if name in names:
            yield _exhaustive_row(name, size, limit)


def _exhaustive_row(name: str, size: int, limit: float) -> str:
    X, y = standardised(*tables()[name]())
    n = X.shape[1]
    n_subsets = sum(math.comb(n, k) for k in range(1, size + 1))
    start = f"| {name} | {len(y)} | {n} | {size} | {n_subsets:,}"
    ours = proved(X, y, size, limit)
    if ours is None:
        return f"{start} | {_open(limit)} | | | |"
    used, best = ours
    theirs = within(limit, exhaustive, X, y, size)
    if theirs is None:
        return f"{start} | {used:.3f} | {_open(limit)} | | |"
    seconds, chosen = theirs
    difference = largest_difference(X, y, chosen, best)
    ratio = f"{seconds / used:.0f}"
    return f"{start} | {used:.3f} | {seconds:.2f} | {ratio} | {difference:.0e} |"


SEQUENTIAL_HEADER = f"| table | columns | size | cardqp | {' | '.join(SEQUENTIAL)} |"


def sequential_rows(names: list[str], sizes: list[int], limit: float) -> Iterator[str]:
    """One size: seconds, and by how much the sum of squares is above the least."""
    for name in names:
        X, y = standardised(*tables()[name]())
        for size in sizes:
            start = f"| {name} | {X.shape[1]} | {size}"
            ours = proved(X, y, size, limit)
            if ours is None:
                yield f"{start} | {_open(limit)} |{' |' * len(SEQUENTIAL)}"
                continue
            used, best = ours
            cells = [
                _cell(choose, X, y, best[size], limit) for choose in SEQUENTIAL.values()
            ]
            yield f"{start} | {used:.3f} s | {' | '.join(cells)} |"


def _cell(
    choose: Choose, X: FloatArray, y: FloatArray, best: Subset, limit: float
) -> str:
    answer = within(limit, choose, X, y, best.size)
    if answer is None:
        return _open(limit)
    seconds, chosen = answer
    above = loss(X, y, chosen[best.size], best)
    return f"{seconds:.2f} s, " + (f"+{percent(above)}" if above else "best")


def _open(limit: float) -> str:
    return f"open after {limit:g} s"
