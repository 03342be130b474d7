"""Numbers rounded down: never too large, and the number itself where it is a float."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from cardqp_check.forms import Dense
from cardqp_check.points import DualPoint, evaluate
from cardqp_check.problem import Rows
from cardqp_check.rounding import (
    add_below,
    below,
    exact,
    matrix_above,
    matrix_below,
    sum_below,
    sums_above,
)
from cardqp_check.views import View


def is_largest_below(value, truth):
    """Whether a float is the largest one that is at most a rational number."""
    return Fraction(value) <= truth < Fraction(math.nextafter(value, math.inf))


def random_floats(rng, n):
    return rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n)


@pytest.mark.parametrize("seed", range(10))
def test_sums_are_the_largest_floats_below(seed):
    rng = np.random.default_rng(seed)
    x = random_floats(rng, 200)
    y = np.where(rng.random(200) < 0.2, -x, random_floats(rng, 200))
    for a, b, total in zip(x, y, add_below(x, y), strict=True):
        assert is_largest_below(total, Fraction(a) + Fraction(b))
        assert sum_below([a, b]) == total
    truth = sum(map(Fraction, x))
    assert is_largest_below(sum_below(x.tolist()), truth)


@pytest.mark.parametrize("seed", range(10))
def test_sums_of_rows_are_above(seed):
    rng = np.random.default_rng(seed)
    terms = np.abs(rng.normal(size=(50, int(rng.integers(1, 40)))))
    for row, total in zip(terms, sums_above(terms), strict=True):
        truth = sum(map(Fraction, row))
        assert truth <= Fraction(total) <= truth * (1 + Fraction(1, 10**13))
    assert sums_above(np.zeros((1, 3))) == 0.0


def test_tiny_sums():
    tiny = 5e-324
    assert add_below(0.0, 0.0) == sum_below([]) == sum_below([0.0, -0.0]) == 0.0
    assert add_below(1.0, -tiny) == sum_below([1.0, -tiny]) < 1.0
    assert add_below(1.0, tiny) == sum_below([1.0, tiny]) == 1.0


@pytest.mark.parametrize("bad", [-np.inf, np.nan])
def test_what_is_no_number_is_not_below_anything(bad):
    assert not add_below(bad, 1.0) > -np.inf
    assert sum_below([bad, 1.0]) == -np.inf
    assert add_below(1e308, 1e308) < np.inf
    assert sum_below([1e308, 1e308]) == -np.inf


def test_balls():
    for x in (0.0, 1.0, -0.1, 1e-320):
        assert below(arb(x)) == x
    assert below(arb(2) ** -2000) == 0.0
    assert below(-(arb(2) ** -2000)) < 0.0
    assert below(arb(1) + arb(2) ** -100) == 1.0
    assert below(arb(1) - arb(2) ** -100) == math.nextafter(1.0, 0.0)
    assert below(arb.nan()) == -np.inf
    some = exact(np.array([[0.0, 1.0]])) - exact(np.array([[0.0, 1e-40]]))
    assert matrix_below(some).tolist() == [[0.0, math.nextafter(1.0, 0.0)]]
    assert matrix_above(some).tolist() == [[0.0, 1.0]]


def test_zeros_prove_zeros():
    """A problem without any costs, at the point 0."""
    rows = Rows(np.zeros((0, 4)), np.zeros(0), 0)
    lower, upper = (
        np.array([-np.inf, 0.0, -1.0, 0.0]),
        np.array([np.inf, 1.0, 0.0, 0.0]),
    )
    M, c = Dense(exact(np.ones((4, 4))), is_semidefinite=True), exact(np.zeros(4))
    view = View(M, np.full(4, 0.1), c, arb(0), rows, lower, upper)
    nothing = np.zeros(0, np.int64), np.zeros(0)
    (terms,) = evaluate(view, [DualPoint(nothing, np.zeros(0), 1.0)])
    assert terms.base == 0.0
    assert terms.costs.tolist() == [0.0] * 4
