"""``cardqp portfolio``: few assets, from a table of prices or returns."""

import argparse
import sys
from typing import Any, cast

from cardqp import storage
from cardqp.bounds.gap import finite
from cardqp.cli.codes import SOLVED, STOPPED_EARLY
from cardqp.cli.outputs import check_outputs, check_picture, print_json, write_rows
from cardqp.cli.progress import ProgressLine
from cardqp.cli.solution_text import exit_code
from cardqp.cli.text_table import read_file
from cardqp.exceptions import ParameterError
from cardqp.models.efficient_frontier import Frontier, frontier
from cardqp.models.portfolio import Portfolio, PortfolioSolution
from cardqp.models.validation import look_like_prices
from cardqp.solution.trace import Trace
from cardqp.tables.prices import Returns, read_returns


def portfolio(options: argparse.Namespace) -> int:
    """``cardqp portfolio FILE``."""
    _check(options)
    returns = read_returns(read_file(options), are_returns=options.returns)
    if options.returns and look_like_prices(returns.values):
        raise ParameterError(
            "--returns",
            "is for a table of returns, such as 0.01 for 1 %",
            given="this one looks like prices",
            remedy="leave it out",
        )
    model = _model(returns, options)
    curve = answer = None
    with ProgressLine(sys.stderr, quiet=options.json) as progress:
        watcher = progress if progress.active else None
        trace = Trace(then=watcher)
        settings: dict[str, Any] = {
            "gap": options.gap,
            "time_limit": options.time_limit,
            "threads": options.threads,
        }
        if options.frontier is not None:
            curve = frontier(model, options.frontier, callback=watcher, **settings)
        if curve is None or options.report is not None:
            answer = model.solve(callback=trace, **settings)
            trace.close(answer.solution)
    if options.report is not None and answer is not None:
        from cardqp.cli.portfolio_report import page_about

        page = page_about(answer, trace, returns, curve, options)
        storage.write_text(options.report, page)
    if curve is not None:
        code = _finish_frontier(curve, returns, options)
    else:
        code = _finish(cast(PortfolioSolution, answer), returns, options)
    if options.report is not None and not options.json:
        print(f"\nReport written to {options.report}")
    return code


def _check(options: argparse.Namespace) -> None:
    """Complain before the work rather than after it."""
    outputs = {"--save": options.save, "--report": options.report}
    check_outputs([options.file], outputs)
    if options.frontier is None:
        if options.plot is not None:
            raise ParameterError(
                "--plot",
                "draws a frontier",
                remedy="say how many points by `--frontier`",
            )
        return
    if options.plot is not None:
        check_picture("--plot", options.plot)
    for name in ("risk_aversion", "target_return"):
        if getattr(options, name) is not None:
            raise ParameterError(
                f"--{name.replace('_', '-')}",
                "is for one portfolio",
                given="`--frontier` sets target returns itself",
                remedy="leave one out",
            )


def _model(returns: Returns, options: argparse.Namespace) -> Portfolio:
    return Portfolio(
        returns=returns.values,
        names=returns.names,
        max_assets=options.max_assets,
        risk_aversion=options.risk_aversion,
        target_return=options.target_return,
        minimum_position=options.min_weight,
        maximum_position=options.max_weight,
        long_only=not options.short,
        ridge=options.ridge,
    )


def _finish(
    answer: PortfolioSolution, returns: Returns, options: argparse.Namespace
) -> int:
    held = answer.named()
    if options.save is not None and held:
        escape = options.escape_formulas
        write_rows(options.save, ["asset", "weight"], held.items(), escape=escape)
    if options.json:
        print_json(_figures(answer) | _size(returns) | {"weights": held})
        return exit_code(answer.solution)
    print(f"{_words(returns)}\n\n{answer}")
    if not answer.solution.has_gap:
        print(f"\nadvice: {answer.solution.advice}")
    if options.save is not None and held:
        print(f"\nWeights written to {options.save}")
    return exit_code(answer.solution)


def _finish_frontier(
    curve: Frontier, returns: Returns, options: argparse.Namespace
) -> int:
    if options.plot is not None:
        curve.plot(options.plot)
    if options.save is not None:
        _write_frontier(curve, options.save, options.escape_formulas)
    if options.json:
        points = [
            {"target": target, **_figures(point), "weights": point.named()}
            for target, point in zip(curve.targets, curve.points, strict=True)
        ]
        print_json(_size(returns) | {"points": points})
    else:
        print(f"{_words(returns)}\n\n{curve}")
        for path, what in ((options.plot, "drawn"), (options.save, "written")):
            if path is not None:
                print(f"\nFrontier {what} to {path}")
    is_open = any(exit_code(point.solution) == STOPPED_EARLY for point in curve.points)
    return STOPPED_EARLY if is_open or len(curve) < options.frontier else SOLVED


def _write_frontier(curve: Frontier, path: str, escape: bool) -> None:
    """One line per point; a column for each asset that is held at some point."""
    columns = curve.to_dict()
    weights = [point.named() for point in curve.points]
    assets = list(dict.fromkeys(name for held in weights for name in held))
    table = zip(*columns.values(), strict=True)
    rows = [
        [*figures, *(held.get(name, 0.0) for name in assets)]
        for figures, held in zip(table, weights, strict=True)
    ]
    write_rows(path, [*columns, *assets], rows, escape=escape)


def _figures(answer: PortfolioSolution) -> dict[str, Any]:
    names = (
        *("risk", "variance", "expected_return"),
        *("objective", "lower_bound", "gap"),
    )
    return {
        "status": answer.status.name,
        **({"reason": reason} if (reason := answer.reason) else {}),
        **{name: finite(getattr(answer, name)) for name in names},
        "seconds": answer.solution.seconds,
    }


def _size(returns: Returns) -> dict[str, int]:
    periods, assets = returns.values.shape
    return {"n_periods": periods, "n_assets": assets}


def _words(returns: Returns) -> str:
    periods, assets = returns.values.shape
    return f"{assets} assets, {periods} periods; risk and return are per period"
