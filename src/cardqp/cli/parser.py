"""The parsers of all commands; nothing heavy is loaded."""

import argparse

from cardqp import __version__
from cardqp.cli import data_parser
from cardqp.cli.arguments import (
    Commands,
    OneLineParser,
    add_data,
    add_json,
    add_limits,
    add_solver_options,
    add_threads,
)
from cardqp.cli.codes import EXIT_CODES


def build_parser() -> OneLineParser:
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
    data_parser.add_commands(commands)
    _add_solve(commands)
    _add_verify(commands)
    _add_backends(commands)
    _add_reproduce(commands)
    return parser


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser(
        "demo",
        help="choose 10 of 64 features of the diabetes data, with proof, and write the "
        "page about it",
    )
    demo.add_argument(
        "--output",
        default="cardqp-demo.html",
        metavar="HTML",
        help="where to write the page (default: %(default)s)",
    )
    demo.add_argument(
        "--table", metavar="CSV", help="where to write the data, to try `cardqp fit`"
    )
    demo.add_argument(
        "--open", action="store_true", help="open the page in the browser"
    )
    add_limits(demo)
    add_json(demo)


def _add_solve(commands: Commands) -> None:
    solve = commands.add_parser("solve", help="solve a problem from a file")
    solve.add_argument("file", help=".npz problem; for tables there is `fit`")
    add_data(solve)
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
    add_solver_options(solve)
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
    verify.add_argument(
        "--gap",
        type=float,
        metavar="GAP",
        help="the relative gap that must be proved (default: the one in the file)",
    )
    verify.add_argument(
        "--exact",
        action="store_true",
        help="by cardqp-check, which uses nothing of cardqp, in rigorous arithmetic",
    )
    add_data(verify)
    add_threads(verify)


def _add_backends(commands: Commands) -> None:
    backends = commands.add_parser(
        "backends", help="list other solvers: which are installed, what they support"
    )
    add_json(backends)


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
        "--scheduler",
        metavar="ADDRESS",
        help="a Dask scheduler whose workers do the work, such as tcp://host:8786",
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
