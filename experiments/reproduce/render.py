"""Tables in Markdown, LaTeX and HTML."""

from cardqp.report.page import prose, table, text
from experiments.reproduce.grids import Grid

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "^": r"\^{}",
    "~": r"\~{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
    "|": r"$|$",
}


def to_markdown(grid: Grid) -> str:
    """A table as Markdown, with its title and notes."""
    lines = [f"## {grid.title}", ""]
    lines += [_piped(grid.header), _piped(("---",) * len(grid.header))]
    lines += [_piped(row) for row in grid.rows]
    lines += ["", *(f"- {note}" for note in grid.notes)]
    return "\n".join(lines) + "\n"


def _piped(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def to_latex(grid: Grid) -> str:
    """A table as LaTeX, in an environment of its own."""
    rows = [" & ".join(map(_tex, row)) + r" \\" for row in (grid.header, *grid.rows)]
    rows.insert(1, r"\hline")
    notes = r" \\ ".join(_tex(note) for note in grid.notes)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(grid.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(grid.header) - 1)}}}",
        r"\hline",
        *rows,
        r"\hline",
        r"\end{tabular}",
        rf"\par\footnotesize {notes}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def to_html(grid: Grid) -> str:
    """A table as a piece of a page."""
    notes = "".join(f"<li>{prose(note)}</li>" for note in grid.notes)
    drawn = table(grid.header, grid.rows, cell=_html_cell, label=grid.title)
    return f"{drawn}<ul class='small'>{notes}</ul>\n"


def _html_cell(content: str) -> str:
    """A cell; what the paper prints has a line of its own."""
    inside = text(content).replace(" (paper", "<br>(paper")
    return f"<span>{inside}</span>"
