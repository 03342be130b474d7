"""Costs of variables, and views at points, against exact numbers."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from cardqp_check.forms import Dense
from cardqp_check.points import DualPoint, evaluate, least_costs
from cardqp_check.problem import Rows
from cardqp_check.rounding import exact
from cardqp_check.views import View


def least_exact(g, w, lower, upper):
    """The least of ``g x + w x^2`` within bounds, in fractions."""
    g, w = Fraction(g), Fraction(w)
    x = -g / (2 * w)
    if lower > -np.inf:
        x = max(x, Fraction(lower))
    if upper < np.inf:
        x = min(x, Fraction(upper))
    return x * (g + w * x)


@pytest.mark.parametrize("seed", range(20))
def test_costs_are_just_below(seed):
    rng = np.random.default_rng(seed)
    n = 50
    g = rng.normal(size=n) * 10.0 ** rng.uniform(-8, 8, n)
    w = 10.0 ** rng.uniform(-8, 8, n)
    ends = np.sort(rng.normal(size=(2, n)) * 10.0 ** rng.uniform(-4, 4, n), axis=0)
    lower = np.where(rng.random(n) < 0.3, -np.inf, ends[0])
    upper = np.where(rng.random(n) < 0.3, np.inf, ends[1])
    vertex = rng.random(n) < 0.3
    lower[vertex] = np.minimum(-g / (2 * w), upper)[vertex]
    wider = np.nextafter(g, np.inf)
    costs = least_costs(g, wider, w, lower, upper)
    for j in range(n):
        truth = least_exact(g[j], w[j], lower[j], upper[j])
        size = max(
            [abs(truth)]
            + [
                abs(Fraction(x) * Fraction(g[j]))
                for x in (lower[j], upper[j])
                if np.isfinite(x)
            ]
        )
        assert Fraction(costs[j]) <= truth
        assert Fraction(costs[j]) <= least_exact(wider[j], w[j], lower[j], upper[j])
        assert truth - Fraction(costs[j]) <= size * Fraction(1e-14)


def test_slopes_that_are_not_known_prove_nothing():
    one, infinite = np.ones(3), np.full(3, np.inf)
    slopes = np.array([-np.inf, np.nan, 1.0]), np.array([1.0, np.nan, np.nan])
    costs = least_costs(*slopes, one, -infinite, infinite)
    assert (costs == -np.inf).all()


def test_a_ridge_that_is_not_positive_proves_nothing():
    one = np.ones(3)
    costs = least_costs(one, one, np.array([0.0, -1.0, np.nan]), -one, one)
    assert (costs == -np.inf).all()


@pytest.mark.parametrize("w", [5e-324, 1e-320, 1e-310, 2.3e-308, 1e300, 1.7e308])
@pytest.mark.parametrize("g", [0.0, 1e-165, 1e-150, 1.0, 1e150])
def test_costs_are_below_with_extreme_ridges(g, w):
    for lower, upper in ((-np.inf, np.inf), (-1e10, 2.0), (1e-5, 1e200)):
        ends = (np.full(1, x) for x in (g, g, w, lower, upper))
        cost = float(least_costs(*ends)[0])
        assert cost < np.inf
        assert cost == -np.inf or Fraction(cost) <= least_exact(g, w, lower, upper)


def test_numbers_that_overflow_prove_nothing_false():
    one, huge = np.ones(2), np.array([1e200, 1e308])
    infinite = np.array([np.inf, np.inf])
    costs = least_costs(-huge, huge, one, -infinite, infinite)
    assert (costs == -np.inf).all()
    costs = least_costs(huge, huge, huge, one, one)
    assert costs[0] <= 2 * huge[0]


def random_view(seed, n=6, m=2, p=1):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n - 2, n))
    M = F.T @ F
    rows = Rows(rng.normal(size=(m + p, n)), np.array([0.5, 0.25, 1.0]), m)
    lower = np.array([-np.inf, -1.0, 0.0, 0.5, -2.0, -np.inf])
    upper = np.array([np.inf, 1.0, np.inf, 2.0, 0.0, np.inf])
    c, ridge = exact(rng.normal(size=n)), rng.uniform(0.5, 2.0, n)
    return View(Dense(exact((M + M.T) / 2)), ridge, c, arb(0.75), rows, lower, upper)


def value_at(view, x):
    """The objective of a view, but for the penalty, as a ball."""
    point, M = exact(x), view.form.matrix()
    value = view.constant + (point.transpose() * M * point)[0, 0]
    value += (view.c.transpose() * point)[0, 0]
    return value + sum(
        (
            arb(w) * arb(t) ** 2
            for w, t in zip(view.ridge.tolist(), x.tolist(), strict=True)
        ),
        arb(0),
    )


def lagrangian_at(view, beta, x):
    """The objective with the rows times valid multipliers: at most it, if they hold."""
    price = sum(
        (
            arb(t) * (arb(float(row @ x)) - arb(b))
            for t, row, b in zip(
                beta.tolist(), view.rows.A, view.rows.b.tolist(), strict=True
            )
        ),
        arb(0),
    )
    return value_at(view, x) + price


@pytest.mark.parametrize("seed", range(30))
def test_no_point_is_below_base_and_costs(seed):
    view, rng = random_view(seed), np.random.default_rng(seed)
    index = rng.permutation(view.n)[:4]
    a, beta = rng.normal(size=4), rng.normal(size=3)
    point = DualPoint((index, a), beta, 1.0)
    terms = evaluate(view, [point, point])[1]
    valid = view.rows.valid(beta)
    assert (valid[:2] >= 0).all()
    for _ in range(20):
        x = np.clip(rng.normal(size=view.n) * 2, view.lower, view.upper)
        on = rng.random(view.n) < 0.6
        x[~on] = 0.0
        least = terms.base + terms.costs[on].sum()
        assert arb(least - 1e-9) <= lagrangian_at(view, valid, x)


def test_base_and_costs_are_met_where_the_plane_touches():
    view = random_view(0)
    free = np.full(view.n, np.inf)
    view = View(**vars(view) | {"lower": -free, "upper": free})
    G = np.array([float(e) for e in view.form.matrix().entries()]).reshape(6, 6)
    c = np.array([float(e) for e in view.c.entries()])
    x = np.linalg.solve(G + np.diag(view.ridge), -c / 2)
    terms = evaluate(view, [DualPoint((np.arange(6), x), np.zeros(3), 1.0)])[0]
    bound = terms.base + terms.costs.sum()
    assert abs(bound - float(value_at(view, x))) < 1e-11


@pytest.mark.parametrize("seed", range(10))
def test_matrices_that_are_not_semidefinite(seed):
    """What they lack is taken from the ridge, and is part of their tangent planes."""
    view, rng = random_view(seed), np.random.default_rng(seed)
    M = view.form.matrix() - exact(np.diag(rng.uniform(0.0, 0.3, view.n)))
    view = View(**vars(view) | {"form": Dense(M), "ridge": np.full(view.n, 50.0)})
    a = rng.normal(size=view.n)
    terms = evaluate(view, [DualPoint((np.arange(view.n), a), np.zeros(3), 1.0)])[0]
    assert np.isfinite(terms.costs).all()
    for x in (a, a / 2, *rng.normal(size=(20, view.n))):
        x = np.clip(x, view.lower, view.upper)
        assert arb(terms.base + terms.costs.sum() - 1e-9) <= value_at(view, x)


def test_multipliers_of_inequalities_are_not_negative():
    """``x <= -1`` would have to hold the other way round."""
    free, rows = np.full(1, np.inf), Rows(np.ones((1, 1)), -np.ones(1), 1)
    form, zero = Dense(exact(np.eye(1))), exact(np.zeros(1))
    view = View(form, np.ones(1), zero, arb(0), rows, -free, free)
    nothing = np.zeros(0, int), np.zeros(0)
    points = [DualPoint(nothing, np.array([beta]), 1.0) for beta in (-1.0, 0.0, 1.0)]
    below, none, above = evaluate(view, points)
    assert (below.base, below.costs.tolist()) == (none.base, none.costs.tolist())
    assert (none.base, none.costs.tolist()) == (0.0, [0.0])
    assert above.base == 1.0


@pytest.mark.parametrize("seed", range(10))
def test_moved_diagonals_are_rounded_down(seed):
    rng = np.random.default_rng(seed)
    view = random_view(seed).minorant(np.eye(6), np.ones(6), 3)
    shift = rng.normal(size=6) * 1e-3
    moved = view.moved(shift)
    for before, after in (
        (view.ridge, moved.ridge),
        (view.rest.curvature, moved.rest.curvature),
    ):
        for old, new, more in zip(before, after, shift, strict=True):
            truth = Fraction(old) + Fraction(more)
            assert 0 <= truth - Fraction(new) <= abs(truth) * Fraction(1, 10**15)


def test_signs_are_those_of_bounds():
    """A variable that may be a little below zero has no sign."""
    M = exact(np.array([[2.0, 1.0], [1.0, 2.0]]))
    free, rows = np.full(2, np.inf), Rows(np.zeros((0, 2)), np.zeros(0), 0)
    for low, least in ((0.0, 3.0), (-1e-3, 2.0)):
        lower = np.full(2, low)
        view = View(Dense(M), np.ones(2), exact(np.zeros(2)), arb(0), rows, lower, free)
        ridge = view.minorant(np.zeros((2, 2)), np.ones(2), 2).ridge
        assert np.allclose(ridge, least, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_minorants_are_below_at_sparse_points(seed):
    given, rng = random_view(seed), np.random.default_rng(seed)
    n, K = given.n, int(rng.integers(1, 5))
    F = rng.normal(size=(3, n)) * 0.3
    P = F.T @ F + np.triu(rng.normal(size=(n, n)), 1) * 1e-3
    weights = rng.uniform(0.5, 2.0, n)
    view = given.moved(rng.normal(size=n) * 0.1)
    view = view.minorant(P, weights, K)
    for _ in range(40):
        x = rng.choice([-1.0, 1.0], n) * rng.uniform(0.5, 2.0, n)
        x = np.clip(x, given.lower, given.upper)
        support = rng.permutation(n)[:K]
        x[np.setdiff1d(np.arange(n), support)] = 0.0
        assert value_at(view, x) <= value_at(given, x) + 1e-9
        inside = support[: int(rng.integers(0, K + 1))]
        status = rng.choice(np.array([-1, 0], np.int8), n)
        status[support], status[inside] = 0, 1
        ridge = view.rest.node_ridge(status, K - len(inside))
        raised = View(**vars(view) | {"ridge": ridge})
        assert value_at(raised, x) <= value_at(given, x) + 1e-9
        may_be_in = (status > 0) | ((status == 0) & (len(inside) < K))
        assert (ridge >= view.ridge - 1e-12)[may_be_in].all()


@pytest.mark.parametrize("seed", range(10))
def test_minorants_are_made_symmetric(seed):
    """A matrix is only as good as its symmetric part, whose tangent planes count."""
    given, rng = random_view(seed), np.random.default_rng(seed)
    n, K = given.n, 2
    P = np.eye(n) + np.triu(rng.normal(size=(n, n)), 1)
    ones = np.ones(n)
    view, same = given.minorant(P, ones, K), given.minorant((P + P.T) / 2, ones, K)
    ridge = np.full((1, n), 50.0)
    point = DualPoint((np.arange(n), rng.normal(size=n)), np.zeros(3), 1.0)
    terms, expected = (
        evaluate(view, [point], ridge)[0],
        evaluate(same, [point], ridge)[0],
    )
    assert terms.base == expected.base
    assert np.array_equal(terms.costs, expected.costs)
    assert np.allclose(view.ridge, same.ridge, atol=1e-12)
    raised = View(**vars(view) | {"ridge": ridge[0]})
    for _ in range(20):
        x = np.clip(rng.normal(size=n), given.lower, given.upper)
        assert arb(terms.base + terms.costs.sum() - 1e-9) <= value_at(raised, x)


def test_minorants_lose_no_more_than_they_must():
    """With two variables and one nonzero, only the diagonal counts."""
    M = exact(np.array([[2.0, 5.0], [5.0, 3.0]]))
    free, rows = np.full(2, np.inf), Rows(np.zeros((0, 2)), np.zeros(0), 0)
    view = View(Dense(M), np.ones(2), exact(np.zeros(2)), arb(0), rows, -free, free)
    P = np.zeros((2, 2))
    assert np.allclose(view.minorant(P, np.ones(2), 1).ridge, [3, 4], atol=1e-12)
    assert np.allclose(view.minorant(P, np.ones(2), 2).ridge, [-2, -1], atol=1e-12)
    signed = View(**vars(view) | {"lower": np.zeros(2)})
    assert np.allclose(signed.minorant(P, np.ones(2), 2).ridge, [3, 4], atol=1e-12)
    both = View(**vars(signed) | {"upper": np.array([np.inf, 0.0]), "lower": -free})
    both.lower[0] = 0.0
    assert np.allclose(both.minorant(P, np.ones(2), 2).ridge, [-2, -1], atol=1e-12)
    node = view.minorant(P, np.ones(2), 2).rest.node_ridge(np.array([1, -1]), 1)
    assert abs(node[0] - 3) < 1e-12


def test_row_shifts_change_nothing_where_the_row_holds():
    view, rng = random_view(1), np.random.default_rng(1)
    shifted = view.shifted_by_row(rng.normal(size=view.n))
    row, b = view.rows.A[2], view.rows.b[2]
    for _ in range(10):
        x = rng.normal(size=view.n)
        x *= b / (row @ x)
        difference = value_at(shifted, x) - value_at(view, x)
        assert abs(float(difference)) < 1e-9
    assert abs(float(value_at(shifted, 2 * x) - value_at(view, 2 * x))) > 1e-3
