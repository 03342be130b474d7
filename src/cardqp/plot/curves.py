"""Objectives with their proved bounds: by level, by sparsity, by target."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp.plot.style import (
    BLUE,
    GREEN,
    ORANGE,
    arrays,
    focus,
    joint_legend,
    new_axes,
    remark,
    whole_numbers,
    widen,
)

if TYPE_CHECKING:
    from cardqp.models.efficient_frontier import Frontier
    from cardqp.pipeline.hierarchy import Hierarchy
    from cardqp.pipeline.path import Path


SMALL_GAP = 0.02
"""Gaps of less, in percent, need no axis: all is proved."""


BELOW = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "frameon": False}
"""The place of a legend that covers no line."""


def plot_hierarchy(hierarchy: "Hierarchy", ax: Any = None) -> Any:
    """Bounds and reduced optima (left axis), candidates (right axis), by level.

    Parameters
    ----------
    hierarchy : Hierarchy
        The levels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        ``ax.figure.savefig("hierarchy.png")`` writes it to a file.
    """
    ax = new_axes() if ax is None else ax
    names = "level", "lower_bound", "objective", "n_candidates"
    level, lower, upper, candidates = arrays(hierarchy, *names)
    feasible = np.isfinite(upper)
    best = upper[feasible].min(initial=np.inf)
    ax.plot(level, lower, "o-", color=BLUE, label="lower bound (proved)")
    ax.plot(
        level[feasible],
        upper[feasible],
        "s--",
        color=ORANGE,
        label="optimum on the candidates",
    )
    focus(ax, best, lower)
    ax.set_xscale("log")
    ax.set_xticks(level, [f"{k:d}" for k in level])
    ax.minorticks_off()
    ax.set_xlabel("level k (eigenvectors kept)")
    ax.set_ylabel("objective")
    right = ax.twinx()
    right.plot(level, candidates, "^:", color=GREEN, label="candidates (guessed)")
    right.set_ylabel("number of candidates")
    right.set_ylim(bottom=0)
    whole_numbers(right.yaxis)
    joint_legend(ax, right, **BELOW, ncols=2)
    ax.set_title(f"Hierarchy by {hierarchy.method}")
    return ax


def plot_path(path: "Path", ax: Any = None) -> Any:
    """Objective with the certified band below it, by sparsity, and the gap if open.

    Parameters
    ----------
    path : Path
        The solutions.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        ``ax.figure.savefig("path.png")`` writes it to a file.
    """
    ax = new_axes() if ax is None else ax
    names = "sparsity", "objective", "lower_bound", "gap"
    sparsity, upper, lower, gap = arrays(path, *names)
    feasible = np.isfinite(upper)
    both = feasible & np.isfinite(lower)
    ax.set_title("Certified path")
    if not feasible.any():
        remark(ax, "no feasible point")
        return ax
    band = (sparsity[both], lower[both], upper[both])
    ax.fill_between(*band, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(sparsity[feasible], upper[feasible], "o-", color=ORANGE, label="objective")
    label = "lower bound (proved)"
    ax.plot(sparsity[both], lower[both], "_-", color=BLUE, label=label)
    ax.set_xlabel("sparsity (nonzeros allowed)")
    ax.set_ylabel("objective")
    whole_numbers(ax.xaxis)
    widen(ax)
    percent = 100 * gap[both]
    if percent.max(initial=0.0) <= SMALL_GAP:
        ax.legend(**BELOW, ncols=3)
        return ax
    right = ax.twinx()
    right.plot(sparsity[both], percent, "^:", color=GREEN, label="gap (%)")
    right.set_ylabel("gap (%)")
    right.set_ylim(0, percent.max() * 1.1)
    joint_legend(ax, right, **BELOW, ncols=3)
    return ax


def plot_frontier(frontier: "Frontier", ax: Any = None) -> Any:
    """Expected return against risk, with the band between bound and objective.

    Bounds are proved at the targets; between them lines only guide the eye.

    Parameters
    ----------
    frontier : Frontier
        The points; those without weights are left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        ``ax.figure.savefig("frontier.png")`` writes it to a file.
    """
    ax = new_axes() if ax is None else ax
    names = "target", "risk", "expected_return", "objective", "lower_bound"
    columns = np.array(arrays(frontier, *names))
    target, risk, reward, objective, bound = columns[:, np.isfinite(columns[3])]
    lower = np.sqrt(np.maximum(bound, 0.0))
    ax.fill_betweenx(
        target, lower, np.sqrt(objective), color=BLUE, alpha=0.25, linewidth=0
    )
    ax.plot(
        lower, target, "|-", color=BLUE, label="lower bound (proved at the targets)"
    )
    ax.plot(risk, reward, "o", color=ORANGE, label="portfolios")
    ax.set_xlabel("risk (standard deviation)")
    ax.set_ylabel("expected return")
    ax.legend(loc="lower right")
    ax.set_title("Certified efficient frontier")
    return ax
