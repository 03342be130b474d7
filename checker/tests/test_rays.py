"""Rays: what floats nearly combine to a contradiction, and what is none."""

import numpy as np
import pytest
from flint import arb

from cardqp_check.branches import Branch
from cardqp_check.forms import Dense
from cardqp_check.problem import Rows, Rule
from cardqp_check.rays import proves_empty
from cardqp_check.rounding import exact
from cardqp_check.views import View

THIRD = 1 / 3
"""Not a third: three of them are 1 as floats, but not as numbers."""


def proves(A, b, beta, lower=-np.inf, upper=np.inf, n_inequalities=0, **rule):
    """Whether a combination of equalities proves that there is no point."""
    A = np.array(A, dtype=float)
    n = A.shape[1]
    low, high = np.zeros(n) + lower, np.zeros(n) + upper
    rows = Rows(A, np.array(b, dtype=float), n_inequalities)
    form, zero = Dense(exact(np.eye(n))), exact(np.zeros(n))
    view = View(form, np.ones(n), zero, arb(0), rows, low, high)
    rule = Rule(n, n, rule.get("penalty", 0.0), None, np.zeros(0, np.int64), None)
    branch = Branch(np.zeros(n, np.int8))
    return proves_empty(view, rule, np.array(beta), branch)


def test_what_nearly_vanishes_is_balanced():
    assert proves([[3.0], [1.0]], [1.0, 1.0], [THIRD, -1.0])
    assert not proves([[3.0], [1.0]], [3.0, 1.0], [THIRD, -1.0])


def test_what_vanishes_already_goes_on_to_do_so():
    """The second variable is balanced from the start, the first is not."""
    A, b = [[3.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, 1.0]
    assert THIRD * A[0][1] - THIRD * A[2][1] == 0
    assert proves(A, b, [THIRD, -1.0, -THIRD])
    # x = (1, 0) and -2 of the last: the rows have this point.
    assert not proves(A, [3.0, 1.0, 0.0], [THIRD, -1.0, -THIRD])


def test_what_no_longer_has_the_sign_of_its_bound_is_balanced_too():
    """Without the first, the combination of the second is below zero."""
    A, b = [[1.0, 0.0], [0.0, 1.0], [-1.0, -3.0]], [0.0, 0.0, -1.0]
    ulp = 2.0**-51
    beta = [1.0 + ulp, 3.0 + ulp, 1.0]
    assert proves(A, b, beta, lower=[-np.inf, -1.0])
    # x = (1, 0) meets these rows.
    assert not proves(A, [1.0, 0.0, -1.0], beta, lower=[-np.inf, -1.0])


@pytest.mark.parametrize("seed", range(30))
def test_rows_with_a_point_are_never_refuted(seed):
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (4, 3)).astype(float)
    x = rng.integers(-2, 3, 3)
    assert not proves(A, A @ x, rng.standard_normal(4))
    null = np.linalg.svd(A)[0][:, -1]
    b = A @ x - null * 1e-3
    assert proves(A, b, null)
    assert not proves(A, b, -null)


def test_inequalities_have_no_negative_multipliers():
    """``x <= 1`` and ``x = 3`` contradict each other; the other way round not."""
    A = [[1.0], [1.0]]
    assert proves(A, [1.0, 3.0], [1.0, -1.0], n_inequalities=1)
    assert not proves(A, [3.0, 1.0], [-1.0, 1.0], n_inequalities=1)
    # Balanced, the second multiplier would be negative, though at first none is.
    assert not proves(A, [3.0, 5.0], [1.0, 0.25], n_inequalities=2)


@pytest.mark.parametrize("slope", [1.0, -1.0])
def test_what_bounds_allow_is_no_contradiction(slope):
    """``x = 1``, with x from 0 to 2, or from -2 to 0."""
    assert not proves([[slope]], [slope], [-1.0], lower=0.0, upper=2.0)
    assert not proves([[slope]], [slope], [1.0], lower=0.0, upper=2.0)
    assert proves([[slope]], [slope], [-slope], lower=-2.0, upper=0.0)


def test_a_penalty_makes_nothing_infeasible():
    assert not proves([[1.0]], [1.0], [-1.0], lower=0.0, upper=2.0, penalty=9.0)
    assert not proves([[1.0]], [0.5], [-1.0], lower=0.5, upper=1.0, penalty=9.0)
