"""Bytes as text: in the encoding that is named, or in the first one that fits.

Without a name these rules decide: a byte order mark, zero bytes in every other place
(UTF-16), UTF-8, the code page of Windows for Western Europe, which has letters for
nearly all bytes, and that of DOS, which has one for each.  Whatever the letters are,
delimiters and numbers come out right.
"""

import codecs
import re
from typing import NamedTuple

from cardqp.exceptions import DataError, ParameterError, Phrase, Setting

AUTO = "auto"

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # it begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DAMAGED = 0.1
"""A share of letters that may be damaged in what is UTF-8 otherwise."""

_SEEN = 1000
_ZERO = re.compile("\0")
_CONTROLS = re.compile("[\0-\10\16-\31\34-\37\177]")
"""Characters that texts of a guessed encoding do not have; what has is no text.

Form feeds, escapes, and the end-of-file of DOS may be there.
"""


class Decoded(NamedTuple):
    """A text, and a sentence on its encoding if that was guessed and is not UTF-8."""

    text: str
    note: str = ""


def decode(data: bytes, label: str, encoding: str = AUTO) -> Decoded:
    """A file as text; ``encoding`` is a name that Python knows, or ``"auto"``."""
    if encoding != AUTO:
        return Decoded(_checked(_named(data, label, encoding), label))
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")
    guessed = marked or _wide(data)
    if guessed:
        found = _checked(_named(data, label, guessed), label)
        return Decoded(found, "" if guessed == "utf-8-sig" else _note(guessed.upper()))
    try:
        return Decoded(_checked(data.decode("utf-8"), label))
    except UnicodeDecodeError as err:
        return _damaged(data, err.start) or _western(data, label)


def _damaged(data: bytes, start: int) -> Decoded | None:
    """UTF-8 with a few bytes that are not; None if they are many."""
    text = data.decode("utf-8", errors="replace")
    wrong = text.count("\N{REPLACEMENT CHARACTER}")
    if wrong > _DAMAGED * sum(not letter.isascii() for letter in text):
        return None
    line = data.count(b"\n", 0, start) + 1
    return Decoded(text, f"letters that are not UTF-8, in line {line}, were replaced")


def _western(data: bytes, label: str) -> Decoded:
    """The first code page that has letters for all bytes."""
    _checked(data.decode("latin-1"), label, never=_CONTROLS)
    try:
        text, name = data.decode("cp1252"), "Windows-1252 (Western Europe)"
    except UnicodeDecodeError:
        text, name = data.decode("cp850"), "code page 850 (Western Europe, DOS)"
    words = f"{_note(name)}, for it is not UTF-8; if letters are wrong, use {{}}"
    return Decoded(text, Phrase(words, Setting("encoding")))


def _note(name: str) -> str:
    return f"the text was read as {name}"


def _wide(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of plain text is zero."""
    head = data[:_SEEN]
    first, second = head[::2].count(0), head[1::2].count(0)
    if min(first, second) > 0 or max(first, second) < len(head) // 4 + 1:
        return ""
    return "utf-16-le" if second else "utf-16-be"


def _named(data: bytes, label: str, encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        return data.decode("utf-8-sig" if name == "utf-8" else encoding)
    except LookupError:
        raise ParameterError(
            "encoding",
            "must be an encoding that Python knows, such as cp1250, cp850 or utf-16",
            given=f"it is {encoding!r}",
            fix=[Setting("encoding", AUTO)],
        ) from None
    except UnicodeError as err:
        given = "it is not"
        if isinstance(err, UnicodeDecodeError):
            line = data.count(b"\n", 0, err.start) + 1
            given = f"line {line} has the byte 0x{data[err.start]:02x}"
        raise DataError(
            None,
            f"{label} must be {encoding} text",
            given=given,
            remedy=Phrase("use {} to guess", Setting("encoding", AUTO)),
            fix=[Setting("encoding", AUTO)],
        ) from None


def _checked(
    text: str, label: str, line: int = 0, never: re.Pattern[str] = _ZERO
) -> str:
    """A text; one with characters that it must not have is refused."""
    if found := never.search(text):
        line += text.count("\n", 0, found.start()) + 1
        what = "a zero byte" if found[0] == "\0" else f"the byte 0x{ord(found[0]):02x}"
        raise DataError(
            None,
            f"{label} must be text",
            given=f"line {line} has {what}",
            remedy="it is a binary file, or damaged",
        )
    return text


def decode_lines(data: bytes, label: str, line: int = 0) -> str:
    """Some lines of a file in UTF-8 as text; ``line`` others are before them."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(
            None,
            f"{label} must be UTF-8 text",
            given="it is UTF-16",
            remedy="save it as UTF-8",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line += data.count(b"\n", 0, err.start) + 1
        raise DataError(
            None,
            f"{label} must be UTF-8 text",
            given=f"line {line} has the byte 0x{data[err.start]:02x}",
            remedy=(
                "save it as UTF-8, or convert it, for example by `iconv -f LATIN1 -t "
                "UTF-8`"
            ),
        ) from None
    return _checked(text, label, line)
