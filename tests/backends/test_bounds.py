"""Bounds that rows and values imply: they hold, they are tight, they are refused."""

import numpy as np
import pytest

from cardqp import ParameterError, SparseQP
from cardqp.backends import known
from cardqp.backends.bounds import implied_by_rows, implied_by_value
from cardqp.heuristics.local_search import improve
from cardqp.subproblems.support_qp import fit_support
from tests.problems import KINDS, enumerate_optimum, random_problem


def proved(problem):
    fit = known.find_point(problem, known.fit_start(problem, None))
    value = improve(problem, fit).objective
    return implied_by_value(problem, implied_by_rows(problem), value)


@pytest.mark.parametrize("seed", range(100, 102))
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_within_the_bounds(kind, seed):
    problem = random_problem(kind, seed)
    optimum, support = enumerate_optimum(problem)
    if np.isinf(optimum):
        pytest.skip("no feasible point")
    x = fit_support(problem, np.array(support, dtype=int)).x
    lower, upper = proved(problem)
    assert np.isfinite(lower).all()
    assert np.isfinite(upper).all()
    is_on = np.isin(np.arange(problem.n), support)
    assert (x >= np.where(is_on, lower, 0.0)).all()
    assert (x <= np.where(is_on, upper, 0.0)).all()
    assert (lower >= problem.lower).all()
    assert (upper <= problem.upper).all()


@pytest.mark.parametrize("is_factor", [False, True])
def test_the_box_touches_the_ellipsoid(is_factor):
    rng = np.random.default_rng(3)
    n, F = 6, rng.standard_normal((9, 6))
    c, settings = rng.standard_normal(n), {"eta": 5.0, "sparsity": 3, "constant": 2.0}
    problem = SparseQP.from_factor(F, c, **settings)
    if not is_factor:
        problem = SparseQP(F.T @ F, c, **settings)
    G = F.T @ F + np.eye(n) / 5.0
    H = np.linalg.inv(G)
    centre = -0.5 * H @ c
    least, value = problem.value(centre), 4.0
    free = np.full(n, np.inf)
    lower, upper = implied_by_value(problem, (-free, free), value)
    for j in range(n):
        step = H[:, j] * np.sqrt((value - least) / H[j, j])
        assert problem.value(centre + step) == pytest.approx(value)
        assert upper[j] == pytest.approx((centre + step)[j], rel=1e-6)
        assert lower[j] == pytest.approx((centre - step)[j], rel=1e-6)
        assert upper[j] >= (centre + step)[j]
        assert lower[j] <= (centre - step)[j]


def test_what_switches_cost_is_taken_off():
    settings = {"eta": 1.0, "sparsity": 2, "forced_in": [0, 1]}
    free = np.full(2, np.inf)
    dear = SparseQP(np.eye(2), [0.0, 0.0], penalty=2.0, **settings)
    plain = SparseQP(np.eye(2), [0.0, 0.0], **settings)
    _, with_price = implied_by_value(dear, (-free, free), 6.0)
    _, without = implied_by_value(plain, (-free, free), 2.0)
    np.testing.assert_allclose(with_price, without, rtol=1e-6)
    np.testing.assert_allclose(without, 1.0, rtol=1e-6)


def test_thresholds_beyond_the_ellipsoid_keep_their_order():
    problem = SparseQP(np.eye(2), [-2.0, 0.0], eta=1.0, sparsity=1, lower=[0.0, 9.0])
    lower, upper = implied_by_value(problem, (problem.lower, problem.upper), 0.0)
    np.testing.assert_array_equal(lower, [0.0, 9.0])
    assert (upper >= lower).all()
    assert upper[1] == 9.0


def test_a_row_bounds_what_is_open():
    problem = SparseQP(
        np.eye(3),
        np.zeros(3),
        eta=1.0,
        sparsity=2,
        A_eq=[[1.0, 2.0, 0.0]],
        b_eq=[4.0],
        lower=[0.0, 0.0, 0.0],
    )
    lower, upper = implied_by_rows(problem)
    np.testing.assert_allclose(upper, [4.0, 2.0, np.inf], rtol=1e-6)
    assert (upper[:2] >= [4.0, 2.0]).all()
    np.testing.assert_array_equal(lower, 0.0)


def test_a_row_with_two_open_sides_bounds_nothing():
    problem = SparseQP(
        np.eye(2), np.zeros(2), eta=1.0, sparsity=1, A=[[1.0, 1.0]], b=[1.0]
    )
    lower, upper = implied_by_rows(problem)
    assert np.isinf([lower, upper]).all()


def test_bounds_that_are_known_need_no_point():
    problem = SparseQP(np.eye(2), np.zeros(2), eta=1.0, sparsity=1, lower=-1, upper=1)
    lower, upper = implied_by_value(problem, (problem.lower, problem.upper), np.inf)
    np.testing.assert_array_equal([lower, upper], [[-1, -1], [1, 1]])


def test_no_point_no_bounds():
    problem = SparseQP(
        np.eye(2), np.zeros(2), eta=1.0, sparsity=1, A=[[1.0, 1.0]], b=[1.0]
    )
    with pytest.raises(ParameterError, match="needs bounds or a feasible point"):
        implied_by_value(problem, (problem.lower, problem.upper), np.inf)


def test_curvature_lost_in_rounding():
    twins = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = SparseQP(twins, [1.0, 1.0, 0.0], eta=1e15, sparsity=2)
    with pytest.raises(ParameterError, match="curvature of the objective is lost"):
        implied_by_value(problem, (problem.lower, problem.upper), 0.0)
