"""Everything on disk: tables, figures, raw rows, and one page to read."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cardqp.report.page import made_with, page, picture, text
from cardqp.report.versions import versions
from cardqp.storage import write_bytes
from experiments.reproduce.config import Exhibit
from experiments.reproduce.figures import draw
from experiments.reproduce.grids import Grid, grids_of
from experiments.reproduce.render import to_html, to_latex, to_markdown
from experiments.reproduce.summary import summarise
from experiments.reproduce.work import Row

FORMATS = ("png", "svg", "pdf")

STYLE = """
body { max-width: 72rem; }
td { white-space: nowrap; }
"""

INTRODUCTION = (
    "Every table and figure of the evaluation in Vreugdenhil, Nguyen, Eftekhari and "
    "Mohajerin Esfahani, “Principal Component Hierarchy for Sparse Quadratic "
    "Programs” (ICML 2021), run again with the right objective and the paper's "
    "constants, and with the certified optimum beside it. Data sets are drawn anew: "
    "means agree up to noise, single numbers do not."
)


@dataclass(frozen=True)
class Section:
    """One table or figure with its rows, or the reason why there are none."""

    exhibit: Exhibit
    rows: Sequence[Row]
    missing: str = ""


def write_report(sections: Sequence[Section], folder: Path, command: str) -> None:
    """Write all files; each appears whole or not at all.

    Parameters
    ----------
    sections : sequence of Section
        What to write.
    folder : Path
        Where to.
    command : str
        The command that made it, for the reader.
    """
    parts = []
    for section in sections:
        grids = {} if section.missing else grids_of(section.exhibit, section.rows)
        for name, grid in grids.items():
            _write(folder / "tables" / f"{name}.md", to_markdown(grid))
            _write(folder / "tables" / f"{name}.tex", to_latex(grid))
            _write(folder / "tables" / f"{name}.csv", _as_csv(grid))
        pictures = {} if section.missing else _pictures(section)
        for ending, content in pictures.items():
            _write(folder / "figures" / f"{section.exhibit.id}.{ending}", content)
        parts.append(_html_section(section, grids, pictures.get("png")))
    _write(folder / "rows.csv", _raw(sections))
    _write(folder / "report.html", _page([_verdicts(sections), *parts], command))


def _pictures(section: Section) -> Mapping[str, bytes]:
    figure = draw(section.exhibit, section.rows)
    if figure is None:
        return {}
    files = {}
    for ending in FORMATS:
        stream = io.BytesIO()
        figure.savefig(stream, format=ending, dpi=150)
        files[ending] = stream.getvalue()
    return files


def _verdicts(sections: Sequence[Section]) -> str:
    """How many numbers agree with the paper, in words."""
    found: Counter[str] = Counter()
    for section in sections:
        if section.exhibit.picture is None and not section.missing:
            cells = summarise(section.exhibit, section.rows).values()
            found.update(cell.verdict for cell in cells if cell.verdict)
    return (
        f"<p>Of {found.total()} numbers that the paper prints in these tables, "
        f"{found['agrees']} agree with ours within noise, {found['better']} are larger "
        f"than ours (an error, or a size, that can be smaller) and {found['differs']} "
        "differ otherwise; reasons stand below each table.</p>"
    )


def _html_section(
    section: Section, grids: Mapping[str, Grid], drawn: bytes | None
) -> str:
    exhibit = section.exhibit
    parts = [f"<h2 id='{exhibit.id}'>{exhibit.id}: {text(exhibit.title)}</h2>"]
    if section.missing:
        parts.append(f"<p class='missing'>Not run: {text(section.missing)}</p>")
    if drawn is not None:
        parts.append(picture(drawn, "png", exhibit.title))
    for name, grid in grids.items():
        if name != exhibit.id:
            parts.append(f"<h3>{text(grid.title)}</h3>")
        parts.append(to_html(grid))
    return "\n".join(parts)


def _page(parts: Sequence[str], command: str) -> str:
    title, made = "The evaluation, reproduced", made_with(versions())
    start = [
        f"<h1>{title}</h1><p>{text(INTRODUCTION)}</p>",
        f"<p>Made by <code>{text(command)}</code> with {made}.</p>",
    ]
    return page(title, [*start, *parts], STYLE)


def _as_csv(grid: Grid) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(grid.header)
    writer.writerows(grid.rows)
    return stream.getvalue()


def _raw(sections: Sequence[Section]) -> str:
    """All rows of all studies; lists are left to the files they come from."""
    studies: dict[str, Sequence[Row]] = {
        section.exhibit.study.name: section.rows for section in sections
    }
    rows = [row for own in studies.values() for row in own]
    names: dict[str, Any] = {}
    for row in rows:
        names |= {k: None for k, v in row.items() if not isinstance(v, list)}
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(names), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _write(path: Path, content: str | bytes) -> None:
    """Write a file in one piece, and the folder that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content.encode() if isinstance(content, str) else content)
