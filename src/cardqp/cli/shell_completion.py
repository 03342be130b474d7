"""``cardqp completion``: scripts for shells, made from the parsers."""

import argparse
from argparse import Action
from collections.abc import Iterator
from dataclasses import dataclass

from cardqp.cli.codes import SOLVED
from cardqp.cli.parser import build_parser

FILES = ("CSV", "DIR", "FILE", "HTML", "JSON", "NPZ", "PNG")
"""Names of the values of options that want files."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command with all that may follow it."""

    name: str
    help: str
    actions: tuple[Action, ...]

    @property
    def options(self) -> list[Action]:
        """What has names, such as ``-s`` and ``--sparsity``."""
        return [action for action in self.actions if action.option_strings]

    @property
    def arguments(self) -> list[Action]:
        """What has no names."""
        return [action for action in self.actions if not action.option_strings]

    @property
    def words(self) -> tuple[str, ...]:
        """All names of options."""
        return tuple(name for action in self.actions for name in action.option_strings)


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
        Command(name, helps[name], tuple(parser._actions))
        for name, parser in found.choices.items()
    ]


def _choices(action: Action) -> str:
    """All values, if they are few."""
    return " ".join(str(choice) for choice in action.choices or ())


def _is_file(action: Action) -> bool:
    """Whether the value is the name of a file."""
    if action.metavar is None:
        return not action.option_strings and not action.choices
    return action.metavar in FILES


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
        if option.nargs == 0:
            continue
        names = option.option_strings
        patterns = "|".join(f'"{command.name} {name}"' for name in names)
        action = ":"
        if option.choices:
            found = f'compgen -W "{_choices(option)}" -- "$cur"'
            action = f"COMPREPLY=($({found}))"
        elif _is_file(option):
            action = '_cardqp_files "$cur"'
        yield f"        {patterns}) {action}; return ;;"


def _bash_words(command: Command) -> Iterator[str]:
    given = " ".join(filter(None, map(_choices, command.arguments)))
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
        _quoted(f"{name}[{_plain(option)}]{_zsh_value(option)}")
        for option in command.options
        for name in option.option_strings
    ]
    specs += [_quoted(f"*{_zsh_value(argument)}") for argument in command.arguments]
    joined = " \\\n                ".join(specs)
    return f"        {command.name})\n            _arguments {joined} ;;"


def _zsh_value(option: Action) -> str:
    if option.nargs == 0:
        return ""
    if option.choices:
        return f":value:({_choices(option)})"
    return ":file:_files" if _is_file(option) else ":value:"


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


def _fish_option(option: Action) -> str:
    names = (
        f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
        for name in option.option_strings
    )
    value = "" if option.nargs == 0 else _fish_value(option) or " -x"
    return f"{''.join(names)}{value} -d {_quoted(_plain(option))}"


def _fish_value(option: Action) -> str:
    if option.choices:
        return f" -x -a {_quoted(_choices(option))}"
    return " -r -F" if _is_file(option) else ""


def _plain(option: Action) -> str:
    """What it is for, without what has a meaning in the descriptions of zsh."""
    text = (option.help or "") % vars(option)
    return text.replace("[", "(").replace("]", ")").replace(":", "")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
