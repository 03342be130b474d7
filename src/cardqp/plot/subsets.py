"""The best subsets of all sizes: which features they have, and how good they are."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp.plot.style import BLUE, ORANGE, new_axes, plain, whole_numbers

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


def plot_subsets(subsets: "Subsets", criterion: "ChoiceName", ax: Any = None) -> Any:
    """A row for each subset, a column for each feature, as ``regsubsets`` has it.

    The best subset by the measure is on top; the shade is by the measure.

    Parameters
    ----------
    subsets : Subsets
        The subsets.
    criterion : str
        The measure.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    """
    ordered = _ordered(list(subsets), criterion)
    if ax is None:
        ax = new_axes(height=1.6 + 0.22 * len(ordered))
    held = np.full((len(ordered), len(subsets.names)), np.nan)
    for i, each in enumerate(ordered):
        # From dark, for the best, to light.
        held[i, each.support] = 1.0 - 0.7 * i / max(len(ordered) - 1, 1)
    used = np.flatnonzero(~np.isnan(held).all(axis=0))
    ax.imshow(held[:, used], cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto")
    ax.set_xticks(
        range(len(used)), [plain(subsets.names[j]) for j in used], rotation=90
    )
    labels = [f"{each.measures[criterion]:.6g}" for each in ordered]
    ax.set_yticks(range(len(ordered)), labels)
    ax.set_ylabel(TITLES[criterion])
    ax.set_title("Best subsets, the best of all on top")
    return ax


def plot_sizes(subsets: "Subsets", criterion: "ChoiceName", ax: Any = None) -> Any:
    """A measure against the size; the best of each size are joined by a line.

    Parameters
    ----------
    subsets, criterion, ax
        As for :func:`plot_subsets`.
    """
    ax = new_axes() if ax is None else ax
    first = [each for each in subsets if each.rank == 1]
    others = [each for each in subsets if each.rank > 1]
    for group, style, label in (
        (others, {"marker": "_", "linestyle": "", "color": "0.5"}, "next best"),
        (first, {"marker": "o", "color": BLUE}, "best of its size"),
    ):
        if group:
            values = [each.measures[criterion] for each in group]
            ax.plot([each.size for each in group], values, label=label, **style)
    best = subsets.best(criterion)
    ax.plot(best.size, best.measures[criterion], "*", color=ORANGE, markersize=14)
    whole_numbers(ax.xaxis)
    ax.set_xlabel("features")
    ax.set_ylabel(TITLES[criterion])
    ax.set_title(f"Best subsets by {TITLES[criterion]}")
    ax.legend()
    return ax


def _ordered(subsets: "list[Subset]", criterion: "ChoiceName") -> "list[Subset]":
    """Subsets by a measure, the best first; those for which it is unknown last."""
    sign = -1.0 if criterion == "adjusted_r2" else 1.0
    values = [sign * each.measures[criterion] for each in subsets]
    return [subsets[i] for i in np.argsort(values, kind="stable")]
