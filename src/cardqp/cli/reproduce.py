"""``cardqp reproduce``: the paper's evaluation, which comes with the source only."""

import argparse
import sys
from pathlib import Path

from cardqp.exceptions import BackendNotFoundError

HOME = Path(__file__).resolve().parents[3]
"""The root of the source, unless the package has been installed without it."""


def reproduce_paper(options: argparse.Namespace) -> int:
    """``cardqp reproduce``."""
    root = str(find_source())
    if root not in sys.path:
        # Processes that this one starts are given its path.
        sys.path.insert(0, root)
    from experiments.reproduce.cli import run

    return run(options)


def find_source() -> Path:
    """The root of the source: that of this very file, or else the current folder.

    Raises
    ------
    BackendNotFoundError
        When the experiments are in neither.
    """
    for root in (HOME, Path.cwd()):
        if (root / "experiments" / "reproduce" / "cli.py").is_file():
            return root
    raise BackendNotFoundError(
        "The paper's evaluation comes with the source of cardqp, not with the package "
        "that is installed: get the source and run `cardqp reproduce` in its folder."
    )
