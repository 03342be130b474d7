"""The lines of a text: how many cells they have, and which are left out."""

import csv
import io
from collections.abc import Collection, Iterator
from typing import NoReturn

from cardqp.exceptions import DataError, Phrase, Setting
from cardqp.tables.header import broken, records

FEW, SHARE, MANY = 5, 0.05, 50
"""Odd lines that may be left out: so many, or a share of all that is not too many."""


def without_lines(text: str, numbers: Collection[int]) -> str:
    """A text where some lines, counted from 1, are blank."""
    if not numbers:
        return text
    gone, lines = set(numbers), text.splitlines(keepends=True)
    return "".join("\n" if k in gone else line for k, line in enumerate(lines, start=1))


def without_empty_end(text: str, mark: str) -> str:
    """A text without last lines that have no cell, as spreadsheets write them."""
    end = len(text)
    while end:
        start = max(text.rfind("\n", 0, end - 1), text.rfind("\r", 0, end - 1)) + 1
        if text[start:end].strip(f"{mark} \r\n"):
            break
        end = start
    return text[:end]


class Lines:
    """The lines from where a text stands to its end, cut into cells.

    Parameters
    ----------
    rows : StringIO
        The text.
    mark : str
        What separates cells.
    """

    def __init__(self, rows: io.StringIO, mark: str) -> None:
        self._rows, self._mark, self._start = rows, mark, rows.tell()
        # Numbers of cells but one; quotation marks may be around marks.
        self._seen = {-1 if '"' in text else text.count(mark) for text in rows}

    def are_all(self, width: int) -> bool:
        """Whether all lines have so many cells, and there are some."""
        if -1 not in self._seen and not self._seen & {0, width - 1}:
            return False
        return self._seen == {width - 1} or {n for _, n in self._widths()} == {width}

    def end_empty(self) -> bool:
        """Whether the last cell of all lines is empty."""
        self._rows.seek(self._start)
        return all(row[-1] == "" for _, row in records(self._rows, self._mark))

    def check(self, width: int, label: str, line: int) -> bool:
        """Whether there are lines; those of another width are refused.

        pandas would fill in, or leave out, what is missing or too much.

        Parameters
        ----------
        width : int
            How many cells the header has.
        label : str
            How messages call the text.
        line : int
            How many lines are before these.
        """
        if self._seen == {width - 1} and width > 1:
            return True
        odd, count, last = list[tuple[range, int]](), 0, line
        try:
            for number, found in self._widths():
                count, first, last = count + 1, last + 1, line + number
                if found != width:
                    odd.append((range(first, last + 1), found))
        except csv.Error as err:
            raise broken(label, err) from err
        if odd:
            _refuse(odd, width, label, most=max(FEW, min(SHARE * count, MANY)))
        return count > 0

    def _widths(self) -> Iterator[tuple[int, int]]:
        """Numbers of last lines, and of cells, of all records that are not blank."""
        self._rows.seek(self._start)
        if -1 in self._seen:
            yield from ((k, len(row)) for k, row in records(self._rows, self._mark))
            return
        blank = " \r\n" if self._mark == "\t" else None
        for number, line in enumerate(self._rows, start=1):
            if line.strip(blank):
                yield number, line.count(self._mark) + 1


def _refuse(
    odd: list[tuple[range, int]], width: int, label: str, most: float
) -> NoReturn:
    """Complain of lines with another number of cells than the header.

    Not more than ``most`` of them may be left out: if a quotation mark is not closed,
    all that follows is one cell.
    """
    (lines, found), more = odd[0], ""
    if len(odd) > 1:
        more = f" (and {len(odd) - 1} more such lines)"
    skip = Setting("skip_lines", [k for lines, _ in odd for k in lines])
    is_few = len(skip.value) <= most
    remedy = "look for a quotation mark that is not closed, or for another delimiter"
    raise DataError(
        None,
        f"{label} must have {width} cells in each line, as in the first",
        given=f"line {lines[-1]} has {found}{more}",
        remedy=Phrase("correct or remove it, or use {}", skip) if is_few else remedy,
        fix=[skip] if is_few else [],
    )
