"""Texts from anywhere, as terminals should see them."""

import re
import shlex
from collections.abc import Collection

_VALUE = r"""=\[?(?:"([^"`]*)"|'([^'`]*)'|True)\]?"""
_SETTING = re.compile(rf"`(\w+){_VALUE}`")
_BARE = re.compile(r"(?:^|(?<=\bor )|(?<=raise ))`(\w+)`")
_OTHER_NAMES = {"are_returns": "returns"}
_POSITIONAL = ("file", "ids", "model", "shell", "solution")


def one_line(text: str) -> str:
    r"""A text on one line, without characters that command a terminal.

    Examples
    --------
    >>> one_line("two\nlines \x1b[31m")
    'two lines �[31m'
    """
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def with_options(message: str, options: Collection[str]) -> str:
    """A message of the library with its settings written as options of a command.

    Parameters
    ----------
    message : str
        What the library says.
    options : collection of str
        Names of settings that the command has as options; others stay as they are.

    Examples
    --------
    >>> with_options("correct it, or use `drop=['my age']`.", ["drop"])
    "correct it, or use `--drop 'my age'`."
    >>> with_options("`max_levels` must be positive.", ["max_levels"])
    '`--max-levels` must be positive.'
    """

    def spoken(match: re.Match[str]) -> str:
        name = _OTHER_NAMES.get(match[1], match[1])
        if name not in options or name in _POSITIONAL:
            return match[0]
        values = [value for value in match.groups()[1:] if value is not None]
        return f"`{shlex.join([f'--{name}'.replace('_', '-'), *values])}`"

    return _BARE.sub(spoken, _SETTING.sub(spoken, message))
