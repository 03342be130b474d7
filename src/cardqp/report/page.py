"""Pieces of a page: text from anywhere becomes text, never markup."""

import base64
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape

from cardqp.plot.style import printable

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""The browser is told to load nothing and to run nothing."""

FEWEST_LISTED = 3
"""Pages with fewer sections have no contents."""

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1d2126; --soft: #59626c;
        --line: #d8dde3; --wash: #f4f6f8; --good: #00795a; --warn: #b84e00;
        --link: #005a94; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
       background: var(--page); overflow-wrap: anywhere;
       font: 1.0625rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; }
h1 { font-size: clamp(1.6rem, 5vw, 2.3rem); margin: .3rem 0 .8rem; }
h2 { font-size: 1.35rem; margin: 2.8rem 0 .6rem; padding-top: 1.2rem;
     border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
nav ol { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; margin: 1.4rem 0 0;
         padding: 0; list-style: none; font-size: .9375rem; }
nav li { max-width: none; }
p, li { max-width: 46rem; }
a { color: var(--link); }
code, pre { font: .9em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--wash); padding: .8rem 1rem; border-radius: .4rem;
      white-space: pre-wrap; }
.small, figcaption { color: var(--soft); font-size: .875rem; }
.scroll { overflow-x: auto; max-width: 100%; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.4;
        overflow-wrap: normal; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .75rem; border-bottom: 1px solid var(--line);
         text-align: left; vertical-align: top; }
th:first-child { padding-left: 0; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom;
           overflow-wrap: normal; }
tbody th { font-weight: 600; min-width: 6rem; max-width: 20rem; }
td { min-width: 6rem; }
.number { text-align: right; }
td.number { white-space: nowrap; min-width: 0; }
figure { margin: 1.2rem 0; }
img { display: block; width: 100%; max-width: 38rem; height: auto; }
.missing { border-left: 4px solid var(--warn); padding-left: .8rem; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #16191d; --ink: #e3e7eb; --soft: #a4aeb9; --line: #3b434c;
          --wash: #22272d; --good: #3fc79b; --warn: #ff9a55; --link: #74bdf0; }
  img { filter: invert(1) hue-rotate(180deg); }
}
@media screen and (max-width: 40rem) {
  .scroll { overflow-x: visible; }
  table, tbody, tr, tbody th, td { display: block; min-width: 0; max-width: none; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
          clip-path: inset(50%); }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line); }
  tbody th, td, td.number { display: flex; justify-content: space-between;
    gap: 1rem; padding: .1rem 0; border: 0; text-align: right; white-space: normal;
    overflow-wrap: anywhere; }
  tbody th::before, td::before { content: attr(data-label); color: var(--soft);
    font-weight: 400; text-align: left; flex: none; max-width: 50%; }
}
@media print {
  html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; }
  h2 { margin-top: 1.5rem; break-after: avoid; }
  figure, tr, pre { break-inside: avoid; }
  .scroll { overflow: visible; }
  img { max-width: 13cm; }
  a { color: inherit; text-decoration: none; }
}
"""


def text(value: str) -> str:
    """Text for a page, also inside quotes."""
    return escape(printable(value), quote=True)


def prose(value: str) -> str:
    """A sentence: what stands between backticks is set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value))


def name(value: str) -> str:
    """A name: it keeps its own direction of writing to itself."""
    return f"<bdi>{text(value)}</bdi>"


def page(title: str, parts: Sequence[str], style: str = "") -> str:
    """A whole page that needs no other file; its contents come before its sections."""
    start = next((i for i, p in enumerate(parts) if p.startswith("<section")), 0)
    parts = [*parts[:start], contents(parts), *parts[start:]]
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{text(title)}</title><style>{STYLE}{style}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def contents(parts: Sequence[str]) -> str:
    """Links to the sections of a page, if there are several."""
    found = re.findall(r"<section id='(\w+)'><h2>(.*?)</h2>", "\n".join(parts))
    if len(found) < FEWEST_LISTED:
        return ""
    links = "".join(f"<li><a href='#{key}'>{title}</a></li>" for key, title in found)
    return f"<nav aria-label='Contents'><ol>{links}</ol></nav>"


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    cell: Callable[[str], str] = name,
    label: str = "table",
) -> str:
    """A table in a box of its own, which scrolls if it is too wide.

    On a phone each row is a list, and each cell says what its column is.

    Parameters
    ----------
    header, rows
        Texts; the first of each row is its heading.
    numbers : collection of int
        Columns of numbers, which end at the same place.
    cell : callable
        Makes markup of a text.
    label : str
        What the table is, for those who do not see it.
    """

    def line(cells: Sequence[str], *, is_head: bool) -> str:
        parts = []
        for place, content in enumerate(cells):
            tag = "th" if is_head or place == 0 else "td"
            kind = " class='number'" if place in numbers else ""
            if not is_head:
                kind += f" data-label='{text(header[place])}'"
            parts.append(f"<{tag}{kind}>{cell(content)}</{tag}>")
        return f"<tr>{''.join(parts)}</tr>"

    body = "\n".join(line(row, is_head=False) for row in rows)
    return (
        f"<div class='scroll' role='region' tabindex='0' aria-label='{text(label)}'>"
        f"<table>\n<thead>{line(header, is_head=True)}</thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>\n"
    )


def picture(content: bytes, kind: str, alt: str) -> str:
    """A picture as part of the page; ``kind`` is ``png`` or ``svg+xml``."""
    data = base64.b64encode(content).decode()
    return f"<img alt='{text(alt)}' src='data:image/{kind};base64,{data}'>"


def made_with(versions: Mapping[str, str]) -> str:
    """Versions as a list in words."""
    return text(", ".join(f"{key} {value}" for key, value in versions.items()))
