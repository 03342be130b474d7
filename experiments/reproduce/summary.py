"""Means, standard errors, and whether they agree with the paper."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.reproduce.config import Exhibit, load_study
from experiments.reproduce.work import Row

CERTIFIED = 1e-4
"""The gap at which an optimum counts as proven."""

ENOUGH = 3.0
"""Standard errors within which two means agree."""


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes
    ----------
    mean, error : float
        Over the replications: the mean and its standard error.
    count : int
        Replications.
    paper : float or None
        What the paper prints, if anything.
    verdict : str
        ``"agrees"``, ``"better"``, ``"differs"``, or nothing to compare with.
    reason : str
        Why it differs, if that is known.
    gap : float or None
        The largest gap that is left, for a certified optimum.
    """

    mean: float
    error: float
    count: int
    paper: float | None = None
    verdict: str = ""
    reason: str = ""
    gap: float | None = None


def select(rows: Sequence[Row], **fixed: Any) -> list[Row]:
    """The rows with certain entries, by replication."""
    chosen = [r for r in rows if all(r.get(k) == v for k, v in fixed.items())]
    return sorted(chosen, key=lambda row: row["replication"])


def summarise(exhibit: Exhibit, rows: Sequence[Row]) -> dict[tuple[Any, str], Cell]:
    """All numbers of a table, by value and method."""
    study, cells = exhibit.study, {}
    for place, value in enumerate(study.values):
        for method in exhibit.columns:
            own = select(rows, **{study.vary: value, "method": method})
            numbers = [row[exhibit.metric] for row in own if exhibit.metric in row]
            if numbers:
                printed = _printed(exhibit, method, place)
                gaps = [row["gap"] for row in own] if method == "exact" else None
                reason = _reason(exhibit.reasons, method, value)
                cells[value, method] = _cell(exhibit, numbers, printed, reason, gaps)
    return cells


def _printed(exhibit: Exhibit, method: str, place: int) -> float | None:
    value = exhibit.paper[method][place] if method in exhibit.paper else None
    return None if value is None or math.isnan(value) else float(value)


def _reason(reasons: Mapping[str, str], method: str, value: Any) -> str:
    """Why a number may differ: because of its data, or else of its method."""
    return reasons.get(str(value), "") or reasons.get(method, "")


def _cell(
    exhibit: Exhibit,
    numbers: Sequence[float],
    printed: float | None,
    reason: str,
    gaps: Sequence[float] | None,
) -> Cell:
    count, mean = len(numbers), float(np.mean(numbers))
    spread = float(np.std(numbers, ddof=1)) if count > 1 else math.nan
    error = spread / math.sqrt(count)
    verdict = "" if printed is None else _verdict(exhibit, mean, spread, count, printed)
    return Cell(
        mean,
        error,
        count,
        printed,
        verdict,
        reason if verdict in ("better", "differs") else "",
        None if gaps is None else max(gaps),
    )


def _verdict(
    exhibit: Exhibit, mean: float, spread: float, count: int, printed: float
) -> str:
    """Whether two means of as many replications as were made agree.

    Their difference has the variance of both; what the paper rounds off is granted.
    """
    planned = load_study(exhibit.study.name).replications
    noise = 0.0 if math.isnan(spread) else spread * math.sqrt(1 / count + 1 / planned)
    if abs(mean - printed) <= ENOUGH * noise + rounding(exhibit, printed):
        return "agrees"
    is_less = mean < printed and exhibit.metric in ("mse", "test_mse", "size")
    return "better" if is_less else "differs"


def rounding(exhibit: Exhibit, printed: float) -> float:
    """Half a unit of the last digit that the paper prints."""
    unit = 10.0**-exhibit.decimals
    if exhibit.scientific and printed:
        unit *= 10.0 ** math.floor(math.log10(abs(printed)))
    return 0.5 * unit * (1 + 1e-9)
