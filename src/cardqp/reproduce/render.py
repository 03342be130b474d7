"""Tables in Markdown, LaTeX and HTML."""

from html import escape

from cardqp.reproduce.grids import Grid

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
    head = "".join(f"<th>{escape(cell)}</th>" for cell in grid.header)
    body = "\n".join(
        "<tr>" + "".join(_html_cell(i, cell) for i, cell in enumerate(row)) + "</tr>"
        for row in grid.rows
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in grid.notes)
    return (
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>\n<ul>{notes}</ul>\n"
    )


def _html_cell(place: int, text: str) -> str:
    """A cell; what the paper prints has a line of its own."""
    tag = "th" if place == 0 else "td"
    return f"<{tag}>{escape(text).replace(' (', '<br>(')}</{tag}>"
