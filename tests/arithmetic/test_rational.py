from fractions import Fraction

import numpy as np
import pytest

from cardqp.arithmetic.rational import (
    cancelling,
    is_positive_definite,
    product,
    rounded,
    solve_exactly,
)


@pytest.mark.parametrize("n", [1, 3, 7])
def test_systems_are_solved_without_rounding(n):
    rng = np.random.default_rng(n)
    matrix = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-9, 9, n)
    rhs = rng.standard_normal(n)
    x = solve_exactly(matrix, rhs)
    assert [product(row, x) for row in matrix] == [Fraction(b) for b in rhs]


def test_a_pivot_may_be_zero():
    matrix = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert solve_exactly(matrix, np.array([3.0, 5.0])) == [Fraction(5, 2), 3]


def test_singular_systems_are_refused():
    with pytest.raises(ZeroDivisionError, match="singular"):
        solve_exactly(np.ones((2, 2)), np.ones(2))


def test_definiteness_is_decided_to_the_last_bit():
    edge = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert not is_positive_definite(edge)
    assert is_positive_definite(edge + np.diag([0.0, 2.0**-52]))
    assert not is_positive_definite(np.diag([1.0, -1e-300]))


def test_weights_that_cancel_exactly():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((4, 3))
    nearly = np.linalg.svd(matrix.T)[2][-1]
    exact = cancelling(matrix, nearly)
    assert not any(product(column, exact) for column in matrix.T)
    np.testing.assert_allclose(rounded(exact), nearly, rtol=1e-12)


def test_nothing_cancels_but_zeros():
    assert cancelling(np.eye(2), np.ones(2)) is None
    assert cancelling(np.array([[1.0], [0.0]]), np.ones(2)) == [0, 1]


def test_too_large_for_floats():
    assert rounded([Fraction(10) ** 400, -(Fraction(10) ** 400)]).tolist() == [
        np.inf,
        -np.inf,
    ]
