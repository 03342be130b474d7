"""The parsers of commands for tables of data; nothing heavy is loaded."""

import argparse

from cardqp.cli.arguments import (
    Commands,
    Group,
    add_json,
    add_limits,
    add_text_options,
    add_threads,
    name_list,
)

POLICIES = ("error", "drop", "mean")
SHELLS = ("bash", "zsh", "fish")
DATA = ".csv, .tsv or .txt (also .gz), .parquet, or - for standard input"


def add_commands(commands: Commands) -> None:
    """All commands for tables, and those about the installation."""
    _add_fit(commands)
    _add_predict(commands)
    _add_select(commands)
    _add_portfolio(commands)
    _add_bench(commands)
    _add_completion(commands)


def _add_fit(commands: Commands) -> None:
    fit = commands.add_parser(
        "fit", help="the linear model of a table with few features, with proof"
    )
    _add_table(fit)
    _add_model(fit)
    output = fit.add_argument_group("judge and keep")
    output.add_argument(
        "--test",
        type=float,
        metavar="FRACTION",
        help="leave out such a share of the rows, and judge the model by them",
    )
    output.add_argument(
        "--model", metavar="JSON", help="where to write the model for `cardqp predict`"
    )


def _add_select(commands: Commands) -> None:
    select = commands.add_parser(
        "select", help="the columns of a table that predict another one best"
    )
    _add_table(select)
    _add_model(select)
    _add_output(select)


def _add_predict(commands: Commands) -> None:
    predict = commands.add_parser("predict", help="predict from a model and a table")
    predict.add_argument(
        "model", metavar="JSON", help="a model, written by `cardqp fit --model`"
    )
    predict.add_argument("file", help=DATA)
    _add_output(predict)
    predict.add_argument(
        "--missing",
        choices=POLICIES,
        help="what to do about missing cells: stop, predict nothing, or fill in the "
        "mean (default: as in the fit)",
    )
    add_text_options(predict.add_argument_group("text"))
    add_json(predict)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="CSV", help="default: standard output"
    )


def _add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help=DATA)
    parser.add_argument(
        "--target", required=True, metavar="COLUMN", help="the column to predict"
    )
    table = parser.add_argument_group("table (lists of names are separated by commas)")
    table.add_argument(
        "--drop",
        type=name_list,
        default=[],
        metavar="LIST",
        help="columns to leave out",
    )
    table.add_argument(
        "--only", type=name_list, metavar="LIST", help="the only columns to choose from"
    )
    table.add_argument(
        "--categorical",
        type=name_list,
        default=[],
        metavar="LIST",
        help="columns whose numbers are labels",
    )
    table.add_argument(
        "--missing",
        default="error",
        choices=POLICIES,
        help="what to do about missing cells: stop, leave out their rows, or fill in "
        "the mean (default: %(default)s)",
    )
    table.add_argument(
        "--max-levels",
        type=int,
        default=50,
        metavar="N",
        help="the most different texts in a column (default: %(default)s)",
    )
    add_text_options(table)


def _add_model(parser: argparse.ArgumentParser) -> None:
    model = parser.add_argument_group("model")
    _add_size(model)
    model.add_argument(
        "--eta",
        type=_eta,
        default="auto",
        metavar="NUMBER",
        help="the ridge is 1/eta (default: %(default)s)",
    )
    model.add_argument(
        "--standardize",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="scale features to unit variance for the ridge (default: yes)",
    )
    model.add_argument(
        "--refit", action="store_true", help="no ridge once features are chosen"
    )
    model.add_argument(
        "--positive", action="store_true", help="no negative coefficients"
    )
    model.add_argument(
        "--always-include",
        type=name_list,
        default=[],
        metavar="LIST",
        help="columns that are chosen in any case; they count",
    )
    model.add_argument(
        "--groups",
        default="auto",
        metavar="FILE",
        help="auto: all levels of a category are chosen together and count once; none: "
        'each on its own; or a .json file such as {"size": ["height", "weight"]} of '
        "columns that are, too",
    )
    model.add_argument(
        "--seed", type=int, default=0, help="for --cv and --test (default: %(default)s)"
    )
    add_limits(parser)
    add_json(parser)


def _add_size(model: Group) -> None:
    model.add_argument(
        "-s",
        "--sparsity",
        type=int,
        metavar="S",
        help="the most columns to choose; with --cv at most so many",
    )
    model.add_argument(
        "--path",
        type=_size_range,
        metavar="A:B",
        help="sizes to choose from, by EBIC or by --cv; the time limit is for each, "
        "with --cv for all",
    )
    model.add_argument(
        "--cv",
        type=int,
        nargs="?",
        const=5,
        metavar="FOLDS",
        help="choose the size by cross-validation (5 folds if no number is given)",
    )


def _eta(text: str) -> float | str:
    return text if text == "auto" else float(text)


def _size_range(text: str) -> range:
    first, last = (int(part) for part in text.split(":"))
    if not 1 <= first <= last:
        raise ValueError
    return range(first, last + 1)


_eta.__name__, _size_range.__name__ = "auto or float", "range"


def _add_portfolio(commands: Commands) -> None:
    portfolio = commands.add_parser(
        "portfolio", help="the portfolio of least risk with few assets, from prices"
    )
    portfolio.add_argument(
        "file", help=f"prices, a column per asset and a row per period: {DATA}"
    )
    portfolio.add_argument(
        "--max-assets",
        type=int,
        required=True,
        metavar="N",
        help="the most assets to hold",
    )
    portfolio.add_argument(
        "--returns", action="store_true", help="the table has returns, not prices"
    )
    _add_goal(portfolio)
    _add_positions(portfolio)
    _add_frontier(portfolio)
    add_text_options(portfolio.add_argument_group("text"))
    add_limits(portfolio)
    add_threads(portfolio)
    add_json(portfolio)


def _add_goal(portfolio: argparse.ArgumentParser) -> None:
    goal = portfolio.add_argument_group("goal (default: least variance)")
    goal.add_argument(
        "--risk-aversion",
        type=float,
        metavar="G",
        help="minimise G/2 times the variance less the expected return",
    )
    goal.add_argument(
        "--target-return",
        type=float,
        metavar="R",
        help="the least expected return per period",
    )


def _add_positions(portfolio: argparse.ArgumentParser) -> None:
    positions = portfolio.add_argument_group("positions")
    positions.add_argument(
        "--min-weight",
        type=float,
        metavar="W",
        help="assets are left out or weigh at least so much",
    )
    positions.add_argument(
        "--max-weight", type=float, metavar="W", help="the most that an asset weighs"
    )
    positions.add_argument("--short", action="store_true", help="allow short sales")
    positions.add_argument(
        "--ridge",
        type=float,
        metavar="RHO",
        help="added to every variance; tightens bounds when periods are few",
    )


def _add_frontier(portfolio: argparse.ArgumentParser) -> None:
    output = portfolio.add_argument_group("frontier and files")
    output.add_argument(
        "--frontier",
        type=int,
        metavar="N",
        help="N portfolios of least variance, by expected return",
    )
    output.add_argument(
        "--plot", metavar="PNG", help="where to draw the frontier (.png, .pdf, .svg)"
    )
    output.add_argument("--save", metavar="CSV", help="where to write the weights")


def _add_bench(commands: Commands) -> None:
    bench = commands.add_parser(
        "bench", help="solve and verify some problems, and tell how long it takes"
    )
    bench.add_argument("--quick", action="store_true", help="small problems only")
    add_threads(bench)
    add_json(bench)


def _add_completion(commands: Commands) -> None:
    completion = commands.add_parser(
        "completion", help="print a script that completes commands in a shell"
    )
    completion.add_argument(
        "shell",
        choices=SHELLS,
        help='bash: eval "$(cardqp completion bash)"; zsh: the same, after compinit; '
        "fish: cardqp completion fish | source",
    )
