"""Sums of products without cancellation: each product is kept with its rounding error.

After Dekker (1971), and Ogita, Rump and Oishi (2005).
"""

import math

import numpy as np

from cardqp._typing import FloatArray

_SPLIT = 2.0**27 + 1.0

MOST_TERMS = 2000
"""More terms than this are added up in pairs first, whose errors are kept."""


def products(first: FloatArray, *others: FloatArray) -> FloatArray:
    """Terms whose sum is that of products of entries, up to an error of 2^-104."""
    terms = first.ravel()
    for other in others:
        terms = np.concatenate(_product(terms, np.resize(other.ravel(), terms.shape)))
    return terms


def fitted(matrix: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``matrix @ x`` as a sum of two vectors, the second below the first's rounding."""
    total, error = np.zeros(len(matrix)), np.zeros(len(matrix))
    for column, value in zip(matrix.T, x, strict=True):
        term, lost = _product(column, np.full(len(matrix), value))
        total, error_of_sum = _sum(total, term)
        error += error_of_sum + lost
    # Where terms cancel, what is left may be no more than the errors.
    return _sum(total, error)


def accurate_sum(terms: FloatArray) -> float:
    """The sum of terms, as if in twice the digits; not a number if one is too large."""
    if not np.isfinite(terms).all():
        return np.nan
    error = 0.0
    while len(terms) > MOST_TERMS:
        half = len(terms) // 2
        sums, errors = _sum(terms[:half], terms[half : 2 * half])
        error += float(errors.sum())
        terms = np.concatenate([sums, terms[2 * half :]])
    return math.fsum([*terms, error])


def _sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rounded sums and what rounding has taken from them."""
    total = a + b
    moved = total - a
    return total, (a - (total - moved)) + (b - moved)


def _product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rounded products and what rounding has taken from them."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = a * b
        (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
        error = a_low * b_low - (
            ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
        )
    return product, error


def _halves(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Numbers as sums of two with half the digits."""
    scaled = _SPLIT * values
    high = scaled - (scaled - values)
    return high, values - high
