"""The score of predictions beside what was observed."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray


@dataclass(frozen=True, slots=True)
class Score:
    """How well predictions agree with observations.

    Attributes
    ----------
    n_rows : int
        Rows that have both.
    r2 : float
        The share of the variance, in these rows, that the predictions explain; NaN if
        there is none.
    rmse : float
        The root of the mean squared error.
    """

    n_rows: int
    r2: float
    rmse: float

    @classmethod
    def of(cls, observed: FloatArray, predicted: FloatArray) -> "Score | None":
        """Compare them in the rows that have both; None if no row does.

        Examples
        --------
        >>> Score.of(np.array([1.0, 3.0, np.nan]), np.array([2.0, 3.0, 1.0]))
        Score(n_rows=2, r2=0.5, rmse=0.7071067811865476)
        """
        has_both = ~(np.isnan(observed) | np.isnan(predicted))
        if not has_both.any():
            return None
        y = observed[has_both]
        error = float(np.mean((y - predicted[has_both]) ** 2))
        spread = float(y.var())
        r2 = 1.0 - error / spread if spread > 0 else np.nan
        return cls(len(y), r2, float(np.sqrt(error)))
