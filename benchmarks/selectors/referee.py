"""What a subset is worth, whoever chose it."""

import numpy as np

from benchmarks.leaps import by_cardqp
from benchmarks.selectors.choosers import Chosen
from cardqp._typing import FloatArray, IntArray
from cardqp.subsets.result import Subset

ROUNDING = 1e-10
"""Relative difference of two sums of squares that counts as none."""


class DisagreementError(ArithmeticError):
    """A subset refutes what was proved, or two exhaustive searches differ."""


def least_squares(
    X: FloatArray, y: FloatArray, support: IntArray
) -> tuple[FloatArray, float, float]:
    """Coefficients of all columns, the intercept and the sum of squared residuals."""
    columns = np.column_stack([np.ones(len(y)), X[:, support]])
    fitted = np.linalg.lstsq(columns, y, rcond=None)[0]
    coef = np.zeros(X.shape[1])
    coef[support] = fitted[1:]
    residual = y - columns @ fitted
    return coef, float(fitted[0]), float(residual @ residual)


def loss(X: FloatArray, y: FloatArray, support: IntArray, best: Subset) -> float:
    """How much a sum of squares is above the least one of its size, relative to it.

    Raises
    ------
    DisagreementError
        If it is below, or has another size.
    """
    if len(support) != best.size:
        raise DisagreementError(f"{len(support)} features instead of {best.size}")
    above = least_squares(X, y, support)[2] / best.rss - 1.0
    if above < -ROUNDING:
        raise DisagreementError(
            f"{support} is better than the proved best subset, by {-above:.1e}"
        )
    return above if above > ROUNDING else 0.0


def largest_difference(
    X: FloatArray, y: FloatArray, chosen: Chosen, best: dict[int, Subset]
) -> float:
    """The largest relative difference of the sums of squares of best subsets.

    Raises
    ------
    DisagreementError
        If it is more than rounding, or if the sizes differ.
    """
    if chosen.keys() != best.keys():
        raise DisagreementError(f"sizes {list(chosen)} instead of {list(best)}")
    squares = {k: least_squares(X, y, support)[2] for k, support in chosen.items()}
    largest = max(abs(squares[k] / best[k].rss - 1.0) for k in best)
    if largest > ROUNDING:
        raise DisagreementError(f"sums of squares differ by {largest:.1e}")
    return largest


def proved(
    X: FloatArray, y: FloatArray, size: int, limit: float
) -> tuple[float, dict[int, Subset]] | None:
    """Seconds, and the best subset of each size, or None if not all are proved."""
    used, found = by_cardqp(X, y, size, 1, limit)
    best = {each.size: each for each in found if each.status == "OPTIMAL"}
    return (used, best) if len(best) == size else None


def percent(share: float) -> str:
    """A share as it is printed."""
    return f"{100 * share:.3g} %"
