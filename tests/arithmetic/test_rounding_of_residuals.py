"""Margins of residuals as dual points, and of nodes, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.arithmetic.rounding import (
    RESIDUAL_BASE_UNIT,
    RESIDUAL_COST_FACTOR,
    RESIDUAL_SLOPE_UNIT,
    SMALLEST_NORMAL,
    UNIT_ROUNDOFF,
    leaf_unit,
    same_data_unit,
)
from cardqp.bounds.residual_bound import Residual
from cardqp.branch_and_bound.streamed import node_bounds
from cardqp.certificate import DualPoint
from cardqp.problem.streamed_form import StreamedForm
from tests.arithmetic.exact import (
    are_covered,
    cancelling,
    exact,
    least_cost,
    numbers,
)

U = Fraction(UNIT_ROUNDOFF)
SEEDS = range(40)


class Given:
    """A residual whose base is given."""

    def __init__(self, base):
        self._base = base

    def base(self, _):
        return self._base


@pytest.mark.parametrize("count", [3, 40, 200])
def test_leaves_with_costs_that_cancel(count):
    """Prices make costs of both signs: rounding goes with their sizes, not the sum."""
    lost = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        gains = -np.sort(-np.abs(numbers(rng, count, spread=1.0)))
        paid = np.full(count, gains.sum() / count) * (1 + 0.1 * rng.random(count))
        found = node_bounds._Cheapest(
            np.arange(count), -gains, float(paid.sum()), float(paid.sum())
        )
        unit = leaf_unit(2 * count)
        base = float(numbers(rng, 1, spread=1.0)[0])
        totals = [found.total(count, unit)] * 2
        bounded = node_bounds._best_tried(
            Given(base), (1.0, 0.9), totals, [found, found]
        )
        true = Fraction(base) + sum(exact(paid) - U * abs(exact(paid)))
        true -= sum(exact(gains) * (1 + U))
        assert Fraction(bounded.bound) <= true
        plain = base + (float(paid.sum()) - float(gains.sum()))
        lost += Fraction(plain) > true
        size = abs(base) + paid.sum() + gains.sum()
        assert true - Fraction(bounded.bound) <= Fraction(2 * unit * size)
    assert lost > 5


@pytest.mark.parametrize("size", [1.0, 1e-150, 1e-161, 1e70])
def test_residuals_as_dual_points(size):
    along, reaches = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        N = int(rng.integers(1, 12))
        vector = numbers(rng, N, spread=1.0) * size
        X = numbers(rng, N, 3, spread=1.0) * min(size, 1.0)
        y = numbers(rng, N, spread=1.0)
        if N > 1:
            y, X[:, 0] = cancelling(rng, vector), cancelling(rng, vector)
        form = StreamedForm(X, y, np.einsum("ij,ij->j", X, X), X.T @ y)
        found, r = Residual.of(form, vector), exact(vector)
        true_along, true_square = exact(y) @ r / N, sum(r**2) / N
        assert Fraction(found.target_product) <= true_along
        assert Fraction(found.squared_norm) >= true_square
        along.append(true_along < Fraction(float(y @ vector) / N))
        lost = N * SMALLEST_NORMAL
        length = np.sqrt(form.squares) + np.sqrt(lost)
        error = abs(exact(X.T @ vector) - exact(X).T @ r)
        reaches += list(error / exact(found.product_error * length + lost))
        for t in (1.0, 0.3):
            gain, paid = 2 * Fraction(t) * true_along, Fraction(t) ** 2 * true_square
            assert Fraction(found.base(t)) <= gain - paid
    assert max(reaches) <= 1
    if size == 1.0:
        assert are_covered(reaches)
        assert sum(along) > 5


def test_residuals_are_those_of_the_point():
    """A certificate has the point, and not what was computed of it."""
    lost = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        N, n = int(rng.integers(2, 9)), 4
        X, x = numbers(rng, N, n, spread=1.0), numbers(rng, n, spread=1.0)
        y = X @ x * (1 + 1e-13 * rng.standard_normal(N))
        X[:, 0] += 1e-3 * rng.standard_normal(N)
        y += (X[:, 0] * x[0] - y) * (seed % 2)
        problem = SparseQP.from_data(X, y, eta=1.0, sparsity=2)
        form = problem.quadratic
        point = DualPoint.at(x * (rng.random(n) < 0.9), np.zeros(0))
        a = np.zeros(n)
        a[point.index] = point.value
        found = point.residual(problem, form)
        r = exact(y) - exact(X) @ exact(a)
        along, square = exact(y) @ r / N, sum(r**2) / N
        assert Fraction(found.target_product) <= along
        assert Fraction(found.squared_norm) >= square
        error = abs(exact(X.T @ found.vector) - exact(X).T @ r)
        reach = exact(found.product_error * np.sqrt(form.squares))
        assert (error <= reach).all()
        alone = Residual.of(form, found.vector)
        lost += Fraction(alone.target_product) > along
        lost += Fraction(alone.squared_norm) < square
        lost += (error > exact(alone.product_error * np.sqrt(form.squares))).any()
        size = np.abs(a) @ np.sqrt(form.squares) + np.linalg.norm(y)
        spent = found.product_error - alone.product_error
        assert spent <= 2 * (n + 5) * UNIT_ROUNDOFF * size
    assert lost > 5


def test_the_target_is_its_own_residual():
    X, y = np.eye(3), np.array([1.0, 2.0, 3.0])
    problem = SparseQP.from_data(X, y, eta=1.0, sparsity=1)
    form = problem.quadratic
    found = DualPoint.at(np.zeros(3), np.zeros(0)).residual(problem, form)
    alone = Residual.of(form, y)
    assert found.squared_norm == alone.squared_norm
    assert found.target_product == alone.target_product
    assert found.product_error == alone.product_error


@pytest.mark.parametrize(
    ("lower", "upper"), [(-np.inf, np.inf), (0.0, np.inf), (-0.4, -0.1), (0.1, 0.4)]
)
def test_costs_of_columns(lower, upper):
    """Also of variables with a threshold, whose cost is least at the smaller slope."""
    shares = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        N = int(rng.integers(1, 4))
        X, vector = rng.standard_normal((N, 2)), rng.standard_normal(N)
        X[:, 0] = vector * rng.uniform(0.5, 2.0)  # as long a product as can be
        problem = SparseQP.from_data(
            X,
            vector,
            eta=float(rng.uniform(1, 9)),
            sparsity=1,
            lower=lower,
            upper=upper,
        )
        form, t = problem.quadratic, float(rng.uniform(0.1, 1.0))
        found = Residual.of(form, vector)
        costs = found.costs(problem, form, X.T @ vector, t)
        slope = -2 * Fraction(t) * (exact(X).T @ exact(vector)) / N
        ridge = 1 / exact(problem.eta)
        for j in range(2):
            ends = [slope[j] / (-2 * ridge[j])] * 2
            if np.isfinite(lower):
                ends = [Fraction(lower), max(ends[0], Fraction(lower))]
            if np.isfinite(upper):
                ends[1] = Fraction(upper)
            true = least_cost(slope[j], ridge[j], *ends)
            assert Fraction(costs[j]) <= true
            size = abs(true) + abs(slope[j])
            shares.append((true - Fraction(costs[j])) / (64 * (N + 4) * U * size))
    assert max(shares) <= 1  # what is given up is a few units, no more


def test_single_steps_of_costs_of_columns():
    """Slopes and squares as they are computed, from numbers that count as they are."""
    rng, slopes, costs = np.random.default_rng(0), [], []
    for _ in range(300):
        N, t = int(rng.integers(1, 50)), float(rng.uniform(0.1, 1.0))
        product, ridge = rng.standard_normal(), float(rng.uniform(0.1, 1.0))
        step = 2.0 * t / N
        true = 2 * Fraction(t) * Fraction(product) / N
        off = abs(Fraction(step * product) - true)
        slopes.append(off / (Fraction(RESIDUAL_SLOPE_UNIT) * abs(true)))
        steepest = step * abs(product)
        cost = steepest * (steepest / (-4.0 * ridge))
        least = -(true**2) / (4 * Fraction(ridge) * (1 - U))
        assert Fraction(cost * RESIDUAL_COST_FACTOR) <= least
        costs.append((Fraction(cost) - least) / abs(least))
        costs[-1] /= Fraction(RESIDUAL_COST_FACTOR) - 1
    assert are_covered(slopes)
    assert are_covered(costs)


def test_bases_of_residuals_are_rounded_down():
    rng, shares = np.random.default_rng(0), []
    for _ in range(300):
        along, square = abs(rng.standard_normal()), abs(rng.standard_normal())
        t = along / square * (1 + 1e-12 * rng.standard_normal())
        residual = Residual(np.zeros(1), along, square, 0.0)
        t *= 2.0  # gain and loss all but cancel
        true = 2 * Fraction(t) * Fraction(along) - Fraction(t) ** 2 * Fraction(square)
        assert Fraction(residual.base(t)) <= true
        plain = Fraction(2.0 * t * along - t * (t * square))
        size = 2.0 * t * along + t * (t * square)
        shares.append((plain - true) / Fraction(RESIDUAL_BASE_UNIT * size))
    assert are_covered(shares)


def test_data_in_another_order_are_the_same_data():
    differences = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X, y = numbers(rng, 30, 3, spread=2.0), numbers(rng, 30, spread=2.0)
        order = rng.permutation(30)
        form, other = StreamedForm.read(X, y), StreamedForm.read(X[order], y[order])
        c, power = -2.0 * other.products / 30, float(y[order] @ y[order]) / 30
        differences += bool((other.products != form.products).any())
        assert form.is_regression(c, power)
        assert not form.is_regression(c, power * (1 + 3 * same_data_unit(30)))
        away = 3 * same_data_unit(30) * np.sqrt(power * form.diagonal)
        assert not form.is_regression(c + away, power)
    assert differences > 5
