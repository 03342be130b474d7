"""Pictures; Matplotlib is imported only here and only when asked for."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp.exceptions import BackendNotFoundError

if TYPE_CHECKING:
    from cardqp.ladder import Hierarchy
    from cardqp.models.efficient_frontier import Frontier
    from cardqp.sparsity_path import Path

# Okabe and Ito's palette, told apart by colour-blind readers and in grey.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"


def new_axes(rows: int = 1) -> Any:
    """Axes of a new figure that belongs to no window; an array of them if several."""
    try:
        from matplotlib.figure import Figure
    except ImportError as err:
        raise BackendNotFoundError(
            "Plots need Matplotlib: install it with `pip install cardqp[plot]`."
        ) from err
    return Figure(figsize=(7.0, 4.2), layout="constrained").subplots(rows)


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
    columns = {name: np.array(v) for name, v in hierarchy.to_dict().items()}
    level, lower, upper = (
        columns[name] for name in ("level", "lower_bound", "objective")
    )
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
    if np.isfinite(best):
        highest = max(best, np.max(lower))
        span = max(highest - float(np.median(lower)), 1e-3 * abs(highest))
        ax.set_ylim(highest - 2.0 * span, highest + 0.5 * span)
    ax.set_xscale("log")
    ax.set_xticks(level, [f"{k:d}" for k in level])
    ax.minorticks_off()
    ax.set_xlabel("level k (eigenvectors kept)")
    ax.set_ylabel("objective")
    right = ax.twinx()
    right.plot(
        level, columns["n_candidates"], "^:", color=GREEN, label="candidates (guessed)"
    )
    right.set_ylabel("number of candidates")
    right.set_ylim(bottom=0)
    _legend(ax, right, "lower right")
    ax.set_title(f"Hierarchy by {hierarchy.method}")
    return ax


def plot_path(path: "Path", ax: Any = None) -> Any:
    """Objective with the certified band below it, and the gap, by sparsity.

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
    columns = {name: np.array(v) for name, v in path.to_dict().items()}
    known = np.isfinite(columns["objective"]) & np.isfinite(columns["lower_bound"])
    sparsity, upper, lower, gap = (
        columns[name][known] for name in ("sparsity", "objective", "lower_bound", "gap")
    )
    ax.fill_between(sparsity, lower, upper, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(sparsity, upper, "o-", color=ORANGE, label="objective")
    ax.plot(sparsity, lower, "-", color=BLUE, label="lower bound (proved)")
    ax.set_xlabel("sparsity (nonzeros allowed)")
    ax.set_ylabel("objective")
    right = ax.twinx()
    right.plot(sparsity, 100 * gap, "^:", color=GREEN, label="gap (%)")
    right.set_ylabel("gap (%)")
    right.set_ylim(0, max(100 * gap.max(initial=0.0), 0.02) * 1.1)
    _legend(ax, right, "upper right")
    ax.set_title("Certified path")
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
    columns = {name: np.array(v) for name, v in frontier.to_dict().items()}
    known = np.isfinite(columns["objective"])
    target, risk, reward, objective, bound = (
        columns[name][known]
        for name in ("target", "risk", "expected_return", "objective", "lower_bound")
    )
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


def _legend(left: Any, right: Any, place: str) -> None:
    """One legend for two axes."""
    handles = [line for ax in (left, right) for line in ax.get_lines()]
    left.legend(handles, [line.get_label() for line in handles], loc=place)
