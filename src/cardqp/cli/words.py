"""Texts from anywhere, as terminals should see them."""

import re
import shlex
from ast import literal_eval
from collections.abc import Collection

_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_SETTING = (
    rf"(?<!column )(?<!target )(?<!`)`(?P<name>\w+)=\[?(?P<value>{_TEXT}|True)\]?`"
)
_BARE = r"(?:^|(?<=\bor )|(?<=raise ))`(?P<bare>\w+)`(?!`)"
_CELL = rf"(?<!\w){_TEXT}"
# What stands in quotes is from a table, whatever it looks like.
_SPOKEN = re.compile(rf"{_SETTING}|{_BARE}|{_CELL}")
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
        given = match["name"] or match["bare"]
        name = _OTHER_NAMES.get(given, given)
        if name not in options or name in _POSITIONAL:
            return match[0]
        return f"`{_option(name, literal_eval(match['value'] or 'True'))}`"

    return _SPOKEN.sub(spoken, message)


def _option(name: str, value: str | bool) -> str:
    """An option as it is typed."""
    option = f"--{name}".replace("_", "-")
    if value is True:
        return option
    text = str(value)
    # Without the sign, a value with a dash would be taken for an option.
    is_dashed = text.startswith("-") and text != "-"
    words = [f"{option}={text}"] if is_dashed else [option, text]
    return shlex.join(words)
