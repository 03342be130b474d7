"""The command ``cardqp``: arguments in, exit codes out."""

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from cardqp.cli.codes import BAD_INPUT, SOLVED, UNKNOWN
from cardqp.cli.messages import error_text, one_line
from cardqp.cli.parser import build_parser
from cardqp.exceptions import (
    BackendNotFoundError,
    CardQPError,
    InputError,
    NotSolvedError,
)

_HOME = {
    "backends": "commands.list_backends",
    "bench": "bench.bench",
    "completion": "shell_completion.complete",
    "demo": "demo.demo",
    "fit": "fit.fit",
    "portfolio": "portfolio_command.portfolio",
    "predict": "predict.predict",
    "reproduce": "reproduce.reproduce_paper",
    "select": "select.select",
    "solve": "commands.solve_file",
    "subsets": "subsets.subsets",
    "verify": "commands.verify_file",
}
"""Which function runs which command; only its module is loaded."""

_LIGHT = ("backends", "completion", "predict")
"""Commands that need nothing that is compiled."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    options = build_parser().parse_args(words)
    options.words = shlex.join(["cardqp", *words])
    try:
        return _run(options)
    except BrokenPipeError:
        # The reader went away; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOLVED
    except NotSolvedError as err:
        return _say(str(err), UNKNOWN)
    except UnicodeEncodeError as err:
        return _say(
            f"standard output must be able to hold {err.object[err.start]!a}: its "
            f"encoding is {err.encoding}; set PYTHONIOENCODING=utf-8.",
            BAD_INPUT,
        )
    except InputError as err:
        return _explain(err, options)
    except BackendNotFoundError as err:
        return _say(_all_packages(err, options), BAD_INPUT)
    except (CardQPError, OSError) as err:
        return _say(error_text(err, vars(options)), BAD_INPUT)
    except MemoryError as err:
        return _say(f"not enough memory: {err}; use fewer rows or columns", BAD_INPUT)
    except KeyboardInterrupt:
        return _say("interrupted", UNKNOWN)


def _run(options: Namespace) -> int:
    module, name = _HOME[options.command].split(".")
    function = getattr(import_module(f"cardqp.cli.{module}"), name)
    if options.command in _LIGHT:
        return int(function(options))
    from cardqp.cli.compile_notice import compile_notice

    with compile_notice():
        return int(function(options))


def _explain(error: InputError, options: Namespace) -> int:
    """Say all that is wrong with a table, and what would work."""
    if not hasattr(options, "encoding"):  # the command reads none
        return _say(error_text(error, vars(options)), BAD_INPUT)
    from cardqp.cli.corrections import Correction

    print(f"cardqp: {Correction(error, options)}", file=sys.stderr)
    return BAD_INPUT


def _all_packages(error: BackendNotFoundError, options: Namespace) -> str:
    """What to install for a command: all that tables need, not package by package."""
    if options.command != "demo" and not hasattr(options, "encoding"):
        return str(error)
    need, _, _ = str(error).partition(": install it")
    return (
        f"{need}: for all that tables and pages need run `pip install "
        "'cardqp[tables]'`, or `pip install '.[tables]'` in a clone."
    )


def _say(message: str, code: int) -> int:
    print(f"cardqp: {one_line(message)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
