"""The page that ``cardqp portfolio --report`` writes."""

import argparse
from datetime import date
from pathlib import Path

from cardqp._iterate import Stop
from cardqp.models.efficient_frontier import Frontier, frontier
from cardqp.models.portfolio import PortfolioSolution
from cardqp.report import PortfolioData, portfolio_report
from cardqp.report.versions import versions
from cardqp.solution.trace import Trace
from cardqp.tables.prices import Returns

N_POINTS = 10
"""Points of a frontier that is only for the page ..."""

PATIENCE = 2.0
"""... and the most seconds for each of them."""


def page_about(
    answer: PortfolioSolution,
    trace: Trace,
    returns: Returns,
    curve: Frontier | None,
    options: argparse.Namespace,
) -> str:
    """The page as text; a frontier is computed unless there is one."""
    is_wanted = answer.weights is not None
    is_wanted &= answer.solution.stop is not Stop.INTERRUPTED
    if curve is None and is_wanted:
        curve = frontier(answer.portfolio, N_POINTS, time_limit=PATIENCE)
    return portfolio_report(
        PortfolioData(
            title=f"A portfolio of at most {options.max_assets} assets",
            source="standard input" if options.file == "-" else Path(options.file).name,
            command=options.words,
            date=date.today().isoformat(),
            versions=versions(),
            answer=answer,
            n_periods=len(returns.values),
            frontier=curve,
            free_frontier=None if curve is None else without_limit(curve),
            trace=trace,
        )
    )


def without_limit(curve: Frontier) -> Frontier | None:
    """The same targets with any number of assets; None without targets."""
    if len(curve) == 0:
        return None
    anything = curve.points[0].portfolio.with_any_count()
    return frontier(anything, targets=curve.targets, time_limit=PATIENCE)
