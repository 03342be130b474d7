"""Tables as text, before anything is decided about their form."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.reproduce.config import Exhibit
from experiments.reproduce.summary import CERTIFIED, Cell, select, summarise
from experiments.reproduce.work import Row

WORDS = {"agrees": "agrees", "better": "ours is smaller", "differs": "differs"}
"""What is said of verdicts."""

LEGEND = (
    "Ours, with its standard error; in brackets what the paper prints, which agrees if "
    "it is within three standard errors of the difference; letters refer to the "
    "reasons below."
)


@dataclass(frozen=True)
class Grid:
    """A table: what stands above the columns, the rows, and notes below."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def grids_of(exhibit: Exhibit, rows: Sequence[Row]) -> dict[str, Grid]:
    """The tables behind a table or figure, by the names of their files.

    What depends on the machine, the time, has a table of its own.
    """
    special: dict[str | None, Callable[[Exhibit, Sequence[Row]], Grid]] = {
        "datasets": _datasets,
        "eigenvalues": _ratios,
        "truncation": _truncation,
        "levels": _levels,
    }
    make = special.get(exhibit.picture, _comparison)
    found = {exhibit.id: make(exhibit, rows)}
    if exhibit.study.kind != "spectrum" and exhibit.metric != "seconds":
        found[f"{exhibit.id}-times"] = _times(exhibit, rows)
    return found


def _comparison(exhibit: Exhibit, rows: Sequence[Row]) -> Grid:
    cells = summarise(exhibit, rows)
    reasons = sorted({cell.reason for cell in cells.values() if cell.reason})
    letters = {reason: chr(ord("a") + i) for i, reason in enumerate(reasons)}
    lines = []
    for value in exhibit.study.values:
        texts = [
            _text(exhibit, cells.get((value, method)), letters)
            for method in exhibit.columns
        ]
        lines.append((exhibit.heading.format(value), *texts))
    notes = [f"{letter}: {reason}" for reason, letter in letters.items()]
    if exhibit.paper:
        notes.insert(0, LEGEND)
    return Grid(
        exhibit.title,
        ("", *exhibit.columns.values()),
        tuple(lines),
        (*notes, *_sources(rows), _count(exhibit, rows)),
    )


def _text(exhibit: Exhibit, cell: Cell | None, letters: dict[str, str]) -> str:
    if cell is None:
        return ""
    text = _with_error(exhibit, cell.mean, cell.error)
    if cell.paper is not None:
        said = [WORDS[cell.verdict], letters.get(cell.reason, "")]
        words = ", ".join(filter(None, said))
        text += f" (paper: {number(exhibit, cell.paper)}, {words})"
    if cell.gap is not None and exhibit.metric != "seconds":
        proven = f"gap {cell.gap:.1%} left" if cell.gap > CERTIFIED else "proven"
        text += f", {proven}"
    return text


def _with_error(exhibit: Exhibit, mean: float, error: float) -> str:
    """A number and its standard error, which share an exponent if there is one."""
    if math.isnan(error):
        return number(exhibit, mean)
    if exhibit.scientific and mean:
        exponent = math.floor(math.log10(abs(mean)))
        unit, digits = 10.0**exponent, exhibit.decimals
        return f"({mean / unit:.{digits}f} ± {error / unit:.{digits}f})e{exponent}"
    return f"{number(exhibit, mean)} ± {number(exhibit, error)}"


def number(exhibit: Exhibit, value: float) -> str:
    """A number with the digits of the paper, and one more for errors of sizes."""
    if exhibit.scientific and value:
        exponent = math.floor(math.log10(abs(value)))
        return f"{value / 10.0**exponent:.{exhibit.decimals}f}e{exponent}"
    if exhibit.metric == "seconds":
        return f"{value:.3g}"
    decimals = exhibit.decimals
    if decimals == 0 and value != round(value):
        decimals = 1
    return f"{value:.{decimals}f}"


def _times(exhibit: Exhibit, rows: Sequence[Row]) -> Grid:
    timed = replace(exhibit, metric="seconds", paper={}, scientific=False)
    grid = _comparison(timed, rows)
    note = "Seconds until the point is known, its lower bound not included."
    return replace(grid, title=f"Time: {exhibit.title}", notes=(note, *grid.notes))


def _datasets(exhibit: Exhibit, rows: Sequence[Row]) -> Grid:
    lines = []
    for place, value in enumerate(exhibit.study.values):
        own = select(rows, **{exhibit.study.vary: value})
        if not own:
            continue
        texts = [exhibit.heading.format(value)]
        for name in ("n_features", "n_samples", "k_hat"):
            mean = float(np.mean([row[name] for row in own]))
            printed = exhibit.paper[name][place]
            verdict = "agrees" if abs(mean - printed) <= 0.5 else "differs"
            texts.append(f"{mean:.10g} (paper: {printed}, {WORDS[verdict]})")
        lines.append((*texts, exhibit.reasons.get(value, "")))
    return Grid(
        exhibit.title,
        ("", "features n", "rows N", "k_hat, mean", "remark"),
        tuple(lines),
        ("In brackets what the paper prints.", *_sources(rows), _count(exhibit, rows)),
    )


def _ratios(exhibit: Exhibit, rows: Sequence[Row]) -> Grid:
    own = select(rows, **{exhibit.study.vary: exhibit.only})
    values = np.array([row["eigenvalues"] for row in own])
    place, lines = exhibit.study.values.index(exhibit.only), []
    for other in (5, 10):
        name = f"lambda_1 / lambda_{other}"
        ratio = values[:, 0] / values[:, other - 1] if len(values) else np.zeros(0)
        ours = f"{ratio.mean():.1f}" if len(ratio) else ""
        is_printed = name in exhibit.paper
        paper = f"{exhibit.paper[name][place]:.1f}" if is_printed else ""
        lines.append((name, ours, paper))
    note = "The ratio that the paper prints for lambda_10 is that for lambda_5."
    return Grid(
        exhibit.title,
        ("", "ours, mean", "paper"),
        tuple(lines),
        (note, _count(exhibit, rows)),
    )


def _truncation(exhibit: Exhibit, rows: Sequence[Row]) -> Grid:
    shown, lines = (1, 5, 10, 20, 40), []
    for value in exhibit.study.values:
        own = select(rows, **{exhibit.study.vary: value})
        if not own:
            continue
        errors = np.mean([row["errors"] for row in own], axis=0)
        texts = [f"{errors[k - 1]:.3g}" if k <= len(errors) else "" for k in shown]
        k_hat = np.mean([row["k_hat"] for row in own])
        lines.append((exhibit.heading.format(value), *texts, f"{k_hat:.2f}"))
    return Grid(
        exhibit.title,
        ("", *(f"k = {k}" for k in shown), "k_hat"),
        tuple(lines),
        ("Mean of |Q - Q_k| (Frobenius).", *_sources(rows), _count(exhibit, rows)),
    )


def _levels(exhibit: Exhibit, rows: Sequence[Row]) -> Grid:
    """Errors by level, and objectives of the certified optimum with their bounds."""
    study = exhibit.study

    def mean(value: Any, method: str, name: str) -> str:
        own = select(rows, **{study.vary: value, "method": method})
        numbers = [row[name] for row in own if name in row]
        return f"{np.mean(numbers):.4e}" if numbers else ""

    lines = [
        (
            exhibit.heading.format(value),
            mean(value, "dual-program", "mse"),
            mean(value, "best-response", "mse"),
            mean(value, "exact", "mse"),
            mean(value, "exact", "objective"),
            mean(value, "relaxation", "objective"),
        )
        for value in study.values
    ]
    header = (
        *("dual program", "best response", "certified optimum"),
        *("its objective", "bound of the level"),
    )
    return Grid(exhibit.title, ("", *header), tuple(lines), (_count(exhibit, rows),))


def _sources(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(sorted({row["source"] for row in rows if "source" in row}))


def _count(exhibit: Exhibit, rows: Sequence[Row]) -> str:
    """How many replications there are, if not all have been made."""
    study = exhibit.study
    made = {(row[study.vary], row["replication"]) for row in rows}
    counts = [sum(value == v for v, _ in made) for value in study.values]
    if min(counts) == max(counts):
        return f"Replications: {min(counts)}."
    return f"Replications: {min(counts)} to {max(counts)}; the run is not finished."
