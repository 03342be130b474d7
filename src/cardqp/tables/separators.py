"""What separates decimals and thousands in the cells of a table, as the cells show it.

Of 1.234,5 and 1,5 it is sure that commas separate decimals, of 1,234.5 and 1.5 that
points do; 1,234 alone may be either.  What is not sure of one column is taken from the
others.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from cardqp.exceptions import Phrase, Setting
from cardqp.tables.column_profile import MOST
from cardqp.tables.complaints import ColumnError, Complaints
from cardqp.tables.kinds import Distinct
from cardqp.tables.number_texts import GROUPED, digits_of
from cardqp.tables.phrases import listed

AUTO = "auto"

SEEN = 1000
"""Cells that show decimal points in most columns that have them."""

COMMA, POINT = ",", "."
MAYBE_COMMA, MAYBE_POINT = "?,", "?."
"""What separates decimals in a column; or the only separator, which may be either."""

_SURE = re.compile(
    rf"\d{{1,3}}(?:[.{GROUPED}]\d{{3}})+,\d+|\d{{1,3}}(?:\.\d{{3}}){{2,}}"
    r"|\d*,(?:\d{1,2}|\d{4,})|(?:0|\d{4,})?,\d+"
)
_MAYBE = re.compile(r"\d{1,3},\d{3}")
_ANY = re.compile(rf"(?:\d{{1,3}}(?:[.{GROUPED}]\d{{3}})+|\d*)(?:,\d+)?")
"""Digits with decimal commas: surely, perhaps, and all that can be read so."""

_SWAPPED = str.maketrans(",.", ".,")
_TO_POINTS = str.maketrans({",": "."} | dict.fromkeys(f".{GROUPED}"))

Reread = Callable[[Sequence[str]], Any]
"""The table again, with the cells of some columns as they are written."""


def with_points(frame: Any) -> Any:
    """A table of decimal commas, whose numbers get points where they are texts."""
    for name in _text_columns(frame):
        frame[name] = _converted(frame[name])
    return frame


def resolved(frame: Any, reread: Reread, delimiter: str) -> tuple[Any, list[str]]:
    """Find out what separates decimals, and make it points.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table that was read as if decimals had points.
    reread : callable
        Reads it again.
    delimiter : str
        What separates cells.

    Returns
    -------
    frame : pandas.DataFrame
        The table, where numbers have decimal points and may have commas otherwise.
    notes : list of str
        What was found that is not usual.
    """
    verdicts = {name: _of_texts(frame[name]) for name in _text_columns(frame)}
    if not {COMMA, MAYBE_COMMA} & set(verdicts.values()):
        return frame, []
    pairs = zip(frame.columns, frame.dtypes, strict=True)
    again = [name for name, dtype in pairs if dtype.kind == "f"]
    texts = reread(again)
    verdicts |= {name: _of_numbers(texts[name]) for name in again}
    sure = set(verdicts.values()) & {COMMA, POINT}
    columns = {
        verdict: [name for name in frame.columns if verdicts.get(name) == verdict]
        for verdict in (COMMA, MAYBE_COMMA, MAYBE_POINT)
    }
    commas, maybe, notes = columns[COMMA], columns[MAYBE_COMMA], list[str]()
    if sure == {COMMA}:
        points = columns[MAYBE_POINT]
        frame = frame.assign(**{n: texts[n] for n in points if n in again})
        commas = commas + maybe + points
    elif maybe and sure != {POINT}:
        if delimiter != COMMA:
            _refuse(frame, maybe)
        notes.append(
            _note("commas separate thousands in {}; {} reads decimals", maybe, COMMA)
        )
    commas = [name for name in frame.columns if name in set(commas)]
    for name in commas:
        frame[name] = _converted(frame[name])
    if commas:
        notes.append(
            _note("commas separate decimals in {}; {} reads thousands", commas, POINT)
        )
    return frame, notes


def _note(words: str, names: Sequence[str], other: str) -> str:
    """A sentence on some columns, and the setting by which they are read otherwise."""
    return Phrase(words, listed(names), Setting("decimal", other))


def _text_columns(frame: Any) -> list[str]:
    pairs = zip(frame.columns, frame.dtypes, strict=True)
    return [name for name, dtype in pairs if dtype.kind == "O"]


def _of_texts(series: Any) -> str:
    """The verdict on a column of texts; empty if most are no numbers."""
    cells = [str(cell).strip() for cell in Distinct.of(series).cells]
    spans = [digits_of(cell) for cell in cells]
    if sum(span is not None for span in spans) <= MOST * len(cells):
        return ""
    pairs = zip(cells, spans, strict=True)
    digits = [cell[slice(*span)] for cell, span in pairs if span is not None]
    # Exchanging both marks makes a rule for points of one for commas.
    other = [text.translate(_SWAPPED) for text in digits]
    is_comma = any(map(_SURE.fullmatch, digits))
    is_point = any(map(_SURE.fullmatch, other))
    if is_comma or is_point:
        return "" if is_comma and is_point else COMMA if is_comma else POINT
    if any(map(_MAYBE.fullmatch, digits)):
        return MAYBE_COMMA
    return MAYBE_POINT if any(map(_MAYBE.fullmatch, other)) else ""


def _of_numbers(series: Any) -> str:
    """The verdict on the texts of a column that can be read with decimal points."""
    found = _of_texts(series.head(SEEN))
    return found if found == POINT else _of_texts(series)


def _refuse(frame: Any, names: Sequence[str]) -> None:
    """Complain of columns whose commas may separate thousands or decimals."""
    complaints = Complaints()
    for name in names:
        cell = frame[name][_contain(frame[name], COMMA)].iloc[0]
        with complaints.kept():
            raise ColumnError(
                name,
                "must show what its commas separate",
                given=f"{str(cell)[:40]!r} may have decimals or thousands",
                remedy=Phrase(
                    "use {} for decimals, {} for thousands",
                    Setting("decimal", COMMA),
                    Setting("decimal", POINT),
                ),
                fix=[Setting("decimal", COMMA)],
            )
    complaints.check()


def _contain(series: Any, mark: str) -> Any:
    """Which cells of a column contain a mark."""
    return series.astype(str).str.contains(mark, regex=False)


def _converted(series: Any) -> Any:
    """A column with decimal points where cells are numbers with decimal commas."""
    found = Distinct.of(series)
    texts = [_pointed(cell) for cell in found.cells]
    values: list[Any] = texts
    try:
        values = [float(text) for text in texts]
    except (TypeError, ValueError):
        values = texts
    cells = dict(zip(found.cells, values, strict=True))
    return series.map(cells)


def _pointed(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    span = digits_of(text)
    if span is None or not _ANY.fullmatch(text, *span):
        return cell
    start, end = span
    return text[:start] + text[start:end].translate(_TO_POINTS) + text[end:]
