"""Everything cardqp raises on purpose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self, overload


@dataclass(frozen=True)
class Setting:
    """A setting that a message speaks of.

    Parameters
    ----------
    name : str
        Its name in Python.
    value : object, optional
        What the message suggests; None where it only names the setting.

    Examples
    --------
    >>> print(Setting("max_levels"))
    max_levels
    >>> print(Setting("drop", ["my age"]))
    drop=['my age']
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        """The setting as written in Python: its name, or ``name=value``."""
        return self.name if self.value is None else f"{self.name}={self.value!r}"


Spell = Callable[[Setting], str]
"""How a setting is written: ``str`` in Python, otherwise for a command line."""


class Phrase(str):
    """A text that speaks of settings.

    As a text it has them as they are written in Python; ``spelled`` writes them
    otherwise.

    Parameters
    ----------
    template : str
        The text with ``{}`` for each of the parts.
    *parts : object
        Settings, which are set in backticks, or what is shown as it is.

    Examples
    --------
    >>> Phrase("correct it, or use {}", Setting("drop", ["my age"]))
    "correct it, or use `drop=['my age']`"
    """

    __slots__ = ("parts", "template")
    template: str
    parts: tuple[object, ...]

    def __new__(cls, template: str, *parts: object) -> Self:
        """The text as it is in Python."""
        phrase = super().__new__(cls, _filled(template, parts, str))
        phrase.template, phrase.parts = template, parts
        return phrase

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Arguments from which pickle and copy rebuild the phrase."""
        return self.template, *self.parts

    def spelled(self, spell: Spell) -> str:
        """The text with settings written by a function."""
        return _filled(self.template, self.parts, spell)


class CardQPError(Exception):
    """Root of all errors raised by cardqp."""


class InputError(CardQPError):
    """Raised when an argument, a setting or data breaks a rule.

    An error is made of what there is to tell apart, ``InputError("eta", "must be
    positive", given="it is -1")``, or else of a text alone.

    Parameters
    ----------
    argument : str or None
        Name of the argument or setting; None if there is none, or if there are
        several, which the rule names then.
    rule : str
        What must hold, such as "must be symmetric".
    given : str, optional
        What was found instead, such as "its shape is (2, 3)", or why it will not do.
    remedy : str, optional
        What to do, or what one should know to decide.
    fix : sequence of Setting
        Settings with which this complaint would not be made, ready to be used; empty if
        only the user can know them, or if no setting helps.

    Attributes
    ----------
    argument, rule, given, remedy : str or None
        The parameters; all are None for a text alone.
    fix : tuple of Setting
        The same as the parameter.

    Examples
    --------
    >>> print(InputError("eta", "must be positive", given="it is -1"))
    `eta` must be positive: it is -1.
    """

    @overload
    def __init__(self, text: str, /) -> None: ...

    @overload
    def __init__(
        self,
        argument: str | None,
        rule: str,
        /,
        *,
        given: str | None = None,
        remedy: str | None = None,
        fix: Sequence[Setting] = (),
    ) -> None: ...

    def __init__(
        self,
        argument: str | None,
        rule: str | None = None,
        /,
        *,
        given: str | None = None,
        remedy: str | None = None,
        fix: Sequence[Setting] = (),
    ) -> None:
        self.argument = None if rule is None else argument
        self.rule, self.given, self.remedy = rule, given, remedy
        self.fix = tuple(fix)
        # One argument, the message: copies and pickles are made from it.
        super().__init__(argument if rule is None else self.render())

    def render(self, spell: Spell = str) -> str:
        """The message in one line.

        Parameters
        ----------
        spell : callable
            How settings are written; by default as in Python.
        """
        if self.rule is None:
            return str(self)
        said = _spelled(self.rule, spell)
        if self.argument is not None:
            said = f"`{spell(Setting(self.argument))}` {said}"
        details = [_spelled(text, spell) for text in (self.given, self.remedy) if text]
        return f"{said}: {'; '.join(details)}." if details else f"{said}."


class ProblemError(InputError, ValueError):
    """The problem's data break a rule; the message names the argument and remedy."""


class ParameterError(InputError, ValueError):
    """A setting of a method is outside its range."""


class CallError(InputError, TypeError):
    """A call names an argument that does not exist; the message says what was meant."""


class BackendError(CardQPError, RuntimeError):
    """A solver underneath failed on a subproblem."""


class BackendNotFoundError(CardQPError, ImportError):
    """An optional package is missing; the message says what to install."""


def optional(module: str, need: str, extra: str) -> Any:
    """A module that is not always installed, or an error that says how to get it.

    Parameters
    ----------
    module : str
        Its name.
    need : str
        What needs which package.
    extra : str
        The part of cardqp's dependencies that it belongs to.
    """
    try:
        return import_module(module)
    except ImportError as err:
        raise not_installed(need, extra) from err


def not_installed(need: str, extra: str) -> BackendNotFoundError:
    """The error about a missing module; see :func:`optional`."""
    return BackendNotFoundError(
        f"{need}: install it with `pip install 'cardqp[{extra}]'`."
    )


class DataError(InputError, OSError):
    """A data set is not there or its file is damaged; the message says what to do."""


class NotSolvedError(CardQPError, RuntimeError):
    """Raised by ``Solution.raise_for_status`` when optimality is not proved."""


def _spelled(text: str, spell: Spell) -> str:
    return text.spelled(spell) if isinstance(text, Phrase) else text


def _filled(template: str, parts: tuple[object, ...], spell: Spell) -> str:
    shown = (f"`{spell(p)}`" if isinstance(p, Setting) else p for p in parts)
    return template.format(*shown)
