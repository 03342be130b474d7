r"""Limits on portfolios as rows of a quadratic program.

Turnover needs more than the weights.  As the weights sum to one, purchases less sales
are ``1 - sum(holdings)``, so that

.. math:: \sum_j |x_j - h_j| \le T \iff
    \sum_j (h_j - x_j)^+ \le \tfrac12 \bigl(T - 1 + \sum_j h_j\bigr).

Only assets that can fall below what is held can be sold, and each of them gets one
variable for its sales.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.models.validation import SectorLimit
from cardqp.solution.reason import RowName

ROUNDING = 1e-12
"""Sales that are over their limit by this little are not: rounding in the sum of the
holdings must not forbid to keep them."""

BUDGET = RowName("the sum of the weights")


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """Coefficients of weights, the least and the largest sum, and what that is."""

    coefficients: FloatArray
    least: float
    most: float
    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Sales:
    """Which assets can be sold, how much of each, and how little and much in all."""

    assets: IntArray
    held: FloatArray
    upper: FloatArray
    least: float
    most: float

    def __len__(self) -> int:
        return len(self.assets)

    @property
    def shortage(self) -> float:
        """By how much what must be sold exceeds what may be, or zero."""
        excess = self.least - self.most
        return excess if excess > ROUNDING else 0.0

    def rows(self, names: Sequence[str]) -> Iterator[Row]:
        """``x_j + sale_j >= held_j`` for each, and limits of the sum of all sales."""
        n = len(names)
        width = n + len(self)
        for place, (asset, held) in enumerate(zip(self.assets, self.held, strict=True)):
            row = np.zeros(width)
            row[[asset, n + place]] = 1.0
            yield Row(row, float(held), np.inf, f"{names[asset]} with its sales")
        row = np.zeros(width)
        row[n:] = 1.0
        if self.shortage:  # no plan at all: a row of zeros that nothing meets
            yield Row(row, -np.inf, -self.shortage, "the sum of all sales")
        else:
            yield Row(row, self.least, self.most, "the sum of all sales")


def plan_sales(
    holdings: FloatArray, max_turnover: float, max_assets: int, lower: FloatArray
) -> Sales:
    """The sales that a turnover limit allows, if weights sum to one.

    What cannot be kept, because more than ``max_assets`` are held, must be sold.
    Holdings need not sum to one; ``lower``, the smallest weight that each asset can
    have, is not above zero.
    """
    most = 0.5 * (max_turnover - (1.0 - float(holdings.sum())))
    owned = np.sort(holdings[holdings > 0])
    least = float(owned[: max(len(owned) - max_assets, 0)].sum())
    if most < least - ROUNDING:
        nothing = np.zeros(0)
        return Sales(nothing.astype(np.intp), nothing, nothing, least, most)
    most = max(most, least)
    assets = np.flatnonzero(holdings > lower)
    upper = np.minimum((holdings - lower)[assets], most)
    return Sales(assets, holdings[assets], upper, least, most)


def sector_rows(limits: Iterable[SectorLimit], n: int) -> Iterator[Row]:
    """The summed weight of each sector."""
    for limit in limits:
        row = np.zeros(n)
        row[limit.members] = 1.0
        name = f"the weight of sector {limit.label!r}"
        yield Row(row, limit.minimum, limit.maximum, name)


def stack(rows: Iterable[Row], width: int) -> dict[str, Any]:
    """The arguments ``A``, ``b_lower`` and ``b``, zeros added to short rows."""
    given = list(rows)
    if not given:
        return {}
    padded = [np.pad(r.coefficients, (0, width - len(r.coefficients))) for r in given]
    return {
        "A": np.array(padded),
        "b_lower": np.array([row.least for row in given]),
        "b": np.array([row.most for row in given]),
    }


def stacked_names(rows: Iterable[Row]) -> tuple[RowName, ...]:
    """The names of the rows of a problem: upper limits, lower limits, the budget."""
    given = list(rows)
    above = (RowName(row.name) for row in given if np.isfinite(row.most))
    below = (RowName(row.name, True) for row in given if np.isfinite(row.least))
    return (*above, *below, BUDGET)
