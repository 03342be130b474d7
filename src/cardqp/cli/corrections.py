"""What is wrong with a table, all of it, and the command that would work instead.

Complaints come with settings that answer them.  These are tried out, which may bring up
more complaints, until the table can be used: a command that is shown was seen to work.
"""

import argparse
import shlex
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial

from cardqp.cli.encoding import encoder_of, included_features
from cardqp.cli.feature_blocks import feature_blocks
from cardqp.cli.messages import as_option, error_text, one_line
from cardqp.cli.text_table import read_file
from cardqp.exceptions import InputError, Setting, Spell
from cardqp.tables import ModelFile
from cardqp.tables.complaints import ColumnError, TableError
from cardqp.tables.prices import read_returns

ROUNDS = 5
"""How often settings are tried out."""

ALIKE = 4
"""So many columns of one complaint are listed."""

WIDTH = 24
"""Letters of a name that are shown."""


class Correction:
    """Complaints about a table, and options that answer them.

    Parameters
    ----------
    error : InputError
        What the command ended with.
    options : argparse.Namespace
        Those of the command.

    Attributes
    ----------
    errors : list of InputError
        All that is wrong.
    words : list of str or None
        A command that works, or that may if the table is gone, as standard input is
        once it was read; None if none is known.
    """

    def __init__(self, error: InputError, options: argparse.Namespace) -> None:
        self.errors: list[InputError] = []
        self.words: list[str] | None = None
        self._given, self._options = options, deepcopy(options)
        self._is_gone, self._n_first = options.file == "-", len(_parts(error))
        self._try(error)

    def _try(self, error: InputError) -> None:
        for _ in range(ROUNDS):
            known, parts = {str(each) for each in self.errors}, _parts(error)
            self.errors += [each for each in parts if str(each) not in known]
            fixes = [_answers(each, self._options) for each in parts]
            if not all(fixes) or not self._apply([f for some in fixes for f in some]):
                break
            try:
                if not self._is_gone:
                    _CHECKS[self._options.command](self._options)
            except InputError as err:
                error = err
            else:
                self.words = self._command()
                return
        # Without an answer, complaints of what was tried out lead astray.
        self.errors = self.errors[: self._n_first]

    def _apply(self, fixes: Sequence[Setting]) -> bool:
        """Change options; False if that changes nothing."""
        before = deepcopy(vars(self._options))
        # Whether rows with missing cells are left out depends on how many they are in
        # the end: that comes last.
        others = [setting for setting in fixes if setting.name != "missing"]
        for setting in others or fixes:
            name, value = setting.name, setting.value
            old = getattr(self._options, name)
            if isinstance(value, list):
                value = list(dict.fromkeys([*old, *value]))
            elif name == "missing" and old == "mean":
                value = old  # which leaves out rows without a target, too
            setattr(self._options, name, value)
        return vars(self._options) != before

    def _command(self) -> list[str]:
        """The words of the command with options that were changed at their end."""
        words, more = shlex.split(self._given.words), []
        for name, value in vars(self._options).items():
            old = getattr(self._given, name)
            if value == old:
                continue
            if isinstance(value, list):
                value = [each for each in value if each not in old]
            else:
                words = _without(words, f"--{name.replace('_', '-')}")
            more += shlex.split(as_option(Setting(name, value), vars(self._options)))
        return [*words, *more]

    def __str__(self) -> str:
        """The complaints, one in each line, and the command."""
        options = vars(self._given)
        if len(self.errors) == 1:
            lines = [one_line(error_text(self.errors[0], options))]
        else:
            lines = [self._title(), *_listed(self.errors, self._given)]
        command = "" if self.words is None else shlex.join(self.words)
        # A command with characters that terminals must not see cannot be shown.
        if command and command == one_line(command):
            lines += ["Try:" if self._is_gone else "This works:", f"  {command}"]
        return "\n".join(lines)

    def _title(self) -> str:
        name = "standard input" if self._is_gone else self._given.file
        return one_line(f"{len(self.errors)} complaints about {name}")


def _parts(error: InputError) -> Sequence[InputError]:
    return error.errors if isinstance(error, TableError) else [error]


def _without(words: Sequence[str], option: str) -> list[str]:
    """Words without an option and its value."""
    kept, is_value = list[str](), False
    for word in words:
        if not is_value and word != option and not word.startswith(f"{option}="):
            kept.append(word)
        is_value = word == option
    return kept


def _answers(error: InputError, options: argparse.Namespace) -> list[Setting]:
    """The settings that answer an error, if the command has them."""
    target = getattr(options, "target", None)
    return [
        setting
        for setting in error.fix
        if hasattr(options, setting.name)
        and not (setting.name == "drop" and target in setting.value)
    ]


def _listed(errors: Sequence[InputError], options: argparse.Namespace) -> list[str]:
    """A line for each error, but one for the rest of many that are alike."""
    known = vars(options)
    spell: Spell = partial(as_option, options=known)
    rows, alike = list[tuple[str, str]](), dict[tuple[str, ...], int]()
    for error in errors:
        subject, said, key = "(file)", error_text(error, known), tuple[str, ...]()
        if isinstance(error, ColumnError) and error.said is not None:
            fix = ", ".join(map(spell, _answers(error, options)))
            subject, key = _cut(one_line(error.column)), (error.said, fix)
            said = f"{error.said}: {error.given}{fix and f' -> {fix}'}"
        alike[key] = alike.get(key, 0) + bool(key)
        if alike[key] <= ALIKE:
            rows.append((subject, said))
    rows += [
        ("...", f"{key[0]}: {number - ALIKE} other columns -> {key[1]}")
        for key, number in alike.items()
        if number > ALIKE
    ]
    width = max(len(subject) for subject, _ in rows)
    return [f"  {subject:{width}}  {one_line(said)}" for subject, said in rows]


def _cut(name: str) -> str:
    return name if len(name) <= WIDTH else f"{name[: WIDTH - 3]}..."


def _check_table(options: argparse.Namespace) -> None:
    """Read and encode a table to fit to."""
    frame = read_file(options)
    encoder = encoder_of(frame, options)
    encoder.apply(frame)
    included_features(encoder, options.always_include)
    feature_blocks(encoder, options.blocks)


def _check_new_table(options: argparse.Namespace) -> None:
    """Read a table, and predict from it."""
    model = ModelFile.load(options.model)
    if options.missing is not None:
        model = model.with_policy(options.missing)
    model.evaluate(read_file(options, least_columns=1))


def _check_prices(options: argparse.Namespace) -> None:
    read_returns(read_file(options), are_returns=options.returns)


_CHECKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "fit": _check_table,
    "portfolio": _check_prices,
    "predict": _check_new_table,
    "select": _check_table,
    "subsets": _check_table,
}
"""How a command uses its table, up to where the work begins."""
