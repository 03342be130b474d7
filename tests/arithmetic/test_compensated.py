import math
from fractions import Fraction

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.arithmetic.compensated import accurate_sum, products


def exact_objective(problem, x):
    """The objective in rational arithmetic, from the problem's data."""
    point = [Fraction(value) for value in x.tolist()]

    def dot(row):
        return sum(Fraction(a) * b for a, b in zip(row.tolist(), point, strict=True))

    array = problem.quadratic.array
    if array.shape == (problem.n, problem.n):
        curved = sum(p * dot(row) for p, row in zip(point, array, strict=True))
    else:
        curved = sum(dot(row) ** 2 for row in array)
    ridge = sum(Fraction(w) * p * p for w, p in zip(problem.ridge, point, strict=True))
    price = Fraction(problem.penalty or 0.0) * int(np.count_nonzero(x))
    return Fraction(problem.constant) + dot(problem.c) + curved + ridge + price


@pytest.mark.parametrize("is_factor", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_terms_that_cancel_cost_no_digits(seed, is_factor):
    rng = np.random.default_rng(seed)
    n = 5
    F = rng.standard_normal((n + 1, n)) * 10.0 ** rng.uniform(-4, 4, n)
    c = rng.standard_normal(n) * 10.0 ** rng.uniform(-4, 4, n)
    settings = {"eta": 1e5, "sparsity": n, "penalty": 0.1}
    if is_factor:
        problem = SparseQP.from_factor(F, c, **settings)
    else:
        problem = SparseQP(F.T @ F, c, **settings)
    x = rng.standard_normal(n) * (rng.random(n) < 0.7)
    # All but the rounding of the first value cancels.
    problem = problem.with_linear(constant=-problem.objective(x))
    true = exact_objective(problem, x)
    assert abs(problem.objective(x) - float(true)) <= 1e-15 * float(abs(true)) + 1e-30
    assert problem.value(x) == pytest.approx(
        float(true), abs=1e-13 * problem.magnitude(x)
    )


def test_products_keep_what_rounding_takes():
    a = np.array([1.0 + 2.0**-30])
    assert accurate_sum(np.append(products(a, a), -1.0)) == 2.0**-29 + 2.0**-60
    assert np.isnan(accurate_sum(np.array([np.inf, 1.0])))


def test_many_terms_are_added_as_accurately_as_few():
    rng = np.random.default_rng(0)
    terms = rng.standard_normal(100_001) * 10.0 ** rng.uniform(-8, 8, 100_001)
    terms[-1] = -math.fsum(terms[:-1])
    assert accurate_sum(terms) == pytest.approx(math.fsum(terms), rel=1e-6)
    assert abs(terms.sum()) > 5 * abs(math.fsum(terms))


def test_numbers_too_large_to_be_split_are_added_as_they_are():
    problem = SparseQP(np.eye(1), [0.0], eta=1.0, sparsity=1)
    x = np.array([9e99])
    assert problem.objective(x) == pytest.approx(2 * 81e198)


def test_rounding_may_be_all_that_is_left_of_terms_that_cancel():
    x = [2.0**60, 1.0, -(2.0**60)]
    problem = SparseQP.from_factor(np.ones((1, 3)), np.zeros(3), eta=None, sparsity=3)
    assert accurate_sum(problem.quadratic.terms(np.array(x))) == 1.0
