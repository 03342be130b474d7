"""What people should know about a table of best subsets."""

from collections.abc import Iterator, Sequence

import numpy as np

from cardqp._iterate import Stop
from cardqp._typing import IntArray
from cardqp.bounds.dependence import dependent_columns
from cardqp.gram import Moments, is_target_constant
from cardqp.problem import SparseQP

NAMED = 8
"""How many features a note names."""


def reason_of(rows: Moments, stop: Stop) -> str:
    """Why there are no subsets beyond those that were found."""
    if is_target_constant(rows):
        return "the target does not vary"
    none = "no subset of independent features was found"
    return stop.value if stop.is_early else none


def dependence(ruled: SparseQP, names: Sequence[str]) -> Iterator[str]:
    """What people should know of features that are constant, or depend on others."""
    constant = np.asarray(ruled.forced_out, dtype=np.intp)
    if len(constant):
        yield f"Constant, and in no subset: {_listed(constant, names)}."
    if ruled.independence == 0.0:
        return
    columns = np.setdiff1d(dependent_columns(ruled), constant)
    if len(columns):
        yield (
            f"Linearly dependent, and not chosen together: {_listed(columns, names)}. "
            "Where there are such features, subsets of nearly dependent ones are left "
            "out, too: those whose correlation matrix has an eigenvalue below "
            f"{ruled.independence:g}."
        )


def _listed(columns: IntArray, names: Sequence[str]) -> str:
    """Names of features, but for many."""
    shown, more = ", ".join(names[j] for j in columns[:NAMED]), len(columns) - NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def missing_ranks(
    short: dict[tuple[int, Stop], list[int]], n_best: int
) -> Iterator[str]:
    """Which ranks of which sizes are missing, and why."""
    for (count, stop), sizes in short.items():
        is_one = count + 1 == n_best
        ranks = f"Rank {n_best}" if is_one else f"Ranks {count + 1} to {n_best}"
        listed = f"size{'s' * (len(sizes) > 1)} {', '.join(map(str, sizes))}"
        yield f"{ranks} of {listed} {'is' if is_one else 'are'} missing: {stop.value}."


def missing_sizes(sizes: Sequence[int], last: int, reason: str) -> Iterator[str]:
    """Which sizes are missing, and why."""
    if last < sizes[-1]:
        yield f"Sizes above {last} are missing: {reason}."
