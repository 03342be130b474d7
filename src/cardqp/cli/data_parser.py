"""The parsers of commands for tables of data; nothing heavy is loaded."""

import argparse

from cardqp.cli.arguments import (
    DATA,
    POLICIES,
    Commands,
    Group,
    add_choice,
    add_escape_formulas,
    add_json,
    add_limits,
    add_table,
    add_text_options,
    add_threads,
    output_path,
)
from cardqp.cli.portfolio_parser import add_portfolio
from cardqp.cli.subsets_parser import add_subsets

SHELLS = ("bash", "zsh", "fish")


def add_commands(commands: Commands) -> None:
    """All commands for tables, and those about the installation."""
    _add_fit(commands)
    _add_predict(commands)
    _add_select(commands)
    add_subsets(commands)
    add_portfolio(commands)
    _add_bench(commands)
    _add_completion(commands)


def _add_fit(commands: Commands) -> None:
    fit = commands.add_parser(
        "fit", help="the linear model of a table with few features, with proof"
    )
    add_table(fit)
    _add_model(fit)
    output = fit.add_argument_group("judge and keep")
    output.add_argument(
        "--test",
        type=float,
        metavar="FRACTION",
        help="leave out such a share of the rows, and judge the model by them",
    )
    output.add_argument(
        "--alternatives",
        type=float,
        metavar="PERCENT",
        help="list other choices whose objective is at most so much larger",
    )
    output.add_argument(
        "--report",
        metavar="HTML",
        help="where to write a page about the model: what was chosen, what is proved, "
        "what else is nearly as good",
    )
    output.add_argument(
        "--model", metavar="JSON", help="where to write the model for `cardqp predict`"
    )


def _add_select(commands: Commands) -> None:
    select = commands.add_parser(
        "select", help="the columns of a table that predict another one best"
    )
    add_table(select)
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
        "-o",
        "--output",
        type=output_path,
        metavar="CSV",
        help="default, and -: standard output",
    )
    add_escape_formulas(parser)


def _add_model(parser: argparse.ArgumentParser) -> None:
    model = parser.add_argument_group("model")
    _add_size(model)
    model.add_argument(
        "--eta",
        type=_eta,
        metavar="NUMBER",
        help="the ridge is 1/eta, none for no ridge (default: auto)",
    )
    model.add_argument(
        "--no-ridge",
        action="store_true",
        help="no ridge, as --eta none: best subset selection, proved for least squares",
    )
    model.add_argument(
        "--standardize",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="scale features to unit variance for the ridge (default: no, but for "
        "--eta auto)",
    )
    model.add_argument(
        "--refit",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="fit coefficients without the ridge once features are chosen (default: "
        "no); what is proved is the choice with the ridge: see --no-ridge",
    )
    model.add_argument(
        "--positive", action="store_true", help="no negative coefficients"
    )
    add_choice(model)
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
        help="choose the size by cross-validation (5 folds if no number is given); "
        "without -s and --path sizes grow as long as larger ones are better",
    )
    model.add_argument(
        "--selection",
        default="min",
        choices=("min", "one-standard-error"),
        help="with --cv: the least error, or the smallest size within one standard "
        "error of it (default: %(default)s)",
    )
    model.add_argument(
        "--prove",
        default="final",
        choices=("final", "all"),
        help="with --cv: prove the chosen model, or the models of all folds as well, "
        "which takes long (default: %(default)s)",
    )


def _eta(text: str) -> float | str:
    return text if text in ("auto", "none") else float(text)


def _size_range(text: str) -> range:
    first, last = (int(part) for part in text.split(":"))
    if not 1 <= first <= last:
        raise ValueError
    return range(first, last + 1)


_eta.__name__, _size_range.__name__ = "auto, none or float", "range"


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
