"""From rows of data to what a least-squares problem needs to know of them."""

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
    "GramMoments",
    "Moments",
    "RowMoments",
    "mean_squared_error",
    "merge",
    "moments",
    "moments_of_parts",
]
