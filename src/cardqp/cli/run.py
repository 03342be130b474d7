"""Which function runs which command; only its module is loaded."""

import argparse
from importlib import import_module

_HOME = {
    "backends": "commands.list_backends",
    "bench": "bench.bench",
    "completion": "shell_completion.complete",
    "demo": "commands.demo",
    "fit": "fit.fit",
    "portfolio": "portfolio_command.portfolio",
    "predict": "predict.predict",
    "reproduce": "reproduce.reproduce_paper",
    "select": "select.select",
    "solve": "commands.solve_file",
    "verify": "commands.verify_file",
}


def run(options: argparse.Namespace) -> int:
    """Run the chosen command and return its exit code."""
    module, function = _HOME[options.command].split(".")
    code: int = getattr(import_module(f"cardqp.cli.{module}"), function)(options)
    return code
