r"""Limits on portfolios as rows of a quadratic program.

Turnover needs more than the weights.  As the weights sum to one, purchases less sales
are ``1 - sum(holdings)``, so that

.. math:: \sum_j |x_j - h_j| \le T \iff
    \sum_j (h_j - x_j)^+ \le \tfrac12 \bigl(T - 1 + \sum_j h_j\bigr).

Only assets that can fall below what is held can be sold, and each of them gets one
variable for its sales.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.models.validation import SectorLimit

ROUNDING = 1e-12
"""Sales that are over their limit by this little are not: rounding in the sum of the
holdings must not forbid to keep them."""

Row = tuple[FloatArray, float, float]


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

    def rows(self, n: int) -> Iterator[Row]:
        """``x_j + sale_j >= held_j`` for each, and limits of the sum of all sales."""
        width = n + len(self)
        for place, (asset, held) in enumerate(zip(self.assets, self.held, strict=True)):
            row = np.zeros(width)
            row[[asset, n + place]] = 1.0
            yield row, float(held), np.inf
        row = np.zeros(width)
        row[n:] = 1.0
        yield row, self.least, self.most


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
    if most < least - ROUNDING:  # no plan at all: a row of zeros that nothing meets
        nothing = np.zeros(0)
        return Sales(nothing.astype(np.intp), nothing, nothing, -np.inf, most - least)
    most = max(most, least)
    assets = np.flatnonzero(holdings > lower)
    upper = np.minimum((holdings - lower)[assets], most)
    return Sales(assets, holdings[assets], upper, least, most)


def sector_rows(limits: Iterable[SectorLimit], n: int) -> Iterator[Row]:
    """The summed weight of each sector."""
    for limit in limits:
        row = np.zeros(n)
        row[limit.members] = 1.0
        yield row, limit.minimum, limit.maximum


def stack(rows: Iterable[Row], width: int) -> dict[str, Any]:
    """The arguments ``A``, ``b_lower`` and ``b``, zeros added to short rows."""
    given = list(rows)
    if not given:
        return {}
    return {
        "A": np.array([np.pad(row, (0, width - len(row))) for row, _, _ in given]),
        "b_lower": np.array([least for _, least, _ in given]),
        "b": np.array([most for _, _, most in given]),
    }
