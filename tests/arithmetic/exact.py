"""Exact arithmetic for tests of rounding margins."""

from fractions import Fraction

import numpy as np

NEGLIGIBLE = Fraction(1, 1000)
"""A margin of which no error ever takes this share would be vacuous."""


def exact(values):
    """Floats as rationals, in an array of the same shape."""
    flat = [Fraction(float(value)) for value in np.ravel(values)]
    return np.array(flat, dtype=object).reshape(np.shape(values))


def is_semidefinite(matrix):
    """Whether a symmetric matrix of rationals is positive semidefinite."""
    table = np.array(matrix, dtype=object)
    for k in range(len(table)):
        if table[k, k] < 0 or (table[k, k] == 0 and table[k, k:].any()):
            return False
        if table[k, k] > 0:
            column = table[k + 1 :, k].copy()
            table[k + 1 :, k + 1 :] -= np.multiply.outer(column, column) / table[k, k]
    return True


def are_covered(shares):
    """Whether no error exceeds its margin, and some are not negligible.

    Errors are given as shares of their margins.
    """
    largest = max(shares)
    return NEGLIGIBLE <= largest <= 1


def numbers(rng, *shape, spread=6.0):
    """Numbers of very different sizes, of both signs."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-spread, spread, shape)


def cancelling(rng, weights):
    """Numbers whose inner product with the weights is next to nothing."""
    values = numbers(rng, len(weights), spread=3.0)
    values[-1] = -(weights[:-1] @ values[:-1]) / weights[-1]
    return values


def least_cost(slope, ridge, lower, upper):
    """The least ``slope x + ridge x^2`` within bounds."""
    x = min(max(-slope / (2 * ridge), lower), upper)
    return slope * x + ridge * x * x
