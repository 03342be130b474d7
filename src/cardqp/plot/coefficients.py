"""Coefficients along a path."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp.plot.style import (
    COLOURS,
    STYLES,
    legend,
    new_axes,
    plain,
    remark,
    whole_numbers,
)
from cardqp.problem import validation as check

if TYPE_CHECKING:
    from cardqp._typing import FloatArray, IntArray
    from cardqp.pipeline.path import Path


def plot_coefficients(path: "Path", ax: Any = None, most: int = 12) -> Any:
    """The entries of each solution against the sparsity, zeros included.

    The largest have colours and names, in the order in which their lines end; all
    others that are ever nonzero are grey.

    Parameters
    ----------
    path : Path
        The solutions; sparsities without a point are left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    most : int
        How many lines have names.

    Returns
    -------
    matplotlib Axes
        ``ax.figure.savefig("coefficients.png")`` writes it to a file.
    """
    check.count("most", most)
    ax = new_axes() if ax is None else ax
    pairs = zip(path.sparsities, path.solutions, strict=True)
    found = [(k, s.x) for k, s in pairs if s.x is not None]
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    if found:
        whole_numbers(ax.xaxis)
        sparsities = np.array([k for k, _ in found])
        _draw(ax, path, sparsities, np.array([x for _, x in found]), most)
    else:
        remark(ax, "no feasible point")
    ax.set_xlabel("sparsity (nonzeros allowed)")
    ax.set_ylabel("coefficient")
    ax.set_title("Coefficients along the path")
    return ax


def _draw(
    ax: Any, path: "Path", sparsities: "IntArray", x: "FloatArray", most: int
) -> None:
    """A line for each variable that is ever nonzero."""
    size = np.abs(x).max(axis=0)
    ever = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    named, others = ever[:most], ever[most:]
    name_of = path.solutions[0].problem.name_of
    for j in others:
        ax.plot(sparsities, x[:, j], "-", color="0.75", linewidth=0.8, marker=".")
    lines = []
    for place, j in enumerate(named):
        (line,) = ax.plot(
            sparsities,
            x[:, j],
            STYLES[place % len(STYLES)],
            # Twelve lines differ without colours: the second six have hollow markers.
            fillstyle="full" if place // len(STYLES) % 2 == 0 else "none",
            color=COLOURS[(place + place // len(COLOURS)) % len(COLOURS)],
            markersize=4,
        )
        lines.append(line)
    order = np.argsort(-x[-1, named], kind="stable")
    names = [plain(name_of(int(named[i]))) for i in order]
    handles = [lines[i] for i in order]
    if len(others):
        handles.append(ax.get_lines()[1])
        names.append(f"{len(others)} smaller")
    if handles:
        place_of_legend = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        legend(handles, names, ax, **place_of_legend, fontsize="small", frameon=False)
    else:
        remark(ax, "all coefficients are zero")
