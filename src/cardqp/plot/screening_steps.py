"""Which variables were decided at the root of a search, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cardqp.exceptions import ParameterError, Phrase, Setting
from cardqp.plot.style import BLUE, legend, new_axes, plain
from cardqp.solution import Solution, Status

if TYPE_CHECKING:
    from cardqp._typing import BoolArray, IntArray

MOST_NAMES = 60
"""With more variables they are counted, not named."""

SAND, GREY, DARK = "#E6A532", "#E0E0E0", "#222222"
KINDS = (
    (1, BLUE, "in every better choice"),
    (0, SAND, "open"),
    (-1, GREY, "in no better choice"),
)
APART = 0.3
"""Room between what is proved and the answer."""


@dataclass(frozen=True, slots=True)
class _Story:
    """A row for each step that decides something (1 in, -1 out, 0 open); the answer."""

    labels: tuple[str, ...]
    status: "IntArray"
    chosen: "BoolArray"
    answer: str

    @classmethod
    def of(cls, solution: Solution) -> "_Story":
        if solution.certificate is None:
            raise ParameterError(
                "solution",
                "must have a certificate with steps at the root",
                remedy=Phrase("solve with a larger {}", Setting("proof_memory")),
            )
        labels, rows = list[str](), list[Any]()
        for step, status in enumerate(solution.certificate.decided(solution.problem)):
            if not rows or (status != rows[-1]).any():
                labels.append(f"step {step}" if step else "start")
                rows.append(status)
        chosen = np.zeros(solution.problem.n, dtype=bool)
        chosen[solution.support] = True
        return cls(tuple(labels), np.array(rows), chosen, _answer(solution))

    @property
    def ticks(self) -> tuple[list[float], list[str]]:
        """Places and names of the steps, and of the answer, apart from them."""
        steps = len(self.labels)
        places, labels = list[float](range(steps)), list(self.labels)
        if self.answer:
            return [*places, steps + APART], [*labels, self.answer]
        return places, labels

    @property
    def n_open(self) -> int:
        return int(np.count_nonzero(self.status[-1] == 0))


def _answer(solution: Solution) -> str:
    """The name of the answer in the picture; empty if there is none."""
    if solution.x is None:
        return ""
    is_proved = solution.status is Status.OPTIMAL
    return "answer\n(optimal)" if is_proved else "answer\n(not proved)"


def plot_screening(solution: Solution, ax: Any = None) -> Any:
    """Draw which variables each step at the root decides, and the answer.

    "Better" is better than the answer by more than the gap: of a solution that is
    optimal nothing is, and the decisions are how that was proved.  Up to 60 variables
    are shown by their names, a row each, the chosen first; more are counted.  Steps
    that decide nothing are left out.  What stays open is left to the branches.

    Parameters
    ----------
    solution : Solution
        A solution with its certificate.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        ``ax.figure.savefig("screening.png")`` writes it to a file.

    Raises
    ------
    ParameterError
        When no certificate was kept.
    """
    story = _Story.of(solution)
    count = solution.problem.n
    is_named = count <= MOST_NAMES
    if ax is None:
        rows = count if is_named else 2.2 * len(story.labels)
        ax = new_axes(height=1.4 + 0.16 * max(rows, 6))
    if is_named:
        _draw_grid(ax, story, solution.problem.name_of)
    else:
        _draw_bars(ax, story)
    ax.tick_params(length=0)
    ax.xaxis.tick_top()
    ax.spines[:].set_visible(False)
    # Names take room on the left: there the title may begin.
    title = f"{story.n_open} of {count} variables stay open at the root"
    ax.set_title(title, loc="right")
    _add_legend(ax, story)
    return ax


def _draw_grid(ax: Any, story: _Story, name_of: Any) -> None:
    """A row for each variable: the chosen first, then those that held out longest."""
    from matplotlib.colors import ListedColormap

    open_for = np.count_nonzero(story.status == 0, axis=0)
    order = np.lexsort((-open_for, ~story.chosen))
    steps, n = len(story.labels), len(order)
    edges = np.arange(n + 1) - 0.5
    lines = {"edgecolors": "white", "linewidth": 0.8}
    colours = ListedColormap([colour for _, colour, _ in KINDS[::-1]])
    columns = np.arange(steps + 1) - 0.5
    cells = story.status.T[order]
    ax.pcolormesh(columns, edges, cells, cmap=colours, vmin=-1, vmax=1, **lines)
    if story.answer:
        columns = np.array([steps - 0.5, steps + 0.5]) + APART
        cells = story.chosen[order][:, None].astype(int)
        colours = ListedColormap(["#F7F7F7", DARK])
        ax.pcolormesh(columns, edges, cells, cmap=colours, vmin=0, vmax=1, **lines)
    ax.set_xticks(*story.ticks)
    names = [plain(name_of(int(j))) for j in order]
    ax.set_yticks(np.arange(n), names, fontsize="small")
    ax.set_ylim(n - 0.5, -0.5)


def _draw_bars(ax: Any, story: _Story) -> None:
    """A bar for each step, with the counts in words."""
    steps, total = len(story.labels), len(story.chosen)
    _bars(ax, np.arange(steps), story.status, KINDS)
    words = [
        "{} in, {} open, {} out".format(*(int((row == k).sum()) for k, _, _ in KINDS))
        for row in story.status
    ]
    places, labels = story.ticks
    if story.answer:
        kinds = ((1, DARK, "chosen"), (0, "#F7F7F7", "not chosen"))
        _bars(ax, places[-1:], story.chosen[None, :], kinds)
        words.append(f"{int(story.chosen.sum())} chosen")
    for place, text in zip(places, words, strict=True):
        ax.text(total, place, f" {text}", va="center", ha="left", fontsize="small")
    ax.set_yticks(places, labels)
    ax.set_ylim(places[-1] + 0.6, -0.6)
    ax.set_xlim(0, total)


def _bars(
    ax: Any, places: Any, rows: Any, kinds: Sequence[tuple[int, str, str]]
) -> None:
    """Stacked bars of how many entries of each row are of each kind."""
    start = np.zeros(len(rows), dtype=int)
    for kind, colour, _ in kinds:
        counts = np.count_nonzero(rows == kind, axis=1)
        ax.barh(places, counts, left=start, color=colour)
        start = start + counts


def _add_legend(ax: Any, story: _Story) -> None:
    from matplotlib.patches import Patch

    shown = [(colour, name) for _, colour, name in KINDS]
    if story.answer:
        shown.append((DARK, "chosen"))
    patches = [Patch(color=colour) for colour, _ in shown]
    place = {"loc": "upper right", "bbox_to_anchor": (1.0, 0.0), "ncols": 2}
    names = [name for _, name in shown]
    legend(patches, names, ax, **place, frameon=False, fontsize="small")
