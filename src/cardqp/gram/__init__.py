"""From rows of data to what a least-squares problem needs to know of them."""

from cardqp.gram.accumulator import GramAccumulator
from cardqp.gram.moments import (
    GramMoments,
    Moments,
    RowMoments,
    mean_squared_error,
    merge,
    moments,
    moments_of_parts,
)
from cardqp.gram.problem import (
    columns_problem,
    is_constant,
    regression_problem,
    unit_scale,
)

__all__ = [
    "GramAccumulator",
    "GramMoments",
    "Moments",
    "RowMoments",
    "columns_problem",
    "is_constant",
    "mean_squared_error",
    "merge",
    "moments",
    "moments_of_parts",
    "regression_problem",
    "unit_scale",
]
