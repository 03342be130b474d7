"""Portfolios of few assets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.models import risk
from cardqp.models import validation as rule
from cardqp.models.allocation import Allocation
from cardqp.models.limits import (
    Row,
    Sales,
    plan_sales,
    sector_rows,
    stack,
    stacked_names,
)
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.solution.reason import Words, shown

NEGLIGIBLE = 1e-9
"""A ridge that stands for none, as a share of the mean variance."""

SALES_RIDGE = 1e-6
"""Cost of the squares of sales, as a share of the mean variance: with less, the
relaxations of problems with many rows are solved slowly."""


@did_you_mean
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Portfolio:
    r"""The portfolio of least variance, or of best utility, with few assets.

    .. math::
        \min_x\; x^\top (\Sigma + \rho I) x \quad\text{or}\quad
        \tfrac\gamma2\, x^\top (\Sigma + \rho I) x - \mu^\top x
        \quad\text{s.t.}\quad \textstyle\sum_j x_j = 1,\; |x|_0 \le \text{max\_assets}

    and whatever else is asked for.

    Parameters
    ----------
    mean : (n,) array, optional
        Expected returns :math:`\mu`; by default the means of ``returns``.
    covariance : (n, n) array or DataFrame, optional
        The covariance :math:`\Sigma`.  Give it, ``returns`` or a factor model.
    returns : (T, n) array or DataFrame, optional
        Returns of assets, one row per period, for the sample covariance.
    loadings, specific_variance : (k, n) array and (n,) array, optional
        The factor model ``covariance = loadings' loadings + diag(specific_variance)``.
        The matrix is not formed, and the specific variance makes bounds tight.
    risk_aversion : float, optional
        :math:`\gamma`; without it the variance alone is minimised.
    target_return : float, optional
        The least expected return.
    max_assets : int
        The most assets that are held.
    minimum_position, maximum_position : float or (n,) array, optional
        An asset that is held weighs at least, and at most, so much.  Without
        ``long_only`` the maximum holds for the size of short positions, too.
    long_only : bool
        Whether weights must not be negative.
    sectors : sequence or dict by name, optional
        The sector of each asset.
    sector_limits : dict, optional
        From sectors to the maximum, or ``(minimum, maximum)``, of their summed weight.
    holdings : (n,) array or dict by name, optional
        Current weights.  They need not sum to one: the rest is cash.
    max_turnover : float, optional
        The most that :math:`\sum_j |x_j - h_j|` may be: purchases and sales, also of
        assets not held now; cash is not counted.
    ridge : float, optional
        :math:`\rho`, added to every variance.  By default 1e-9 of the mean variance,
        or 0 for a factor model with positive specific variances; 0 is none.
    names : sequence of str, optional
        Names of the assets; by default those of a DataFrame or Series.

    Raises
    ------
    ProblemError
        When the data break a rule.

    Notes
    -----
    A turnover limit adds one variable for the sales of each asset that can be sold.
    These are always in the support and take no place of an asset.  Each pays 1e-6 of
    the mean variance (times :math:`\gamma/2`) for its square, which is part of
    objective and bound: at most that much times the square of all sales, which are
    ``max_turnover / 2`` if the holdings sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> portfolio = Portfolio(covariance=np.diag([1.0, 1.0, 4.0]), max_assets=2)
    >>> portfolio.solve().named()
    {'asset 0': 0.5, 'asset 1': 0.5}
    """

    mean: FloatArray | None
    risk_model: risk.RiskModel
    risk_aversion: float | None
    target_return: float | None
    max_assets: int
    lower: FloatArray
    upper: FloatArray
    sector_limits: tuple[rule.SectorLimit, ...]
    holdings: FloatArray | None
    max_turnover: float | None
    ridge: float
    names: tuple[str, ...]

    def __init__(
        self,
        mean: ArrayLike | None = None,
        covariance: ArrayLike | None = None,
        *,
        returns: ArrayLike | None = None,
        loadings: ArrayLike | None = None,
        specific_variance: ArrayLike | None = None,
        risk_aversion: float | None = None,
        target_return: float | None = None,
        max_assets: int,
        minimum_position: ArrayLike | None = None,
        maximum_position: ArrayLike | None = None,
        long_only: bool = True,
        sectors: Sequence[Any] | Mapping[str, Any] | None = None,
        sector_limits: Mapping[Any, Any] | None = None,
        holdings: ArrayLike | Mapping[str, float] | None = None,
        max_turnover: float | None = None,
        ridge: float | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        model = _risk_model(covariance, returns, loadings, specific_variance)
        n = model.n
        table = next(t for t in (covariance, returns, loadings) if t is not None)
        labels = rule.labels_of(table) or rule.labels_of(mean)
        rule.same_labels(
            labels,
            mean=mean,
            specific_variance=specific_variance,
            minimum_position=minimum_position,
            maximum_position=maximum_position,
            sectors=sectors,
            holdings=holdings,
        )
        known = rule.asset_names(names, labels, n)
        lower, upper = rule.positions(
            minimum_position, maximum_position, n, long_only=long_only
        )
        vars(self).update(
            mean=_expected_returns(mean, returns, n),
            risk_model=model,
            risk_aversion=rule.risk_aversion(risk_aversion),
            target_return=_optional_scalar("target_return", target_return),
            max_assets=rule.max_assets(max_assets, n),
            lower=lower,
            upper=upper,
            sector_limits=rule.sector_limits(sectors, sector_limits, known),
            holdings=rule.holdings(holdings, max_turnover, known),
            max_turnover=rule.max_turnover(max_turnover),
            ridge=_ridge(ridge, model),
            names=known,
        )
        if risk_aversion is not None or target_return is not None:
            _ = self.expected_returns

    def with_goal(
        self, *, risk_aversion: float | None = None, target_return: float | None = None
    ) -> "Portfolio":
        """A copy with another goal for these assets and limits; no data are rechecked.

        Parameters
        ----------
        risk_aversion, target_return : float, optional
            As for :class:`Portfolio`; what is left out is dropped.
        """
        return self._with(
            risk_aversion=rule.risk_aversion(risk_aversion),
            target_return=_optional_scalar("target_return", target_return),
        )

    def with_any_count(self) -> "Portfolio":
        """A copy that may hold any number of assets, each of them as little as wanted.

        Its risk tells what the limit on the number of assets costs.
        """
        lower = np.where(self.lower > 0, 0.0, self.lower)
        return self._with(max_assets=self.n, lower=lower)

    def _with(self, **changes: Any) -> "Portfolio":
        """A copy with other fields; no data are rechecked."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        portfolio = Portfolio.__new__(Portfolio)
        vars(portfolio).update(fields | changes)
        return portfolio

    @property
    def n(self) -> int:
        """Number of assets."""
        return self.risk_model.n

    @cached_property
    def problem(self) -> SparseQP:
        """The quadratic program: weights of assets, then sales if they are limited."""
        n, sales = self.n, self._sales
        extra = 0 if sales is None else len(sales)
        scale = 1.0 if self.risk_aversion is None else 0.5 * self.risk_aversion
        model = self.risk_model.with_spare if extra else self.risk_model
        own = model.specific + self.ridge
        slight = np.full(extra, _share(SALES_RIDGE, self.risk_model))
        cost = np.zeros(n) if self.risk_aversion is None else -self.expected_returns
        return SparseQP(
            model.widened(scale, extra),
            np.pad(cost, (0, extra)),
            eta=_inverse(scale * np.concatenate([own, slight])),
            sparsity=self.max_assets + extra,
            A_eq=np.pad(np.ones((1, n)), ((0, 0), (0, extra))),
            b_eq=1.0,
            lower=np.pad(self.lower, (0, extra)),
            upper=np.concatenate(
                [self._implied_upper, [] if sales is None else sales.upper]
            ),
            forced_in=np.arange(n, n + extra),
            names=self._variable_names,
            **stack(self._rows(), n + extra),
        )

    @property
    def expected_returns(self) -> FloatArray:
        """The mean, which must be known.

        Raises
        ------
        ProblemError
            When it was not given.
        """
        if self.mean is None:
            raise ProblemError(
                "mean",
                "is missing",
                given=Phrase(
                    "{}, {} and a frontier need expected returns",
                    Setting("risk_aversion"),
                    Setting("target_return"),
                ),
            )
        return self.mean

    @property
    def _implied_upper(self) -> FloatArray:
        """Weights of a long-only portfolio do not exceed one.

        The budget says so, too, but infeasibility is proved more easily with bounds.
        """
        if (self.lower < 0).any():
            return self.upper
        return np.maximum(np.minimum(self.upper, 1.0), self.lower)

    @cached_property
    def _sales(self) -> Sales | None:
        if self.holdings is None or self.max_turnover is None:
            return None
        # An asset with a minimum position may also be sold altogether.
        lowest = np.minimum(self.lower, 0.0)
        return plan_sales(self.holdings, self.max_turnover, self.max_assets, lowest)

    @property
    def _variable_names(self) -> tuple[str, ...]:
        sold = () if self._sales is None else self._sales.assets
        return (*self.names, *(f"sales of {self.names[j]}" for j in sold))

    def _rows(self) -> Iterator[Row]:
        if self.target_return is not None:
            least = self.target_return
            yield Row(self.expected_returns, least, np.inf, "the expected return")
        yield from sector_rows(self.sector_limits, self.n)
        if self._sales is not None:
            yield from self._sales.rows(self.names)

    @property
    def _words(self) -> Words:
        """How the rows of the problem are called."""
        extra = 0 if self._sales is None else len(self._sales)
        return Words("asset", "assets", stacked_names(self._rows()), extra)

    @property
    def _missing_turnover(self) -> float:
        """By how much ``max_turnover`` is too small for any portfolio, or zero."""
        return 0.0 if self._sales is None else 2.0 * self._sales.shortage

    def solve(self, **settings: Any) -> "PortfolioSolution":
        """Find the portfolio and prove how good it is.

        Parameters
        ----------
        **settings
            As for :func:`cardqp.solve`.
        """
        return PortfolioSolution(self.names, solve(self.problem, **settings), self)

    def __repr__(self) -> str:
        parts = [f"n={self.n}", f"max_assets={self.max_assets}"]
        for name in ("risk_aversion", "target_return", "max_turnover"):
            value = getattr(self, name)
            parts += [] if value is None else [f"{name}={value:g}"]
        return f"Portfolio({', '.join(parts)})"


@dataclass(frozen=True, eq=False, repr=False)
class PortfolioSolution(Allocation):
    """The weights of a portfolio, its risk and return, and the proof.

    Risk and return are computed from the model's data.  ``objective`` and
    ``lower_bound`` are those of the quadratic program, ridge included.

    Attributes
    ----------
    portfolio : Portfolio
        What was solved.
    """

    _figures = ("risk", "variance", "expected_return", "turnover")
    _main = ("risk", "expected_return")

    portfolio: Portfolio

    @property
    def _words(self) -> Words:
        """How the rows of the problem, and what it chooses, are called."""
        return self.portfolio._words

    @property
    def reason(self) -> str:
        """Why no weights meet the limits: see :attr:`cardqp.Solution.reason`."""
        most, missing = self.portfolio.max_turnover, self.portfolio._missing_turnover
        if most is None or not missing:
            return super().reason
        least = shown(most + missing, most, is_upper=False)
        return f"the turnover is at least {least}, and must be at most {most:.12g}"

    @property
    def variance(self) -> float:
        """The variance of the portfolio; NaN without weights."""
        weights = self.weights
        return (
            np.nan if weights is None else self.portfolio.risk_model.variance(weights)
        )

    @property
    def risk(self) -> float:
        """The standard deviation of the portfolio."""
        return float(np.sqrt(max(self.variance, 0.0)))

    @property
    def risk_contributions(self) -> FloatArray | None:
        """The share of the variance that each asset brings; None without a risk.

        They sum to 1; assets that hedge others have negative shares.
        """
        weights, variance = self.weights, self.variance
        if weights is None or not variance > 0:
            return None
        model = self.portfolio.risk_model
        slope = model.form.apply(weights) + model.specific * weights
        return np.asarray(weights * slope / variance)

    @property
    def expected_return(self) -> float:
        """The expected return; NaN without weights or without expected returns."""
        weights, mean = self.weights, self.portfolio.mean
        return np.nan if weights is None or mean is None else float(mean @ weights)

    @property
    def turnover(self) -> float:
        """Purchases and sales from the current holdings; NaN if these are not known."""
        weights, held = self.weights, self.portfolio.holdings
        if weights is None or held is None:
            return np.nan
        return float(np.abs(weights - held).sum())


def _risk_model(
    covariance: ArrayLike | None,
    returns: ArrayLike | None,
    loadings: ArrayLike | None,
    specific: ArrayLike | None,
) -> risk.RiskModel:
    """The covariance from the one source that is given."""
    sources = (covariance, returns, loadings)
    if sum(source is not None for source in sources) != 1:
        raise ProblemError(
            None,
            "`covariance`, `returns` or `loadings` with `specific_variance`",
            remedy="give exactly one of them",
        )
    if (loadings is None) != (specific is None):
        raise ProblemError(
            None,
            "`loadings` and `specific_variance` must be given together",
            given="they are the two parts of a factor model",
        )
    if covariance is not None:
        return risk.from_covariance(covariance)
    if returns is not None:
        return risk.from_returns(rule.returns_table("returns", returns))
    return risk.from_factors(loadings, specific)


def _expected_returns(
    mean: ArrayLike | None, returns: ArrayLike | None, n: int
) -> FloatArray | None:
    if mean is None and returns is not None:
        mean = rule.returns_table("returns", returns).mean(axis=0)
    return None if mean is None else check.vector("mean", mean, n)


def _optional_scalar(name: str, value: Any) -> float | None:
    return None if value is None else check.scalar(name, value)


def _share(part: float, model: risk.RiskModel) -> float:
    """A part of the mean variance; positive even if that is zero."""
    return part * (float(model.variances.mean()) or 1.0)


def _ridge(value: float | None, model: risk.RiskModel) -> float:
    is_ridged = bool((model.specific > 0).all())
    default = 0.0 if is_ridged else _share(NEGLIGIBLE, model)
    return rule.ridge(value, default)


def _inverse(ridge: FloatArray) -> FloatArray:
    """``1 / ridge``, infinite where there is none."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / ridge)
