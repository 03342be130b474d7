"""``cardqp completion``: scripts for shells, made from the parsers."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from cardqp.cli.codes import SOLVED
from cardqp.cli.parser import build_parser

FILES = ("CSV", "DIR", "FILE", "HTML", "JSON", "NPZ", "PNG")
"""Names of the values of options that want files."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option, or an argument that has no name, of a command.

    Attributes
    ----------
    names : tuple of str
        Such as ``-s`` and ``--sparsity``; empty for arguments.
    help : str
        What it is for.
    takes_value : bool
        Whether a value follows.
    choices : tuple of str
        All values, if they are few.
    is_file : bool
        Whether the value is the name of a file.
    """

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]
    is_file: bool


@dataclass(frozen=True, slots=True)
class Command:
    """A command with all that may follow it."""

    name: str
    help: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """All names of options."""
        return tuple(name for option in self.options for name in option.names)


def complete(options: argparse.Namespace) -> int:
    """``cardqp completion SHELL``."""
    scripts = {"bash": bash, "zsh": zsh, "fish": fish}
    print(scripts[options.shell](list_commands()))
    return SOLVED


def list_commands() -> list[Command]:
    """All commands of the parser."""
    actions = build_parser()._actions
    found = next(a for a in actions if isinstance(a, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in found._choices_actions}
    return [
        Command(
            name,
            helps[name],
            tuple(_option(a) for a in parser._actions if a.option_strings),
            tuple(_option(a) for a in parser._actions if not a.option_strings),
        )
        for name, parser in found.choices.items()
    ]


def _option(action: argparse.Action) -> Option:
    is_argument = not action.option_strings
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    choices = tuple(str(choice) for choice in action.choices or ())
    return Option(
        tuple(action.option_strings),
        (action.help or "") % vars(action),
        action.nargs != 0,
        choices,
        not choices and (metavar in FILES or (is_argument and not metavar)),
    )


def bash(commands: list[Command]) -> str:
    """The script for bash."""
    names = " ".join(command.name for command in commands)
    values = "\n".join(line for c in commands for line in _bash_values(c))
    words = "\n".join(line for c in commands for line in _bash_words(c))
    return f"""\
_cardqp_files() {{
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$1"))
}}
_cardqp() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" words=""
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "{names} --help --version" -- "$cur"))
        return
    fi
    case "$command $prev" in
{values}
    esac
    case "$command" in
{words}
    esac
    if [[ $cur != -* && -z $words ]]; then
        _cardqp_files "$cur"
    else
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}}
complete -o filenames -F _cardqp cardqp"""


def _bash_values(command: Command) -> Iterator[str]:
    for option in command.options:
        if not option.takes_value:
            continue
        patterns = "|".join(f'"{command.name} {name}"' for name in option.names)
        action = ":"
        if option.choices:
            found = f'compgen -W "{" ".join(option.choices)}" -- "$cur"'
            action = f"COMPREPLY=($({found}))"
        elif option.is_file:
            action = '_cardqp_files "$cur"'
        yield f"        {patterns}) {action}; return ;;"


def _bash_words(command: Command) -> Iterator[str]:
    given = " ".join(choice for a in command.arguments for choice in a.choices)
    words = " ".join(command.words)
    yield (
        f'        {command.name}) [[ $cur == -* ]] && words="{words}" || '
        f'words="{given}" ;;'
    )


def zsh(commands: list[Command]) -> str:
    """The script for zsh."""
    names = "\n".join(f"        {_quoted(f'{c.name}:{c.help}')}" for c in commands)
    cases = "\n".join(_zsh_case(command) for command in commands)
    return f"""\
#compdef cardqp
_cardqp() {{
    local -a commands
    commands=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
compdef _cardqp cardqp"""


def _zsh_case(command: Command) -> str:
    specs = [
        _quoted(f"{name}[{_plain(option.help)}]{_zsh_value(option)}")
        for option in command.options
        for name in option.names
    ]
    specs += [_quoted(f"*{_zsh_value(argument)}") for argument in command.arguments]
    joined = " \\\n                ".join(specs)
    return f"        {command.name})\n            _arguments {joined} ;;"


def _zsh_value(option: Option) -> str:
    if not option.takes_value:
        return ""
    if option.choices:
        return f":value:({' '.join(option.choices)})"
    return ":file:_files" if option.is_file else ":value:"


def fish(commands: list[Command]) -> str:
    """The script for fish."""
    lines = ["complete -c cardqp -f"]
    for command in commands:
        lines.append(
            "complete -c cardqp -n __fish_use_subcommand "
            f"-a {command.name} -d {_quoted(command.help)}"
        )
        seen = f"complete -c cardqp -n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"{seen}{_fish_option(option)}" for option in command.options]
        lines += [
            f"{seen}{_fish_value(a)}" for a in command.arguments if _fish_value(a)
        ]
    return "\n".join(lines)


def _fish_option(option: Option) -> str:
    names = (
        f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
        for name in option.names
    )
    value = _fish_value(option) or " -x" if option.takes_value else ""
    return f"{''.join(names)}{value} -d {_quoted(_plain(option.help))}"


def _fish_value(option: Option) -> str:
    if option.choices:
        return f" -x -a {_quoted(' '.join(option.choices))}"
    return " -r -F" if option.is_file else ""


def _plain(text: str) -> str:
    """Without what has a meaning in the descriptions of zsh."""
    return text.replace("[", "(").replace("]", ")").replace(":", "")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
