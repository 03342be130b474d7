"""Files of text, cut between records."""

import gzip
import re
from pathlib import Path
from typing import BinaryIO, cast

_GZIP = b"\x1f\x8b"


def opened(path: Path) -> BinaryIO:
    """A file, unpacked if its first bytes say that it is packed by gzip."""
    stream = path.open("rb")
    if stream.read(len(_GZIP)) == _GZIP:
        stream.close()
        return cast(BinaryIO, gzip.open(path, "rb"))
    stream.seek(0)
    return stream


def quoted_cell(*marks: str) -> re.Pattern[bytes]:
    """A cell in quotes after one of some delimiters; the group is its last quote.

    Quotes within a cell that does not start with one are characters like others.
    """
    before = b"|".join(re.escape(mark.encode()) for mark in marks)
    return re.compile(rb'(?:^|[\r\n]|%b) *"[^"]*(?:""[^"]*)*("?)' % before)


def whole_lines(
    stream: BinaryIO, size: int, quoted: re.Pattern[bytes]
) -> tuple[bytes, int]:
    """At least so many bytes that end with a line, and not within quotes.

    The pattern of cells in quotes is what :func:`quoted_cell` gives.

    Returns
    -------
    text : bytes
        Empty at the end of the file.
    open_at : int
        Where the cell begins whose last quote is missing up to the end of the file; -1
        if there is none.
    """
    text = stream.read(size) + stream.readline()
    start = _open_at(text, 0, quoted)
    while start >= 0:
        more = [stream.readline()]
        while more[-1] and b'"' not in more[-1]:
            more.append(stream.readline())
        text += b"".join(more)
        if not more[-1]:
            break
        start = _open_at(text, start, quoted)
    return text, start


def _open_at(text: bytes, start: int, quoted: re.Pattern[bytes]) -> int:
    if b'"' not in text:
        return -1
    places = (cell.start() for cell in quoted.finditer(text, start) if not cell[1])
    return next(places, -1)
