"""Index tracking with few assets."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.models import validation as rule
from cardqp.models.allocation import Allocation
from cardqp.models.limits import BUDGET
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP
from cardqp.solution.reason import Words

NEGLIGIBLE = 1e-9
"""A ridge that stands for none, as a share of the mean squared return."""


@did_you_mean
@dataclass(frozen=True, init=False, eq=False, repr=False)
class IndexTracking:
    r"""Few assets that follow an index as closely as possible.

    .. math:: \min_x\; \tfrac1T \sum_t (r_t^\top x - i_t)^2 + \rho |x|^2
        \quad\text{s.t.}\quad \textstyle\sum_j x_j = 1,\; |x|_0 \le \text{max\_assets}

    Parameters
    ----------
    returns : (T, n) array or DataFrame
        Returns of assets, one row per period.
    index : (T,) array or Series
        Returns of the index in the same periods.
    max_assets : int
        The most assets that are held.
    minimum_position, maximum_position : float or (n,) array, optional
        An asset that is held weighs at least, and at most, so much.
    long_only : bool
        Whether weights must not be negative; if not, the maximum holds for the size of
        short positions, too.
    fully_invested : bool
        Whether weights sum to one.  If not, their sum is free: the rest is cash, or
        borrowed, at no interest.
    ridge : float, optional
        :math:`\rho`; by default 1e-9 of the mean squared return; 0 is none.
    names : sequence of str, optional
        Names of the assets; by default those of a DataFrame.

    Raises
    ------
    ProblemError
        When the data break a rule.

    Examples
    --------
    >>> import numpy as np
    >>> returns = np.array([[0.1, 0.0, 0.2], [0.0, 0.1, 0.1], [0.2, -0.1, 0.0]])
    >>> index = returns @ [0.25, 0.75, 0.0]
    >>> sorted(IndexTracking(returns, index, max_assets=2).solve().named())
    ['asset 0', 'asset 1']
    """

    returns: FloatArray
    index: FloatArray
    max_assets: int
    lower: FloatArray
    upper: FloatArray
    fully_invested: bool
    ridge: float
    names: tuple[str, ...]

    def __init__(
        self,
        returns: ArrayLike,
        index: ArrayLike,
        *,
        max_assets: int,
        minimum_position: ArrayLike | None = None,
        maximum_position: ArrayLike | None = None,
        long_only: bool = True,
        fully_invested: bool = True,
        ridge: float | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        table = rule.returns_table("returns", returns)
        n = table.shape[1]
        labels = rule.labels_of(returns)
        rule.same_labels(
            labels,
            minimum_position=minimum_position,
            maximum_position=maximum_position,
        )
        lower, upper = rule.positions(
            minimum_position, maximum_position, n, long_only=long_only
        )
        default = NEGLIGIBLE * (float(np.mean(table**2)) or 1.0)
        vars(self).update(
            returns=table,
            index=rule.index_returns(index, len(table)),
            max_assets=rule.max_assets(max_assets, n),
            lower=lower,
            upper=upper,
            fully_invested=rule.flag("fully_invested", fully_invested),
            ridge=rule.ridge(ridge, default),
            names=rule.asset_names(names, labels, n),
        )

    @cached_property
    def problem(self) -> SparseQP:
        """The quadratic program whose variables are the weights."""
        n = self.returns.shape[1]
        budget = {"A_eq": np.ones((1, n)), "b_eq": 1.0} if self.fully_invested else {}
        return SparseQP.from_regression(
            self.returns,
            self.index,
            eta=1.0 / self.ridge if self.ridge > 0 else None,
            sparsity=self.max_assets,
            lower=self.lower,
            upper=self.upper,
            names=self.names,
            **budget,
        )

    def solve(self, **settings: Any) -> "TrackingSolution":
        """Find the assets and their weights, and prove how good they are.

        Parameters
        ----------
        **settings
            As for :func:`cardqp.solve`.
        """
        return TrackingSolution(self.names, solve(self.problem, **settings), self)

    def __repr__(self) -> str:
        periods, n = self.returns.shape
        return f"IndexTracking(n={n}, periods={periods}, max_assets={self.max_assets})"


@dataclass(frozen=True, eq=False, repr=False)
class TrackingSolution(Allocation):
    """The weights of a tracking portfolio, how well it follows, and the proof.

    Attributes
    ----------
    model : IndexTracking
        What was solved.
    """

    _figures = _main = ("tracking_error", "r_squared")

    model: IndexTracking

    @property
    def _words(self) -> Words:
        """How the rows of the problem, and what it chooses, are called."""
        return Words("asset", "assets", (BUDGET,))

    @property
    def tracking_error(self) -> float:
        """Root of the mean squared difference of returns; NaN without weights."""
        weights = self.weights
        if weights is None:
            return np.nan
        difference = self.model.returns @ weights - self.model.index
        return float(np.sqrt(np.mean(difference**2)))

    @property
    def r_squared(self) -> float:
        """One less the share of the index's variance that is left unexplained.

        NaN without weights, or for an index that does not move.
        """
        spread = float(self.model.index.var())
        return 1.0 - self.tracking_error**2 / spread if spread > 0 else np.nan
