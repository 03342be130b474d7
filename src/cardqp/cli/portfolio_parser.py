"""The parser of ``cardqp portfolio``; nothing heavy is loaded."""

import argparse

from cardqp.cli.arguments import (
    DATA,
    Commands,
    add_escape_formulas,
    add_json,
    add_limits,
    add_text_options,
    add_threads,
)


def add_portfolio(commands: Commands) -> None:
    """``cardqp portfolio``."""
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
    output.add_argument(
        "--report",
        metavar="HTML",
        help="where to write a page: weights, shares of the risk, what is proved, and "
        "a frontier beside that of any number of assets",
    )
    output.add_argument("--save", metavar="CSV", help="where to write the weights")
    add_escape_formulas(output)
