"""The best subsets of all sizes: which features they have, and how good they are."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp.plot.style import BLUE, ORANGE, new_axes, plain, remark, whole_numbers

if TYPE_CHECKING:
    from cardqp.subsets.measures import ChoiceName
    from cardqp.subsets.result import Subset, Subsets

TITLES = {
    "bic": "BIC",
    "aic": "AIC",
    "aicc": "AICc",
    "ebic": "EBIC",
    "cp": "Cp",
    "adjusted_r2": "adjusted R2",
    "cv": "CV error",
}

MOST_ROWS = 40
"""More subsets than these are not drawn: they are far from the best."""

EMPTY = 0.06
"""The shade where there is none, so that rows and columns can be followed."""

ROW, EDGES, LETTER = 0.22, 1.8, 0.085
"""Inches: the height of a row, what is around all rows, and a letter of a name."""

FEWEST, SMALLEST = 28, 5.0
"""From so many features on, letters get smaller; points that they do not go below."""


def plot_subsets(
    subsets: "Subsets",
    criterion: "ChoiceName",
    ax: Any = None,
    *,
    most: int = MOST_ROWS,
) -> Any:
    """A row for each subset, a column for each feature, as ``regsubsets`` has it.

    The best subset by the measure is on top; the shade is by the measure.  What is
    chosen together has one column; features that are in no subset have none.

    Parameters
    ----------
    subsets : Subsets
        The subsets.
    criterion : str
        The measure.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    most : int
        The most subsets that are drawn.
    """
    ordered = _ordered(subsets, criterion)
    shown = ordered[:most]
    drawn = {name for each in shown for name in each.units}
    used = [name for name in dict.fromkeys(subsets.units) if name in drawn]
    if ax is None:
        longest = max((len(plain(name)) for name in used), default=0)
        ax = new_axes(height=EDGES + ROW * len(shown) + LETTER * longest)
    ax.set_ylabel(TITLES[criterion])
    of = f" {len(shown)} of {len(ordered)}" if len(shown) < len(ordered) else ""
    ax.set_title(f"Best{of} subsets, the best of all on top")
    if not used:
        remark(ax, "no subset has a feature")
        return ax
    place = {name: j for j, name in enumerate(used)}
    held = np.full((len(shown), len(used)), EMPTY)
    for i, each in enumerate(shown):
        # From dark, for the best, to light.
        held[i, [place[name] for name in each.units]] = 1.0 - 0.7 * i / len(shown)
    ax.pcolormesh(
        held, cmap="Greys", vmin=0.0, vmax=1.0, edgecolors="white", linewidth=0.8
    )
    ax.invert_yaxis()
    _label(ax, used, _numbers([each.measures[criterion] for each in shown]))
    return ax


def _label(ax: Any, names: list[str], numbers: list[str]) -> None:
    """Names below the columns and numbers beside the rows of a grid."""
    size = min(10.0, max(10.0 * FEWEST / len(names), SMALLEST))
    places = np.arange(len(names)) + 0.5
    ax.set_xticks(places, map(plain, names), rotation=90, fontsize=size)
    ax.set_yticks(np.arange(len(numbers)) + 0.5, numbers, fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _numbers(values: list[float]) -> list[str]:
    """Measures as texts that end at the same decimal place."""
    known = np.abs([value for value in values if math.isfinite(value)])
    largest = max(float(known.max(initial=0.0)), 1e-300)
    decimals = min(max(5 - math.floor(math.log10(largest)), 0), 4)
    return [
        f"{value:.{decimals}f}" if 1e-3 < largest < 1e8 else f"{value:.5g}"
        for value in values
    ]


def plot_sizes(subsets: "Subsets", criterion: "ChoiceName", ax: Any = None) -> Any:
    """A measure against the size; the best of each size are joined by a line.

    The null model is left out where it is worse than all others: it would take the room
    that their differences need.

    Parameters
    ----------
    subsets, criterion, ax
        As for :func:`plot_subsets`.
    """
    ax = new_axes() if ax is None else ax
    first = _without_far_null(subsets, criterion)
    others = [each for each in subsets if each.rank > 1]
    for group, style, label in (
        (others, {"marker": "_", "linestyle": "", "color": "0.5"}, "next best"),
        (first, {"marker": "o", "color": BLUE}, "best of its size"),
    ):
        values = np.array([each.measures[criterion] for each in group])
        if np.isfinite(values).any():
            ax.plot([each.size for each in group], values, label=label, **style)
    best = subsets.best(criterion)
    star = {"color": ORANGE, "markersize": 14, "linestyle": "", "label": "chosen"}
    ax.plot(best.size, best.measures[criterion], "*", **star)
    whole_numbers(ax.xaxis)
    is_plain = subsets.units == subsets.names
    ax.set_xlabel("features" if is_plain else "features, or blocks of them")
    ax.set_ylabel(TITLES[criterion])
    ax.set_title(f"Best subsets by {TITLES[criterion]}")
    ax.legend()
    return ax


def _without_far_null(subsets: "Subsets", criterion: "ChoiceName") -> "list[Subset]":
    """The best subset of each size, but for a null model that is worse than all."""
    pairs = zip(subsets, subsets.costs(criterion), strict=True)
    first, costs = zip(*(pair for pair in pairs if pair[0].rank == 1), strict=True)
    is_far = len(first) > 1 and first[0].size == 0 and costs[0] > max(costs[1:])
    return list(first[1:] if is_far else first)


def _ordered(subsets: "Subsets", criterion: "ChoiceName") -> "list[Subset]":
    """Subsets by a measure, the chosen one first.

    Those for which it is unknown come last; where it is an error on folds, the others
    of a size have none, and are left out.
    """
    costs, best = subsets.costs(criterion), subsets.best(criterion)
    costs[[each is best for each in subsets]] = -np.inf
    listed = [subsets.subsets[i] for i in np.argsort(costs, kind="stable")]
    return [each for each in listed if criterion != "cv" or each.rank == 1]
