"""Texts from anywhere, as terminals should see them."""

import csv
import io
import shlex
from collections.abc import Collection
from functools import partial

from cardqp.exceptions import InputError, Setting

_OTHER_NAMES = {
    "are_returns": "returns",
    "maximum_position": "max_weight",
    "minimum_position": "min_weight",
}
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


def error_text(error: Exception, options: Collection[str]) -> str:
    """The message of an error with settings as options of a command.

    Parameters
    ----------
    error : Exception
        What the library, or the system, raised.
    options : collection of str
        Names of settings that the command has as options; others stay as they are.

    Examples
    --------
    >>> error = InputError("max_levels", "must be positive")
    >>> error_text(error, ["max_levels"])
    '`--max-levels` must be positive.'
    """
    if not isinstance(error, InputError):
        return str(error)
    return error.render(partial(as_option, options=options))


def as_option(setting: Setting, options: Collection[str]) -> str:
    """A setting as it is typed, if the command has it; otherwise as in Python.

    Examples
    --------
    >>> as_option(Setting("drop", ["my age"]), ["drop"])
    "--drop 'my age'"
    >>> as_option(Setting("drop", ["my age"]), [])
    "drop=['my age']"
    """
    name = _OTHER_NAMES.get(setting.name, setting.name)
    if name not in options or name in _POSITIONAL:
        return str(setting)
    option = f"--{name}".replace("_", "-")
    if setting.value is None or setting.value is True:
        return option
    text = _typed(setting.value)
    # Without the sign, a value with a dash would be taken for an option.
    is_dashed = text.startswith("-") and text != "-"
    words = [f"{option}={text}"] if is_dashed else [option, text]
    return shlex.join(words)


def _typed(value: object) -> str:
    """The value of an option; a list is separated by commas, as options read it."""
    if not isinstance(value, list):
        return str(value)
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()
