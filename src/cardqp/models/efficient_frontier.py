"""The efficient frontier of portfolios with few assets, with a proved bound."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from cardqp._iterate import Stop
from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import ParameterError, ProblemError
from cardqp.models.portfolio import Portfolio, PortfolioSolution
from cardqp.problem import validation as check

BOLD = 1e-4
"""The largest variance may cost so small a share of the range of expected returns when
the largest return is computed."""

INSIDE = 1e-6
"""How far below the largest return the last target is, as a share of the range."""

_COLUMNS = (
    *("risk", "variance", "expected_return"),
    *("objective", "lower_bound", "gap"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Frontier:
    """The portfolio of least variance for each target return, in increasing order.

    ``objective`` and ``lower_bound`` of a point are variances plus the ridge times
    ``|x|^2`` and what sales pay, see :class:`Portfolio`.  As ``|x|^2 <= 1`` without
    short sales, no long-only portfolio with that return has a variance below
    ``lower_bound - ridge``, less the price of sales if turnover is limited.

    Attributes
    ----------
    targets : tuple of float
        The least expected returns that were asked for.
    points : tuple of PortfolioSolution
        One answer per target; where a target is proved out of reach the status is
        ``INFEASIBLE`` and there are no weights.
    """

    targets: tuple[float, ...]
    points: tuple[PortfolioSolution, ...]

    def __len__(self) -> int:
        return len(self.points)

    def to_dict(self) -> dict[str, list[Any]]:
        """One list per column, ready for a DataFrame."""
        columns: dict[str, list[Any]] = {"target": list(self.targets)}
        for name in _COLUMNS:
            columns[name] = [getattr(point, name) for point in self.points]
        columns["assets"] = [len(point.named()) for point in self.points]
        columns["status"] = [point.status.name for point in self.points]
        columns["seconds"] = [point.solution.seconds for point in self.points]
        return columns

    def __str__(self) -> str:
        lines = ["    target       return         risk  lower bound       gap  status"]
        lines += [
            f"{target:10.4g} {p.expected_return:12.6g} {p.risk:12.6g} "
            f"{_root(p.lower_bound):12.6g} {p.gap:9.2e}  {p.status.name}"
            for target, p in zip(self.targets, self.points, strict=True)
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        solved = sum(point.weights is not None for point in self.points)
        return f"Frontier({len(self)} points, {solved} with weights)"

    def plot(self, path: str | PathLike[str] | None = None, ax: Any = None) -> Any:
        """Draw return against risk, with the band that the bounds leave open.

        Parameters
        ----------
        path : path, optional
            Where to write the picture.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from cardqp.plot import plot_frontier, saved

        return saved(plot_frontier(self, ax), path)


@did_you_mean
def frontier(
    portfolio: Portfolio,
    n_points: int = 20,
    targets: ArrayLike | None = None,
    **settings: Any,
) -> Frontier:
    """The certified efficient frontier of a portfolio with few assets.

    Parameters
    ----------
    portfolio : Portfolio
        Assets and limits, with expected returns; its own target and risk aversion are
        ignored.
    n_points : int
        How many targets are spread between the return of the portfolio of least
        variance and the largest return that is found.
    targets : array, optional
        Target returns instead.
    **settings
        As for :func:`cardqp.solve`; a time limit is for each point.

    Returns
    -------
    Frontier
        Ctrl-C, or a callback that returns True, keep the points that are done: those
        with the largest targets, as each point starts from the one above it, which
        meets its target as well.

    Examples
    --------
    >>> portfolio = Portfolio([0.1, 0.2], [[1.0, 0.0], [0.0, 4.0]], max_assets=1)
    >>> [list(p.named()) for p in frontier(portfolio, targets=[0.1, 0.2, 0.3]).points]
    [['asset 0'], ['asset 1'], []]
    """
    check.instance("portfolio", portfolio, Portfolio)
    _ = portfolio.expected_returns
    for name in ("start", "resume"):
        if name in settings:
            raise ParameterError(
                name,
                "is set along the frontier",
                given="each point starts from the last",
            )
    if targets is None:
        check.count("n_points", n_points)
        wanted = _spread(portfolio, n_points, settings)
    else:
        wanted = _check_targets(targets)
    done: list[tuple[float, PortfolioSolution]] = []
    try:
        for point in _trace(portfolio, wanted[::-1], settings):
            done.append(point)
    except KeyboardInterrupt:  # between two searches; a search returns its best
        pass
    done.reverse()
    return Frontier(tuple(t for t, _ in done), tuple(point for _, point in done))


def _trace(
    portfolio: Portfolio, targets: FloatArray, settings: dict[str, Any]
) -> Iterator[tuple[float, PortfolioSolution]]:
    start = None
    for target in targets:
        point = portfolio.with_goal(target_return=target).solve(start=start, **settings)
        yield float(target), point
        if point.solution.stop in (Stop.CALLBACK, Stop.INTERRUPTED):
            return
        start = point.solution.x


def _spread(
    portfolio: Portfolio, n_points: int, settings: dict[str, Any]
) -> FloatArray:
    """Targets from the return at least risk to the largest return found."""
    calm = portfolio.with_goal().solve(**settings)
    reward = float(np.ptp(portfolio.expected_returns)) or 1.0
    price = BOLD * reward / (float(portfolio.risk_model.variances.max()) or 1.0)
    bold = portfolio.with_goal(risk_aversion=price).solve(**settings)
    low, high = calm.expected_return, bold.expected_return
    if np.isnan(low) or np.isnan(high):
        raise ProblemError(
            "portfolio",
            "must be feasible",
            given=calm.reason or "no portfolio was found within its limits",
            remedy="relax them, or allow more time",
        )
    high = max(low, high - INSIDE * (high - low))
    return np.linspace(low - INSIDE * (high - low), high, n_points)


def _check_targets(targets: ArrayLike) -> FloatArray:
    wanted = np.unique(check.real_array("targets", targets, 1))
    if len(wanted) == 0:
        raise ParameterError("targets", "must hold at least one return")
    return wanted


def _root(bound: float) -> float:
    return float(np.sqrt(bound)) if bound > 0 else 0.0
