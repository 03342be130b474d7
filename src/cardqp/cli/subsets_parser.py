"""The parser of ``cardqp subsets``; nothing heavy is loaded."""

import argparse

from cardqp.cli.arguments import (
    Commands,
    add_choice,
    add_escape_formulas,
    add_json,
    add_limits,
    add_table,
)

CRITERIA = ("bic", "aic", "aicc", "ebic", "cp", "adjusted_r2", "cv")


def add_subsets(commands: Commands) -> None:
    """``cardqp subsets``."""
    subsets = commands.add_parser(
        "subsets", help="the best subsets of columns of every size, with proof"
    )
    add_table(subsets)
    search = subsets.add_argument_group("search")
    search.add_argument(
        "--max-size",
        type=int,
        default=8,
        metavar="S",
        help="the most columns of a subset (default: %(default)s)",
    )
    search.add_argument(
        "--n-best",
        type=int,
        default=3,
        metavar="N",
        help="how many subsets of each size are listed (default: %(default)s)",
    )
    search.add_argument(
        "--criterion",
        default="bic",
        choices=CRITERIA,
        help="what chooses among them; cv is the error in cross-validation, with the "
        "best subsets found anew in each fold (default: %(default)s)",
    )
    search.add_argument(
        "--cv",
        type=int,
        metavar="FOLDS",
        help="how many folds there are for --criterion cv (default: 5)",
    )
    search.add_argument(
        "--seed", type=int, default=0, help="for --cv (default: %(default)s)"
    )
    search.add_argument(
        "--intercept",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="fit an intercept (default: yes)",
    )
    add_choice(search)
    add_limits(subsets)
    add_json(subsets)
    _add_files(subsets)


def _add_files(subsets: argparse.ArgumentParser) -> None:
    files = subsets.add_argument_group("keep")
    files.add_argument(
        "-o",
        "--output",
        metavar="CSV",
        help="where to write the table; -: standard output, in place of the text",
    )
    add_escape_formulas(files)
    files.add_argument(
        "--report",
        metavar="HTML",
        help="where to write a page about the subsets: which is chosen, what is "
        "proved, coefficients with standard errors",
    )
