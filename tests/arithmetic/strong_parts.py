"""The tests of strong parts by search and checker, and the same in rational numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cardqp._compiled import compiled
from cardqp.certificate.strong_parts import (
    find_strong_pairs,
    find_strong_thirds,
    largest_gain_beyond,
)
from cardqp.relaxation.strong_pairs import (
    best_beyond,
    list_parts,
    mark_strong,
    mark_thirds,
)
from tests.arithmetic.exact import exact


@compiled
def _searched_pairs(R, s, remaining, start):
    is_strong = np.zeros(R.shape, dtype=np.bool_)
    mark_strong(R, s, remaining, start, is_strong)
    return is_strong


@compiled
def _searched_thirds(R, s, i, j, start):
    is_third = np.zeros(len(s), dtype=np.bool_)
    mark_thirds(R, s, i, j, start, is_third)
    return is_third


@compiled
def _checked_pairs(R, s, remaining, start):
    is_strong = np.zeros(R.shape, dtype=np.bool_)
    find_strong_pairs(R, s, remaining, start, is_strong)
    return is_strong


@compiled
def _checked_thirds(R, s, i, j, start):
    is_third = np.zeros(len(s), dtype=np.bool_)
    find_strong_thirds(R, s, i, j, start, is_third)
    return is_third


@compiled
def listed(R, s, remaining, start):
    """The parts that the search completes."""
    n, is_strong = len(s), np.zeros(R.shape, dtype=np.bool_)
    mark_strong(R, s, remaining, start, is_strong)
    parts = np.empty((n**3, remaining - 1), dtype=np.intp)
    return parts[: list_parts(R, s, start, is_strong, parts)]


def _searched_gain(R, s, remaining, start):
    none, free = np.arange(0), np.arange(len(s))
    return 4.0 * best_beyond(R, s, none, free, remaining, 0.25 * start)[0]


def _checked_gain(R, s, remaining, start):
    return 4.0 * largest_gain_beyond(R.copy(), s.copy(), 0, remaining, 0.25 * start)


@dataclass(frozen=True)
class Code:
    """What is tested: ``pairs`` and ``thirds`` mark parts, ``gain`` tries them."""

    pairs: Callable
    thirds: Callable
    gain: Callable

    def completes(self, R, s, members, start):
        """Whether a set has a part that is marked, and so is tried."""
        is_strong = self.pairs(R, s, len(members), start)
        pairs = [(i, j) for i in members for j in members if is_strong[i, j]]
        if len(members) == 3:
            return len(pairs) > 0
        return any(
            self.thirds(R, s, i, j, start)[list(members)].any() for i, j in pairs
        )


CODES = {
    "search": Code(_searched_pairs, _searched_thirds, _searched_gain),
    "checker": Code(_checked_pairs, _checked_thirds, _checked_gain),
}


def exact_gain(R, s, members, factor=1):
    """The gain of a set with enlarged correlations; infinite if it is not definite.

    The diagonal is one, whatever R has there.
    """
    members = list(members)
    G, slope = factor * exact(R[np.ix_(members, members)]), exact(s[members])
    G[np.diag_indices(len(members))] = Fraction(1)
    gain = Fraction(0)
    for k in range(len(members)):
        if G[k, k] <= 0:
            return math.inf
        gain += slope[k] ** 2 / G[k, k]
        t = G[k, k + 1 :] / G[k, k]
        slope[k + 1 :] -= t * slope[k]
        G[k + 1 :, k + 1 :] -= np.multiply.outer(t, G[k, k + 1 :])
    return gain


def float_below(value):
    """The largest float that is less than a rational."""
    result = float(value)
    while Fraction(result) >= value:
        result = math.nextafter(result, -math.inf)
    return result


def symmetric(n, correlation):
    R = np.full((n, n), correlation)
    np.fill_diagonal(R, 1.0)
    return R
