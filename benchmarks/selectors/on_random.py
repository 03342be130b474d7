"""How often selection step by step misses the best subset of random tables."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ridge import expected_error
from benchmarks.selectors.choosers import SEQUENTIAL, timed
from benchmarks.selectors.referee import least_squares, loss, percent, proved
from cardqp._typing import FloatArray, IntArray
from cardqp.datasets import make_regression
from cardqp.plot import new_axes
from cardqp.plot.style import COLOURS, STYLES
from cardqp.subsets.result import Subset

CORRELATIONS = (0.5, 0.6, 0.7, 0.8, 0.9)
RATIOS = (1.0, 3.0)
N_ROWS, N_TRUE = 100, 8
FEWEST, MOST = 15, 30
"""Columns of a table."""

BEST = "cardqp"


class Outcome(NamedTuple):
    """A subset of a random table.

    Attributes
    ----------
    chooser : str
        Who chose it.
    rho : float
        The correlation of neighbouring columns.
    size : int
        How many features it has.
    loss : float
        How much the sum of squares is above the least one, relative to it.
    error : float
        The expected squared error on other rows, in that of the truth.
    seconds : float
        The time of the processor.
    """

    chooser: str
    rho: float
    size: int
    loss: float
    error: float
    seconds: float


class Case(NamedTuple):
    """A random table and the truth behind it."""

    X: FloatArray
    y: FloatArray
    coefficients: FloatArray
    rho: float
    snr: float

    def error(self, support: IntArray) -> float:
        """The expected error of least squares on some columns."""
        coef, intercept, _ = least_squares(self.X, self.y, support)
        return expected_error(self.coefficients, self.rho, self.snr)(coef, intercept)


def make(number: int) -> Case:
    """The table with a number: each correlation and ratio has its turn."""
    rho = CORRELATIONS[number % len(CORRELATIONS)]
    snr = RATIOS[number // len(CORRELATIONS) % len(RATIOS)]
    n = int(np.random.default_rng(number).integers(FEWEST, MOST + 1))
    data = make_regression(
        N_ROWS, n, sparsity=N_TRUE, correlation=rho, snr=snr, seed=number
    )
    return Case(data.X, data.y, data.coefficients, rho, snr)


def outcomes(count: int, sizes: Sequence[int], limit: float) -> Iterator[Outcome]:
    """What all choose from so many tables."""
    for case in map(make, range(count)):
        for size in sizes:
            yield from _of_case(case, size, limit)


def _of_case(case: Case, size: int, limit: float) -> Iterator[Outcome]:
    ours = proved(case.X, case.y, size, limit)
    if ours is None:
        raise SystemExit(f"A random table is not proved within {limit:g} s")
    used, best = ours
    yield _outcome(BEST, case, best[size].support, best[size], used)
    for name, choose in SEQUENTIAL.items():
        seconds, chosen = timed(choose, case.X, case.y, size)
        yield _outcome(name, case, chosen[size], best[size], seconds)


def _outcome(
    name: str, case: Case, support: IntArray, best: Subset, seconds: float
) -> Outcome:
    above = loss(case.X, case.y, support, best)
    return Outcome(name, case.rho, best.size, above, case.error(support), seconds)


HEADER = (
    "| size | chosen by | the best is missed | median loss | largest loss | "
    "error on other rows | seconds |"
)


def summary(all_outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A row for each size and chooser; the median is that of tables that are missed."""
    for size, name in dict.fromkeys((o.size, o.chooser) for o in all_outcomes):
        some = [o for o in all_outcomes if (o.size, o.chooser) == (size, name)]
        losses = np.array([o.loss for o in some])
        error = np.exp(np.mean([np.log(o.error) for o in some]))
        seconds = np.mean([o.seconds for o in some])
        cells = f"{percent(missed(some))} | {_median(losses)} | {percent(losses.max())}"
        yield f"| {size} | {name} | {cells} | {error:.3f} | {seconds:.3f} |"


def missed(some: Sequence[Outcome]) -> float:
    """The share of tables whose best subset was not found."""
    return float(np.mean([o.loss > 0 for o in some]))


def _median(losses: FloatArray) -> str:
    lost = losses[losses > 0]
    return percent(float(np.median(lost))) if len(lost) else ""


def draw(all_outcomes: Sequence[Outcome]) -> Any:
    """The share of tables where the best is missed, against the correlation."""
    sizes = list(dict.fromkeys(o.size for o in all_outcomes))
    panels = np.atleast_1d(new_axes(len(sizes), height=1.0 + 2.6 * len(sizes)))
    for ax, size in zip(panels, sizes, strict=True):
        for name, colour, style in zip(SEQUENTIAL, COLOURS, STYLES, strict=False):
            some = [o for o in all_outcomes if (o.size, o.chooser) == (size, name)]
            rhos = sorted({o.rho for o in some})
            shares = [100 * missed([o for o in some if o.rho == r]) for r in rhos]
            ax.plot(rhos, shares, style, color=colour, label=name)
        ax.set_xticks(CORRELATIONS)
        ax.set_ylim(-4, 104)
        ax.set_ylabel("best subset missed, %")
        ax.set_title(f"{size} features")
        ax.grid(visible=True, alpha=0.3)
    panels[0].legend()
    panels[-1].set_xlabel("correlation of neighbouring columns")
    return panels[0]
