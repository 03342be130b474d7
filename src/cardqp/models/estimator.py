"""A scikit-learn estimator of portfolios with few assets."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from cardqp._keywords import NamedParameters, did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.exceptions import BackendNotFoundError, NotSolvedError, ParameterError
from cardqp.models.portfolio import Portfolio
from cardqp.problem import validation as check

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as err:
    raise BackendNotFoundError(
        "`SparseMeanVariance` needs scikit-learn 1.6 or newer: install it with "
        "`pip install cardqp[sklearn]`, or use `Portfolio`."
    ) from err


# scikit-learn has no types.
@did_you_mean
@dataclass(eq=False, repr=False)
class SparseMeanVariance(NamedParameters, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Mean-variance portfolios with few assets, fitted to returns.

    Parameters
    ----------
    max_assets : int
        The most assets that are held; all of them if there are fewer.
    risk_aversion : float, optional
        Trade half of this times the variance against the mean; by default the variance
        alone is minimised.
    target_return : float, optional
        The least expected return per period.
    min_weights : float, (n,) array or None
        0 for long-only portfolios.  If positive, assets are left out or weigh at least
        so much.  None allows short sales.
    max_weights : float, (n,) array or None
        The largest weight, of short positions, too.
    ridge : float, optional
        Added to every variance; by default negligible.
    time_limit : float or None
        Seconds.
    gap : float
        Relative gap at which the answer counts as optimal.

    Attributes
    ----------
    weights_ : (n,) array
        The weights; they sum to one.
    solution_ : PortfolioSolution
        The answer with bound, gap and certificate.
    n_features_in_ : int
        Number of assets.
    feature_names_in_ : (n,) array of str
        Names of the assets, if the returns were a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> returns = np.random.default_rng(0).normal(0.01, 0.1, size=(50, 6))
    >>> model = SparseMeanVariance(max_assets=2).fit(returns)
    >>> int(np.count_nonzero(model.weights_))
    2
    """

    max_assets: int = 10
    _: KW_ONLY
    risk_aversion: float | None = None
    target_return: float | None = None
    min_weights: ArrayLike | None = 0.0
    max_weights: ArrayLike | None = 1.0
    ridge: float | None = None
    time_limit: float | None = 60.0
    gap: float = 1e-4

    # Pipelines hand a `y` to `fit` and `score`, used or not.
    def fit(self, X: ArrayLike, y: Any = None) -> "SparseMeanVariance":  # noqa: ARG002
        """Find the weights.

        Parameters
        ----------
        X : (T, n) array or DataFrame
            Returns of assets, one row per period.
        y : ignored

        Raises
        ------
        NotSolvedError
            When no portfolio within the limits was found.
        """
        check.refuse_masked(X=X)
        returns = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        answer = self._portfolio(returns).solve(
            time_limit=self.time_limit, gap=self.gap
        )
        weights = answer.weights
        if weights is None:
            status = f"{answer.status.name}: {answer.status.value}"
            parts = (status, answer.reason, answer.solution.advice)
            raise NotSolvedError(f"{'; '.join(filter(None, parts))}.")
        if not answer.solution.has_gap:
            warnings.warn(
                f"the gap is {answer.gap:.2e}, not within {self.gap:.2e}; raise "
                "`time_limit` or `gap`.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.solution_ = answer
        self.weights_ = weights
        return self

    def _portfolio(self, returns: FloatArray) -> Portfolio:
        n = returns.shape[1]
        is_count = isinstance(self.max_assets, int | np.integer)
        least = self.min_weights
        if least is not None and np.any(np.asarray(least) < 0):
            raise ParameterError(
                "min_weights",
                "must be None or at least 0",
                given=f"it is {least!r}",
                remedy="None allows short sales",
            )
        is_threshold = least is not None and bool(np.any(np.asarray(least) > 0))
        return Portfolio(
            returns=returns,
            max_assets=min(self.max_assets, n) if is_count else self.max_assets,
            risk_aversion=self.risk_aversion,
            target_return=self.target_return,
            minimum_position=least if is_threshold else None,
            maximum_position=self.max_weights,
            long_only=least is not None,
            ridge=self.ridge,
            names=getattr(self, "feature_names_in_", None),
        )

    def predict(self, X: ArrayLike) -> FloatArray:
        """Returns of the portfolio in each period."""
        check_is_fitted(self)
        check.refuse_masked(X=X)
        returns = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(returns @ self.weights_)

    def score(self, X: ArrayLike, y: Any = None) -> float:  # noqa: ARG002
        """The Sharpe ratio of the portfolio: mean by standard deviation of returns.

        NaN if the returns do not vary.
        """
        returns = self.predict(X)
        spread = float(returns.std(ddof=1)) if len(returns) > 1 else 0.0
        return float(returns.mean()) / spread if spread > 0 else np.nan
