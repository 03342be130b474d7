"""From rows of data to what a least-squares problem needs to know of them."""

from cardqp.gram.accumulator import GramAccumulator
from cardqp.gram.least_squares_problem import (
    is_constant,
    is_target_constant,
    regression_problem,
    unit_scale,
)
from cardqp.gram.moments import (
    GramMoments,
    Moments,
    RowMoments,
    mean_squared_error,
    merge,
    moments,
    moments_of_parts,
)

__all__ = [
    "GramAccumulator",
    "GramMoments",
    "Moments",
    "RowMoments",
    "is_constant",
    "is_target_constant",
    "mean_squared_error",
    "merge",
    "moments",
    "moments_of_parts",
    "regression_problem",
    "unit_scale",
]
