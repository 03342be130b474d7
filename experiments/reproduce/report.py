"""Everything on disk: tables, figures, raw rows, and one page to read."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cardqp.report import sections
from cardqp.report.page import made_with, page, picture, table, text
from cardqp.report.sections import paragraph, section
from cardqp.report.versions import versions
from cardqp.storage import write_bytes
from experiments.reproduce.claims import (
    ALIKE,
    EQUAL,
    FAILS,
    HOLDS,
    PARTLY,
    Verdict,
    verdicts,
)
from experiments.reproduce.config import IDS, Exhibit
from experiments.reproduce.figures import draw
from experiments.reproduce.grids import Grid, grids_of
from experiments.reproduce.render import to_html, to_latex, to_markdown
from experiments.reproduce.summary import summarise
from experiments.reproduce.work import Row

FORMATS = ("png", "svg", "pdf")

PAGE = "page"
"""Stands for the picture on the page."""

STYLE = """
body { max-width: 72rem; }
summary { cursor: pointer; }
@media (min-width: 40.01rem) {
  td { white-space: nowrap; }
  #claims td { white-space: normal; }
  #claims tbody th { min-width: 21rem; }
}
"""

TITLE = "The evaluation, reproduced"

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


def write_report(shown: Sequence[Section], folder: Path, command: str) -> None:
    """Write all files; each appears whole or not at all.

    Parameters
    ----------
    shown : sequence of Section
        What to write.
    folder : Path
        Where to.
    command : str
        The command that made it, for the reader.
    """
    parts = []
    for each in shown:
        grids = {} if each.missing else grids_of(each.exhibit, each.rows)
        for name, grid in grids.items():
            _write(folder / "tables" / f"{name}.md", to_markdown(grid))
            _write(folder / "tables" / f"{name}.tex", to_latex(grid))
            _write(folder / "tables" / f"{name}.csv", _as_csv(grid))
        pictures = {} if each.missing else _pictures(each)
        for ending in FORMATS:
            if ending in pictures:
                path = folder / "figures" / f"{each.exhibit.id}.{ending}"
                _write(path, pictures[ending])
        drawn = pictures.get(PAGE)
        parts.append(exhibit_section(each.exhibit, grids, drawn, each.missing))
    known = {e.exhibit.id: (e.exhibit, e.rows) for e in shown if not e.missing}
    _write(folder / "rows.csv", _raw(shown))
    whole = page_of(verdicts(known), agreement_of(shown), parts, command)
    _write(folder / "report.html", whole)


def _pictures(section: Section) -> Mapping[str, bytes]:
    """The figure in all formats; ``page`` is the one without a ground of its own."""
    figure = draw(section.exhibit, section.rows)
    if figure is None:
        return {}
    files = {}
    for ending in (*FORMATS, PAGE):
        stream = io.BytesIO()
        kind = "png" if ending == PAGE else ending
        figure.savefig(stream, format=kind, dpi=150, transparent=ending == PAGE)
        files[ending] = stream.getvalue()
    return files


def page_of(
    found: Sequence[Verdict], agreement: str, parts: Sequence[str], command: str
) -> str:
    """The page: first the claims of the paper, then its tables and figures."""
    counts = Counter(each.word for each in found)
    told = [f"{counts[w]} {_plural(w, counts[w])}" for w in _ORDER if counts[w]]
    lead = (
        f"Of {len(found)} claims that the paper makes of its tables and figures, "
        f"{_listed(told)} here."
    )
    start = paragraph(text(lead), "lead") if found else ""
    return page(
        TITLE,
        [
            f"<header><h1>{TITLE}</h1>{start}</header>",
            paragraph(text(INTRODUCTION)),
            _claims(found),
            *parts,
            _origin(agreement, command),
        ],
        sections.STYLE + STYLE,
    )


_ORDER = (HOLDS, PARTLY, FAILS, "no difference", "not run")
_MANY = {
    HOLDS: "hold",
    PARTLY: "hold in part",
    FAILS: "do not hold",
    "no difference": "make no difference",
    "not run": "were not run",
}
_ONE = {"no difference": "makes no difference", "not run": "was not run"}


def _plural(word: str, count: int) -> str:
    return _ONE.get(word, word) if count == 1 else _MANY[word]


def _listed(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _claims(found: Sequence[Verdict]) -> str:
    """A verdict per claim, each with a link to its table."""
    if not found:
        return ""
    rows = [[v.claim, v.word, v.evidence, v.exhibit] for v in found]
    rule = (
        f"Means count as equal if they differ by no more than {EQUAL:.1%}, and as very "
        f"similar if by no more than {ALIKE:.0%}; all methods are those that the paper "
        "compares."
    )
    header = ["what the paper says", "here", "because the mean is", "see"]
    drawn = table(header, rows, cell=_claim_cell, label="Claims")
    parts = [drawn, paragraph(text(rule), "small")]
    return section("claims", "What the paper claims", parts)


def _claim_cell(content: str) -> str:
    """A cell; the name of a table is a link to it."""
    if content in IDS:
        return f"<a href='#{content}'>{text(named(content))}</a>"
    return f"<span>{text(content)}</span>"


def named(identity: str) -> str:
    """The name of a table or figure, as the paper has it."""
    kind = "Figure" if identity.startswith("fig") else "Table"
    return f"{kind} {identity[3:]}"


def agreement_of(shown: Sequence[Section]) -> str:
    """How many numbers agree with the paper, in words."""
    found: Counter[str] = Counter()
    for each in shown:
        if each.exhibit.picture is None and not each.missing:
            cells = summarise(each.exhibit, each.rows).values()
            found.update(cell.verdict for cell in cells if cell.verdict)
    return (
        f"Of {found.total()} numbers that the paper prints in these tables, "
        f"{found['agrees']} agree with ours within noise, {found['better']} are larger "
        f"than ours (an error, or a size, that can be smaller) and {found['differs']} "
        "differ otherwise; reasons stand below each table."
    )


def _origin(agreement: str, command: str) -> str:
    made = made_with(versions())
    parts = [
        paragraph(text(agreement)),
        f"<pre>{text(command)}</pre>",
        paragraph(f"Made with {made}.", "small"),
    ]
    return section("numbers", "All numbers, and how to get them again", parts)


def exhibit_section(
    exhibit: Exhibit, grids: Mapping[str, Grid], drawn: bytes | None, missing: str = ""
) -> str:
    """A table or figure; times are folded."""
    parts = []
    if missing:
        words = f"Not run: {text(missing)}"
        parts.append(paragraph(words, "missing"))
    if drawn is not None:
        parts.append(f"<figure>{picture(drawn, 'png', exhibit.title)}</figure>")
    for name, grid in grids.items():
        body = to_html(grid)
        if name != exhibit.id:
            body = f"<details><summary>Times</summary>{body}</details>"
        parts.append(body)
    return section(exhibit.id, f"{named(exhibit.id)}: {exhibit.title}", parts)


def _as_csv(grid: Grid) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(grid.header)
    writer.writerows(grid.rows)
    return stream.getvalue()


def _raw(shown: Sequence[Section]) -> str:
    """All rows of all studies; lists are left to the files they come from."""
    studies: dict[str, Sequence[Row]] = {
        each.exhibit.study.name: each.rows for each in shown
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
