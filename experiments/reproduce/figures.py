"""The figures, drawn from rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cardqp.plot.style import (
    BLUE,
    COLOURS,
    GREEN,
    ORANGE,
    PURPLE,
    STYLES,
    new_axes,
)
from experiments.reproduce.config import Exhibit
from experiments.reproduce.summary import select
from experiments.reproduce.work import Row


def draw(exhibit: Exhibit, rows: Sequence[Row]) -> Any | None:
    """The figure of an exhibit; None if it is a table, or there is nothing to draw."""
    pictures: dict[str, Callable[[Exhibit, Sequence[Row]], Any]] = {
        "eigenvalues": _eigenvalues,
        "truncation": _truncation,
        "levels": _levels,
        "times": _times,
    }
    if exhibit.picture not in pictures or not rows:
        return None
    return pictures[exhibit.picture](exhibit, rows)


def _eigenvalues(exhibit: Exhibit, rows: Sequence[Row]) -> Any | None:
    own = select(rows, **{exhibit.study.vary: exhibit.only})
    if not own:
        return None
    values = np.array([row["eigenvalues"] for row in own])
    order = np.arange(1, values.shape[1] + 1)
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
    ax = new_axes()
    label = "5 to 95 % of the splits"
    ax.fill_between(order, low, high, color=BLUE, alpha=0.3, linewidth=0, label=label)
    ax.plot(order, middle, "o-", color=BLUE, markersize=3, label="median")
    for k in (5, 10):
        ratio = float(np.mean(values[:, 0] / values[:, k - 1]))
        ax.annotate(
            f"$\\lambda_1/\\lambda_{{{k}}}$ = {ratio:.1f}",
            (k, middle[k - 1]),
            xytext=(8, 12),
            textcoords="offset points",
        )
    ax.set(xscale="log", yscale="log", xlabel="index", ylabel="eigenvalue of Q")
    ax.set_ylim(bottom=max(float(low[low > 0].min()), 1e-12 * float(high[0])))
    ax.legend()
    ax.set_title(exhibit.title)
    return ax.figure


def _truncation(exhibit: Exhibit, rows: Sequence[Row]) -> Any:
    ax, study = new_axes(), exhibit.study
    for place, value in enumerate(study.values):
        own = select(rows, **{study.vary: value})
        if not own:
            continue
        errors = np.mean([row["errors"] for row in own], axis=0)
        k_hat = float(np.mean([row["k_hat"] for row in own]))
        share, order = errors / errors[0], np.arange(1, len(errors) + 1)
        colour = COLOURS[place % len(COLOURS)]
        label = f"{value} (k_hat {k_hat:.1f})"
        shown = share > 1e-4
        ax.plot(order[shown], share[shown], color=colour, label=label)
        ax.plot([k_hat], [0.1], STYLES[place % len(STYLES)][0], color=colour)
    ax.axhline(0.1, color="0.5", linewidth=0.8, linestyle="--")
    ax.set(xscale="log", yscale="log", xlabel="eigenvectors kept, k")
    ax.set_ylabel(r"$|Q - Q_k|_F \; / \; |Q - Q_1|_F$")
    ax.legend()
    ax.set_title(exhibit.title)
    return ax.figure


def _levels(exhibit: Exhibit, rows: Sequence[Row]) -> Any:
    upper, middle, lower = new_axes(3)
    figure = upper.figure
    figure.set_size_inches(7.0, 9.0)
    levels = np.array(exhibit.study.values)
    for method, colour, style in (
        ("dual-program", BLUE, "o-"),
        ("best-response", ORANGE, "s--"),
    ):
        name = exhibit.columns[method]
        kinds = ((upper, "mse"), (middle, "objective"), (lower, "seconds"))
        for ax, metric in kinds:
            means = _means(exhibit, rows, method, metric)
            ax.plot(levels, means, style, color=colour, markersize=3, label=name)
    upper.axhline(
        np.nanmean(_means(exhibit, rows, "exact", "mse")),
        color=GREEN,
        label=exhibit.columns["exact"],
    )
    objective = _means(exhibit, rows, "exact", "objective")
    middle.plot(levels, objective, color=GREEN, label=exhibit.columns["exact"])
    bounds = _means(exhibit, rows, "relaxation", "objective")
    label = exhibit.columns["relaxation"]
    middle.plot(levels, bounds, "^:", color=PURPLE, markersize=3, label=label)
    top = float(np.nanmean(objective))
    middle.set_ylim(min(0.0, 0.5 * top) if np.nanmin(bounds) < 0 else 0.0, 2.0 * top)
    upper.set(ylabel="in-sample MSE")
    middle.set(ylabel="objective")
    lower.set(ylabel="seconds", yscale="log", xlabel="level k")
    upper.set_title(exhibit.title)
    for ax in (upper, middle, lower):
        ax.legend()
    return figure


def _times(exhibit: Exhibit, rows: Sequence[Row]) -> Any:
    ax, sizes = new_axes(), np.array(exhibit.study.values)
    for place, (method, name) in enumerate(exhibit.columns.items()):
        seconds = _means(exhibit, rows, method, "seconds")
        ax.plot(sizes, seconds, STYLES[place], color=COLOURS[place], label=name)
    ax.set(xscale="log", yscale="log", xlabel="observations N", ylabel="seconds")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    ax.legend()
    ax.set_title(exhibit.title)
    return ax.figure


def _means(
    exhibit: Exhibit, rows: Sequence[Row], method: str, metric: str
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The mean of a metric at each value; not a number where there is none."""
    means = []
    for value in exhibit.study.values:
        own = select(rows, **{exhibit.study.vary: value, "method": method})
        numbers = [row[metric] for row in own if metric in row]
        means.append(float(np.mean(numbers)) if numbers else np.nan)
    return np.array(means)
