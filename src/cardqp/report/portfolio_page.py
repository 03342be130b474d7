"""The page about a portfolio."""

from typing import Any

import numpy as np

from cardqp.models.efficient_frontier import Frontier
from cardqp.plot import BLUE, ORANGE, new_axes, plot_frontier
from cardqp.plot.style import GREEN, plain
from cardqp.problem import validation as check
from cardqp.report import evidence, pictures, sections
from cardqp.report.contents import PortfolioData
from cardqp.report.page import page, table, text
from cardqp.report.portfolio_sentences import (
    certificate,
    frontier_costs,
    headline,
    objective,
    percent,
)
from cardqp.report.sections import fact_list, paragraph, proof_box, section
from cardqp.report.sentences import PROVED, gap_of, plural
from cardqp.solution import Solution

MOST_BARS = 40
"""More bars cannot be told apart."""


def portfolio_report(data: PortfolioData) -> str:
    """One page of HTML that needs nothing else: no script, no file, no network.

    Parameters
    ----------
    data : PortfolioData
        What to tell.

    Returns
    -------
    str
        The page; the same data gives the same page.

    Raises
    ------
    BackendNotFoundError
        Without Matplotlib.
    """
    check.instance("data", data, PortfolioData)
    solution = data.answer.solution
    drawn = evidence.convergence(data.trace, "objective")
    return page(
        data.title,
        [
            sections.header(data, headline(data.answer)),
            _facts(data),
            proof_box(
                [objective(data.answer.portfolio), *certificate(solution)],
                is_proved=solution.status in PROVED,
            ),
            _weights(data),
            _frontier(data),
            _about(data),
            evidence.proof_section(solution, drawn),
            sections.reproduce(data),
        ],
        sections.STYLE,
    )


def _facts(data: PortfolioData) -> str:
    answer = data.answer
    shown = [
        ("assets held", f"{len(answer.named())} of {answer.portfolio.n:,}"),
        ("risk (standard deviation)", percent(answer.risk)),
        ("expected return", percent(answer.expected_return)),
        ("gap to the best possible", gap_of(answer.solution)),
    ]
    return fact_list(shown)


def _weights(data: PortfolioData) -> str:
    """Weights, and what share of the risk each asset brings."""
    answer, title = data.answer, "Weights and risk"
    held, shares = answer.named(), answer.risk_contributions
    if not held or shares is None:
        return section("weights", title, [paragraph("There is no portfolio.")])
    place = {name: j for j, name in enumerate(answer.names)}
    own = np.sqrt(np.maximum(answer.portfolio.risk_model.variances, 0.0))
    mean = answer.portfolio.mean
    rows = [
        [
            name,
            percent(weight),
            percent(float(shares[place[name]])),
            percent(float(own[place[name]])),
            percent(None if mean is None else float(mean[place[name]])),
        ]
        for name, weight in held.items()
    ]
    header = ["asset", "weight", "share of the variance", "own risk"]
    header.append("own expected return")
    listed = table(header, rows, numbers=range(1, 5), label=title)
    about = paragraph(
        "An asset's share of the variance is its weight times its covariance with the "
        "portfolio; shares sum to one, and what hedges has a negative one."
    )
    some = dict(list(held.items())[:MOST_BARS])
    brought = [float(shares[place[name]]) for name in some]
    picture = pictures.figure(
        lambda: plot_weights(list(some), list(some.values()), brought),
        "Bars of the weight of each asset and of its share of the variance",
        "Weights (blue) and shares of the variance (orange, hatched): an asset whose "
        "orange bar is longer brings more risk than its weight says.",
    )
    return section("weights", title, [about, listed, picture])


def plot_weights(names: list[str], weights: list[float], shares: list[float]) -> Any:
    """Bars of weights and of shares of the variance, in percent."""
    ax = new_axes(height=1.4 + 0.42 * len(names))
    places = np.arange(len(names))
    style: dict[str, Any] = {"height": 0.38, "edgecolor": "white"}
    ax.barh(places - 0.2, 100 * np.array(weights), color=BLUE, label="weight", **style)
    ax.barh(
        places + 0.2,
        100 * np.array(shares),
        color=ORANGE,
        hatch="////",
        label="share of the variance",
        **style,
    )
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.set_yticks(places, [plain(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel("percent")
    ax.legend(frameon=False)
    return ax


def _frontier(data: PortfolioData) -> str:
    """Least variance by expected return, with and without the limit on assets."""
    curve, free = data.frontier, data.free_frontier
    if curve is None or not any(p.weights is not None for p in curve.points):
        return ""
    rows = [
        [
            percent(target),
            percent(point.risk),
            percent(_root(point.lower_bound)),
            _gap(point.solution),
            f"{len(point.named())}",
        ]
        for target, point in zip(curve.targets, curve.points, strict=True)
    ]
    header = ["expected return", "risk", "no less risk than", "gap of the variance"]
    listed = table([*header, "assets"], rows, numbers=range(1, 5), label="Frontier")
    picture = pictures.figure(
        lambda: _drawn(curve, free),
        "Expected return against risk, with and without the limit on assets",
        "Dots are portfolios; the band reaches down to what is proved to be out of "
        "reach. The dashed line may hold any number of assets.",
    )
    words = "" if free is None else frontier_costs(curve, free)
    parts = [paragraph(text(words)), picture, listed]
    return section("frontier", "Risk and return", parts)


def _gap(solution: Solution) -> str:
    """The gap, or that there is no portfolio."""
    if solution.x is not None:
        return gap_of(solution)
    return "impossible" if solution.status in PROVED else "none found"


def _drawn(curve: Frontier, free: Frontier | None) -> Any:
    ax = plot_frontier(curve)
    if free is not None:
        points = [
            (p.risk, p.expected_return) for p in free.points if p.weights is not None
        ]
        style = {"color": GREEN, "label": "any number of assets"}
        ax.plot(*np.array(points).T, "--", **style)
    ax.legend(loc="best")
    return pictures.worded(ax, title="")


def _about(data: PortfolioData) -> str:
    n = plural(data.answer.portfolio.n, "asset")
    periods = ""
    if data.n_periods is not None:
        periods = f" over {plural(data.n_periods, 'period')}"
    start = paragraph(text(f"{n}{periods}; risk and return are per period."))
    return section("data", "The data", [start, sections.listed_notes(data)])


def _root(bound: float) -> float:
    return float(np.sqrt(max(bound, 0.0)))
