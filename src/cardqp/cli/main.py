"""The command ``cardqp``: arguments in, exit codes out."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, TypeAlias

from cardqp import __version__

SOLVED, REFUTED, BAD_INPUT, STOPPED_EARLY, INFEASIBLE, UNKNOWN = 0, 1, 2, 3, 4, 5

EXIT_CODES = """\
exit codes: 0 solved, or verified; 1 not verified; 2 bad input; 3 stopped early with a
feasible point; 4 infeasible (proved); 5 stopped without a feasible point"""


METHOD_NAMES = (
    *("exact", "best-response", "dual-program", "safe-screening", "warm-start"),
    *("beck-hallak", "block-decomposition"),
)
"""The methods of ``solve``, which is not loaded before it is needed."""


Commands: TypeAlias = "argparse._SubParsersAction[OneLineParser]"


class OneLineParser(argparse.ArgumentParser):
    """A parser whose complaints fit on one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        self.exit(BAD_INPUT, f"cardqp: {message}; see `{self.prog} --help`\n")


def build_parser() -> argparse.ArgumentParser:
    """All commands and options."""
    parser = OneLineParser(
        prog="cardqp",
        description="Sparse convex quadratic programs with a proof of optimality.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"cardqp {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_demo(commands)
    _add_solve(commands)
    _add_verify(commands)
    _add_backends(commands)
    _add_reproduce(commands)
    return parser


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser(
        "demo", help="choose 10 of 65 features of the diabetes data, with proof"
    )
    demo.add_argument(
        "--output",
        default="cardqp-demo.png",
        metavar="PNG",
        help="where to draw the hierarchy (default: %(default)s)",
    )
    _add_solver_options(demo)


def _add_solve(commands: Commands) -> None:
    solve = commands.add_parser("solve", help="solve a problem from a file")
    solve.add_argument("file", help=".npz problem, or .csv table with a header line")
    table = solve.add_argument_group("tables (.csv): sparse ridge regression")
    table.add_argument("--target", metavar="COLUMN", help="the column to predict")
    table.add_argument("--eta", type=float, help="the ridge is 1/eta (default: 10)")
    table.add_argument(
        "--standardize",
        action="store_true",
        help="centre all columns and scale the features to unit variance",
    )
    solve.add_argument(
        "--sparsity", type=int, metavar="S", help="the largest number of nonzeros"
    )
    solve.add_argument(
        "--penalty", type=float, metavar="THETA", help="the price of each nonzero"
    )
    solve.add_argument(
        "--save", metavar="NPZ", help="where to store the solution and its certificate"
    )
    solve.add_argument(
        "--resume", metavar="NPZ", help="go on with a solution stored by --save"
    )
    _add_solver_options(solve)
    other = solve.add_argument_group("another solver for the search")
    other.add_argument(
        "--backend",
        metavar="NAME",
        help="scip, gurobi or cvxpy:NAME; see `cardqp backends`",
    )
    other.add_argument(
        "--formulation",
        choices=["perspective", "sos1", "indicator", "big-m"],
        help="how it switches variables off (default: perspective)",
    )


def _add_verify(commands: Commands) -> None:
    verify = commands.add_parser(
        "verify", help="replay the certificate of a stored solution"
    )
    verify.add_argument("file", help=".npz problem")
    verify.add_argument("solution", help=".npz solution, written by solve --save")
    _add_threads(verify)


def _add_backends(commands: Commands) -> None:
    backends = commands.add_parser(
        "backends", help="list other solvers: which are installed, what they support"
    )
    backends.add_argument("--json", action="store_true", help="print JSON")


def _add_reproduce(commands: Commands) -> None:
    reproduce = commands.add_parser(
        "reproduce", help="run the paper's evaluation again, table by table"
    )
    reproduce.add_argument(
        "ids",
        nargs="*",
        default=["all"],
        metavar="ID",
        help="all (default), or some of fig1 fig2 tab1 tab2 tab3 tab4 tab8 fig4 tab5 "
        "figA tab6 tab7",
    )
    reproduce.add_argument(
        "--replications",
        type=int,
        metavar="R",
        help="data sets for each cell, and twice as many splits of real data "
        "(default: as in the paper)",
    )
    reproduce.add_argument(
        "--jobs", type=int, default=1, metavar="J", help="processes (default: 1)"
    )
    reproduce.add_argument(
        "--out",
        default="reproduction",
        metavar="DIR",
        help="rows, tables, figures and report.html (default: %(default)s)",
    )
    reproduce.add_argument(
        "--data", metavar="DIR", help="folder with the UCI files (default: download)"
    )
    reproduce.add_argument(
        "--quick", action="store_true", help="small sizes, two replications"
    )


def _add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads", type=int, default=1, metavar="T", help="default: %(default)s"
    )


def _add_solver_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        default="exact",
        choices=METHOD_NAMES,
        help="default: %(default)s",
    )
    parser.add_argument("--level", type=int, metavar="K", help="eigenvectors to keep")
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
    parser.add_argument(
        "--node-limit", type=int, metavar="N", help="the most branches to look into"
    )
    _add_threads(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, nothing else")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = build_parser().parse_args(arguments)
    try:
        # Imported late so that --help and --version answer at once.
        from cardqp.cli import commands
        from cardqp.exceptions import CardQPError
    except KeyboardInterrupt:
        return _say("interrupted", UNKNOWN)
    try:
        return commands.run(options)
    except BrokenPipeError:
        # The reader went away; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOLVED
    except (CardQPError, OSError) as err:
        return _say(str(err), BAD_INPUT)
    except KeyboardInterrupt:
        return _say("interrupted", UNKNOWN)


def _say(message: str, code: int) -> int:
    print(f"cardqp: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
