"""Arguments that several commands share; nothing heavy is loaded."""

import argparse
import csv
from typing import NoReturn, TypeAlias

from cardqp.cli.codes import BAD_INPUT
from cardqp.methods import METHODS

DATA = ".csv, .tsv or .txt (also .gz), .parquet, or - for standard input"
"""Files that hold tables."""

POLICIES = ("error", "drop", "mean")
"""What can be done about missing cells."""

ORDERS = ("auto", "day-first", "month-first")
"""What can be said of dates whose year is last."""

Commands: TypeAlias = "argparse._SubParsersAction[OneLineParser]"
Group: TypeAlias = "argparse.ArgumentParser | argparse._ArgumentGroup"


class OneLineParser(argparse.ArgumentParser):
    """A parser whose complaints fit on one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        self.exit(BAD_INPUT, f"cardqp: {message}; see `{self.prog} --help`\n")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """``--threads``."""
    parser.add_argument(
        "--threads", type=int, default=1, metavar="T", help="default: %(default)s"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """``--data``."""
    parser.add_argument(
        "--data",
        metavar="NPY",
        help="where the columns are that a .npz problem refers to, if they were moved",
    )


def add_solver_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that all methods of ``solve`` share."""
    parser.add_argument(
        "--method",
        default="exact",
        choices=tuple(METHODS),
        help="default: %(default)s",
    )
    parser.add_argument("--level", type=int, metavar="K", help="eigenvectors to keep")
    add_limits(parser)
    parser.add_argument(
        "--node-limit", type=int, metavar="N", help="the most branches to process"
    )
    add_threads(parser)
    add_json(parser)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """``--gap`` and ``--time-limit``."""
    parser.add_argument(
        "--gap", type=float, default=1e-4, help="relative gap (default: %(default)s)"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="default: %(default)s",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON, nothing else")


def add_escape_formulas(parser: Group) -> None:
    """``--escape-formulas``."""
    parser.add_argument(
        "--escape-formulas",
        action="store_true",
        help="for spreadsheets: write an apostrophe before names and texts that begin "
        "with =, +, - or @, which would be run as formulas; numbers stay as they are",
    )


def add_text_options(parser: Group) -> None:
    """Add the options for cutting text into cells to a parser."""
    parser.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        help="what separates cells: one character, or tab (default: looked for)",
    )
    parser.add_argument(
        "--decimal",
        default="auto",
        choices=["auto", ".", ","],
        help="what separates decimals (default: what the cells show)",
    )
    missing = "texts that count as missing, besides NA, N/A, NaN, NULL, ? and the like"
    add_names(parser, "--missing-values", missing)
    parser.add_argument(
        "--encoding",
        default="auto",
        metavar="NAME",
        help="such as cp1250, cp850 or utf-16 (default: UTF-8, or else UTF-16 or that "
        "of Windows for Western Europe)",
    )
    parser.add_argument(
        "--skip-lines",
        action="extend",
        type=line_numbers,
        default=[],
        metavar="LIST",
        help="numbers of lines to leave out, such as 1-3,17: titles above the table",
    )


def add_table(parser: argparse.ArgumentParser) -> None:
    """The table, its target, and what of it is used."""
    parser.add_argument("file", help=DATA)
    parser.add_argument(
        "--target", required=True, metavar="COLUMN", help="the column to predict"
    )
    table = parser.add_argument_group("table (lists of names are separated by commas)")
    add_names(table, "--drop", "columns to leave out")
    table.add_argument(
        "--only", type=name_list, metavar="LIST", help="the only columns to choose from"
    )
    add_names(table, "--categorical", "columns whose numbers are labels")
    table.add_argument(
        "--missing",
        default="error",
        choices=POLICIES,
        help="what to do about missing cells: stop, leave out their rows, or fill in "
        "the mean (default: %(default)s)",
    )
    table.add_argument(
        "--max-missing",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="columns that miss a larger share of their cells are left out "
        "(default: %(default)s)",
    )
    table.add_argument(
        "--dates",
        default="auto",
        choices=ORDERS,
        help="the order in dates such as 03/04/2024 (default: what all of a column can "
        "have); dates become days since the first one",
    )
    table.add_argument(
        "--max-levels",
        type=int,
        default=50,
        metavar="N",
        help="the most different texts in a column (default: %(default)s)",
    )
    add_text_options(table)


def add_choice(model: Group) -> None:
    """Which columns are chosen in any case, or together."""
    included = "columns that are chosen in any case; they count"
    add_names(model, "--always-include", included)
    model.add_argument(
        "--blocks",
        default="auto",
        metavar="FILE",
        help="auto: all levels of a category are chosen together and count once; none: "
        'each on its own; or a .json file such as {"size": ["height", "weight"]} of '
        "columns that are, too",
    )


def add_names(parser: Group, option: str, purpose: str) -> None:
    """An option for names of columns, which may be given several times."""
    parser.add_argument(
        option,
        action="extend",
        type=name_list,
        default=[],
        metavar="LIST",
        help=purpose,
    )


def name_list(text: str) -> list[str]:
    """Names separated by commas; those with commas in quotation marks."""
    cells = next(csv.reader([text], skipinitialspace=True), [])
    return [cell.strip() for cell in cells if cell.strip()]


def line_numbers(text: str) -> list[int]:
    """Numbers from 1, separated by commas, and ranges of them.

    Examples
    --------
    >>> line_numbers("1-3,17")
    [1, 2, 3, 17]
    """
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    found = [k for part in ends for k in range(part[0], part[-1] + 1)]
    if not all(len(part) <= 2 for part in ends) or min(found, default=0) < 1:
        raise ValueError
    return found


def output_path(text: str) -> str | None:
    """A file to be written, or None for standard output."""
    return None if text == "-" else text
