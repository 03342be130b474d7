"""Estimators that rows may be added to."""

from typing import Self

from cardqp._iterate import Callback
from cardqp._typing import ArrayLike
from cardqp.estimators._sklearn import available_if
from cardqp.estimators.linear_model import Choice, LinearModel, Sample
from cardqp.gram import GramAccumulator, Moments
from cardqp.regression import Design


class AccumulatingModel(LinearModel):
    """A linear model that needs no more than moments of the rows."""

    def _solve(
        self, design: Design, rows: Moments, callback: Callback | None = None
    ) -> Choice:
        """Find the model of some rows."""
        raise NotImplementedError

    def _choose(self, sample: Sample, callback: Callback | None) -> Choice:
        self._accumulated = GramAccumulator()
        return self._solve(sample.design, sample.moments(), callback)

    def _also_keep(self, sample: Sample, *, is_first: bool) -> None:
        """Keep what else of added rows the model needs."""

    def _takes_rows_later(self) -> bool:
        """Whether rows may be added; raises ``AttributeError`` to say why not."""
        return True

    @available_if(lambda self: self._takes_rows_later())  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows to those of earlier calls and fit the model to all of them.

        Only sums of the rows are kept.  ``fit`` keeps not even these and forgets those
        of earlier calls: the first call after it starts anew.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`; one row is enough.
        """
        so_far = getattr(self, "_accumulated", GramAccumulator())
        is_first = so_far.n_samples == 0
        sample = self._sample(X, y, sample_weight, is_first=is_first, least=1)
        so_far.update(sample.X, sample.y, sample.weights)
        rows = so_far.moments(sample.is_centred)
        self._accumulated = so_far
        self._also_keep(sample, is_first=is_first)
        fitted = self._solve(sample.design, rows)
        self._keep(sample.design, so_far.moments().power, *fitted)
        # What was said of the rows of an earlier fit is not said of these.
        self._fitted_rows = None
        return self
