"""Numbers that are certainly below or above: balls, and floats rounded outwards.

Products of matrices are computed in ball arithmetic (``flint.arb``), whose results
contain the exact ones.  What follows, one small formula for each variable, is computed
in floats: :func:`down` and :func:`up` step to the next float after each operation, so
that whichever way the operation was rounded, the exact result is on the known side.
What is exact stays so where that costs little: above all, zeros.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

PRECISION = 128
"""Binary digits of balls: 75 more than those of the floats that files are made of."""

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

ctx.prec = PRECISION


def down(x: Any) -> Any:
    """The next float below; infinities that are overflows become finite ones."""
    return np.nextafter(x, -np.inf)


def up(x: Any) -> Any:
    """The next float above."""
    return np.nextafter(x, np.inf)


def add_below(x: Any, y: Any) -> Any:
    """Sums of two floats each, rounded down: a float that is the sum is returned.

    What a rounded sum lacks is a float itself, found by differences (Knuth).
    """
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.asarray(x + y)
        part = total - x
        lacks = (x - (total - part)) + (y - part)
    return np.where(lacks >= 0, total, down(total))


def below(ball: arb) -> float:
    """The largest float, or nearly, that is at most the number in a ball.

    It is the number where that is a float, and -inf if nothing is known.
    """
    least = ball.lower()
    value = float(least)
    if math.isnan(value):
        return -math.inf
    return value if arb(value) <= least else math.nextafter(value, -math.inf)


def above(ball: arb) -> float:
    """A float that is at least the number in a ball."""
    return -below(-ball)


def matrix_below(balls: arb_mat) -> Floats:
    """Floats that are at most the entries of a matrix."""
    found = np.array([below(ball) for ball in balls.entries()])
    return np.asarray(found.reshape(balls.nrows(), balls.ncols()))


def matrix_above(balls: arb_mat) -> Floats:
    """Floats that are at least the entries of a matrix."""
    return -matrix_below(-balls)


def exact(array: Any) -> arb_mat:
    """A matrix, or a vector as a column, as balls of radius 0."""
    array = np.asarray(array)
    columns = array if array.ndim == 2 else array.reshape(-1, 1)
    height, width = columns.shape
    return arb_mat(int(height), int(width), columns.ravel().tolist())


def sum_below(terms: Iterable[float]) -> float:
    """The largest float that is at most the sum of some floats; -inf if one of them is.

    ``fsum`` rounds the exact sum once, so that the sign of what is left is right.
    """
    terms = list(terms)
    if -math.inf in terms or any(map(math.isnan, terms)):
        return -math.inf
    try:
        total = math.fsum(terms)
        is_below = math.isinf(total) or math.fsum([*terms, -total]) >= 0
    except OverflowError:
        return -math.inf
    return total if is_below else math.nextafter(total, -math.inf)


def sums_above(terms: Floats) -> Floats:
    """Floats that are at least the sums of rows of floats, none of them negative.

    In whatever order ``n`` of them are added, the sum is off by ``n`` units of
    ``2**-53`` at most, and half as much is left for the product.
    """
    factor = 1.0 + 2.0**-51 * (terms.shape[-1] + 2)
    total = terms.sum(axis=-1)
    return np.where(total == 0, 0.0, up(total * factor))
