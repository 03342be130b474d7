"""Style of all pictures: colours, axes, names as they are, legends."""

import unicodedata
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import optional
from cardqp.storage import replacing

# Okabe and Ito's palette, told apart by colour-blind readers and in grey.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)
STYLES = ("o-", "s--", "^:", "D-.", "v-", "P--")

UNFIT = ("Cc", "Cs", "Cn")
"""Kinds of characters that are not text: controls, halves of pairs, not assigned."""

LONGEST = 24
"""Letters of a name that fit beside a picture."""


def new_axes(rows: int = 1, height: float = 4.2) -> Any:
    """Axes of a new figure that belongs to no window; an array of them if several."""
    module = optional("matplotlib.figure", "Plots need Matplotlib", "plot")
    return module.Figure(figsize=(7.0, height), layout="constrained").subplots(rows)


def saved(ax: Any, path: str | PathLike[str] | None) -> Any:
    """Axes whose figure was written to a file, if one is wanted."""
    if path is not None:
        figure, target = ax.figure, Path(path)
        ending = target.suffix[1:] or figure.canvas.get_default_filetype()
        with replacing(target.with_suffix(f".{ending}")) as stream:
            figure.savefig(stream, format=ending, dpi=150)
    return ax


def printable(value: str) -> str:
    """Text that files can hold: control characters and the like are replaced."""
    return "".join(
        letter
        if letter in "\n\t" or unicodedata.category(letter) not in UNFIT
        else "\N{REPLACEMENT CHARACTER}"
        for letter in value
    )


def plain(name: str) -> str:
    """A name as text on one line: dollars are not mathematics, long names are cut.

    Their ends are kept, which often tell them apart: levels of a category, numbers.
    """
    line = printable(" ".join(name.split()))
    if len(line) > LONGEST:
        half = LONGEST // 2
        line = f"{line[: half - 1].rstrip()}…{line[-half:].lstrip()}"
    return line.replace("$", r"\$")


def arrays(table: Any, *names: str) -> list[Any]:
    """Some columns of results that are a table."""
    columns = table.to_dict()
    return [np.array(columns[name]) for name in names]


def legend(handles: list[Any], names: list[str], ax: Any, **place: Any) -> None:
    """A legend with any names, also those that Matplotlib would leave out."""
    # Matplotlib ignores entries that begin with an underscore, so names come later.
    drawn = ax.legend(handles, ["name"] * len(handles), **place)
    for text, name in zip(drawn.get_texts(), names, strict=True):
        text.set_text(name)


def joint_legend(left: Any, right: Any, **place: Any) -> None:
    """One legend for two axes."""
    lines = [line for ax in (left, right) for line in ax.get_lines()]
    legend(lines, [line.get_label() for line in lines], left, **place)


def focus(ax: Any, best: float, lower: FloatArray) -> None:
    """Show the best objective and what is near it; the first bounds can be far off."""
    known = lower[np.isfinite(lower)]
    if not np.isfinite(best) or len(known) == 0:
        return
    highest = max(best, float(np.max(known)))
    span = max(highest - float(np.median(known)), 1e-3 * abs(highest), 1e-12)
    ax.set_ylim(highest - 2.0 * span, highest + 0.5 * span)


def whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def widen(ax: Any) -> None:
    """Do not magnify what is equal up to rounding."""
    low, high = ax.get_ylim()
    middle, least = (low + high) / 2, 1e-3 * max(abs(low), abs(high))
    if high - low < 2 * least:
        ax.set_ylim(middle - least, middle + least)


def remark(ax: Any, text: str) -> None:
    """Words in the middle, where there is nothing to draw."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center")
    ax.set(xticks=[], yticks=[])
