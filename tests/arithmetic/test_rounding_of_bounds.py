"""Margins of planes and of Theorems 1 and 2 against exact arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.arithmetic.rounding import (
    BOUND_UNIT,
    EXACT_SUM_UNIT,
    FIXING_SHARE,
    FIXING_UNIT,
    SEPARABLE_UNIT,
    UNIT_ROUNDOFF,
    block_total_unit,
    combination_unit,
    total_unit,
)
from cardqp.bounds.separable import separable_minimum
from cardqp.bounds.tangent_bound import SeparableBound, cost_down, evaluate
from cardqp.certificate.branch_bounds import BranchBounds
from cardqp.problem.quadratic import Factor, Gram, Minorant, plane
from cardqp.problem.sparsity import Subproblem, SupportRule
from cardqp.problem.sparsity.blocks import Blocks
from cardqp.problem.streamed_form import StreamedForm
from cardqp.relaxation.assessment import assess
from cardqp.relaxation.relaxation import Relaxation
from tests.arithmetic.exact import (
    are_covered,
    cancelling,
    exact,
    least_cost,
    numbers,
)
from tests.searches import one_node

U = Fraction(UNIT_ROUNDOFF)
SEEDS = range(40)


def semidefinite(rng, n, rank):
    F = rng.standard_normal((rank, n)) * 10.0 ** rng.uniform(-3, 3, n)
    return SparseQP(F.T @ F, np.zeros(n), eta=1.0, sparsity=1).quadratic


def nearly_flat(rng, Q):
    """A point at which the slope of the form all but vanishes."""
    x = np.linalg.eigh(Q)[1][:, 0] * 10.0 ** rng.uniform(-3, 3)
    return np.where(rng.random(len(x)) < 0.2, 0.0, x)


def test_tangents_of_a_matrix():
    slopes, offsets, lost = [], [], 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        form = semidefinite(rng, 6, 4)
        x = nearly_flat(rng, form.array)
        found, Q, point = form.tangent(x), exact(form.array), exact(x)
        slope = 2 * Q @ point
        error = abs(exact(found.slope) - slope)
        slopes += list(error / exact(found.slope_error))
        touching = 2 * sum(exact(form.psd_violation) * point**2)
        offset = point @ Q @ point + touching
        computed = 0.5 * (found.slope * x).sum()
        offsets.append(
            (offset - Fraction(computed) - touching)
            / (Fraction(found.offset) - Fraction(computed) - touching)
        )
        assert Fraction(found.offset) >= offset
        lost += Fraction(computed) < point @ Q @ point
    assert are_covered(slopes)
    assert are_covered(offsets)
    assert lost > 5  # without its margin the offset would be too small


def test_what_touches_a_form_that_is_not_quite_convex_is_rounded_up():
    rng, short = np.random.default_rng(0), 0
    for k in (1, 2, 7):
        for _ in range(30):
            form = Gram(np.zeros((k, k)), rng.uniform(0.5, 1.0, k))
            x = rng.standard_normal(k)
            touching = 2 * sum(exact(form.psd_violation) * exact(x) ** 2)
            assert Fraction(form.tangent(x).offset) >= touching
            short += Fraction(2 * ((x * x) @ form.psd_violation)) < touching
    assert short > 10


def test_planes_of_a_factor_whose_entries_are_off():
    slopes, lost = [], 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        F = numbers(rng, 4, 5, spread=2.0)
        alpha = numbers(rng, 4, spread=2.0)
        F[:, 0] = cancelling(rng, alpha)
        found = plane(F, alpha, np.einsum("ij,ij->j", F, F))
        # Each entry stands for one that is two roundings away, in the worst direction.
        signs = np.sign(F * alpha[:, None]) * rng.choice([-1, 1], 5)
        true = exact(F) * (1 + 2 * U * np.vectorize(Fraction)(signs))
        slope = exact(alpha) @ true
        slopes += list(abs(exact(found.slope) - slope) / exact(found.slope_error))
        square = sum(exact(alpha) ** 2)
        assert Fraction(found.offset) >= square / 4
        lost += Fraction(0.25 * float((alpha * alpha).sum())) < square / 4
    assert are_covered(slopes)
    assert lost > 5


def test_tangents_of_data():
    slopes = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        N = int(rng.integers(2, 9))
        X = numbers(rng, N, 3, spread=1.0)
        form = StreamedForm.read(X, np.ones(N))
        x = rng.standard_normal(3)
        found, fitted = form.tangent(x), form.fitted(x)
        slope = 2 * exact(X).T @ exact(fitted) / N
        slopes += list(abs(exact(found.slope) - slope) / exact(found.slope_error))
        for point in (x, rng.standard_normal(3)):
            at = exact(point)
            worst = exact(found.slope) @ at - exact(found.slope_error) @ abs(at)
            value = sum((exact(X) @ at) ** 2) / N
            assert worst - Fraction(found.offset) <= value
    assert are_covered(slopes)


def length(columns):
    """The lengths of columns of rationals, as floats that err by next to nothing."""
    return [math.sqrt(float(square)) for square in (columns * columns).sum(axis=0)]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_planes_are_those_of_the_point(is_streamed):
    """A certificate has the point, and not what was computed of it."""
    lost = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = numbers(rng, 5, 6, spread=1.0)
        x = numbers(rng, 6, spread=1.0) * (rng.random(6) < 0.8)
        if x[1] != 0:  # what is fitted all but vanishes
            X[:, 1] = -(X @ x - X[:, 1] * x[1]) / x[1] * (1 + 1e-12)
        data = StreamedForm.read(X, np.ones(5))
        form = data if is_streamed else Factor(X)
        found, point, F = form.tangent(x), exact(x), exact(X)
        share = Fraction(1, 5) if is_streamed else 1
        slope = 2 * F.T @ (F @ point) * share
        assert (abs(exact(found.slope) - slope) <= exact(found.slope_error)).all()
        square = sum((F @ point) ** 2) * share
        assert Fraction(found.offset) >= square
        alone = plane(X, 2 * (X @ x), np.einsum("ij,ij->j", X, X))
        lost += (
            abs(exact(alone.slope) - slope / share) > exact(alone.slope_error)
        ).any()
        lost += Fraction(alone.offset) < square / share
        # What is given up is a few units of the largest terms.
        reach = abs(x) @ length(F)
        size = 60 * UNIT_ROUNDOFF * reach * np.array(length(F)) * float(share)
        assert (found.slope_error <= size + 1e-300).all()
    assert lost > 5


def theorem(problem, minorant, beta):
    """Base and slopes of Theorem 1 in rationals."""
    rows = problem.rows
    beta = exact(rows.project(beta))
    slope = exact(problem.c) + exact(minorant.slope) + beta @ exact(rows.matrix)
    paid = beta @ exact(rows.rhs)
    return Fraction(problem.constant) - Fraction(minorant.offset) - paid, slope


def test_combinations_of_rows_that_cancel():
    slopes, bases = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n, m = 4, 3
        beta = np.abs(numbers(rng, m, spread=2.0))
        A, b = numbers(rng, m, n, spread=2.0), numbers(rng, m, spread=2.0)
        slope = -(beta @ A) * (1 + 1e-12 * rng.standard_normal(n))
        problem = SparseQP(
            np.zeros((n, n)), numbers(rng, n), eta=1.0, sparsity=n, A=A, b=b
        )
        minorant = Minorant(slope, np.zeros(n), -float(beta @ b), np.zeros(n))
        base, costs = evaluate(problem, minorant, beta)
        true_base, true_slope = theorem(problem, minorant, beta)
        assert Fraction(float(base)) <= true_base
        assert (exact(costs) <= -(true_slope**2) / 4).all()
        unit = combination_unit(m)
        size = np.abs(problem.c) + np.abs(slope) + np.abs(beta) @ np.abs(A)
        computed = problem.c + slope + beta @ A
        slopes += list(abs(exact(computed) - true_slope) / exact(unit * size))
        computed = problem.constant - minorant.offset - beta @ b
        scale = np.abs(beta) @ np.abs(b) + abs(minorant.offset)
        bases.append(
            abs(Fraction(float(computed)) - true_base) / Fraction(unit * scale)
        )
    assert are_covered(slopes)
    assert are_covered(bases)


@pytest.mark.parametrize("kind", ["wide", "above", "below", "at the edge"])
def test_costs_of_single_variables(kind):
    rng, shares = np.random.default_rng(7), []
    for _ in range(200):
        slope, ridge = numbers(rng, 1), np.abs(numbers(rng, 1))
        least = slope / (-2.0 * ridge)
        lower, upper = {
            "wide": (-np.abs(2 * least), np.abs(2 * least)),
            "above": (np.abs(least) * 0.3, np.abs(least) * 0.9),
            "below": (-np.abs(least) * 3.0, -np.abs(least) * 1.5),
            "at the edge": (least, np.nextafter(least, np.inf)),
        }[kind]
        ends = exact([lower[0], upper[0]])
        # The ridge may be two roundings above the true one.
        true = Fraction(ridge[0]) * (1 - U) ** 2
        bound = least_cost(Fraction(slope[0]), true, *ends)
        assert Fraction(cost_down(ridge, slope, lower, upper)[0]) <= bound
        x, cost = separable_minimum(slope, ridge, lower, upper)
        size = np.abs(x) * (np.abs(slope) + ridge * np.abs(x))
        error = Fraction(cost[0]) - bound
        shares.append(error / Fraction(SEPARABLE_UNIT * size[0]))
    assert are_covered(shares)


def draw_costs(rng, n):
    """Costs of both signs that nearly cancel; each may be one rounding too high."""
    costs = cancelling(rng, np.ones(n))
    return costs, exact(costs) - U * abs(exact(costs))


def least_total(costs, limit, on=(), off=()):
    """The least sum of costs over supports, by trying them all."""
    rest = [j for j in range(len(costs)) if j not in on and j not in off]
    sums = (
        sum(costs[list(on)], Fraction(0)) + sum(costs[list(more)], Fraction(0))
        for size in range(min(limit - len(on), len(rest)) + 1)
        for more in itertools.combinations(rest, size)
    )
    return min(sums)


def test_totals_of_branches():
    shares = []
    for seed in SEEDS:
        costs, true = draw_costs(np.random.default_rng(seed), 5)
        root = Subproblem.root(5, 5).decide(np.array([0, 1]), np.array([], dtype=int))
        terms = np.append(costs[:2], np.minimum(costs[2:], 0.0))
        exact_total = least_total(true, 5, on=(0, 1))
        assert Fraction(root.total(costs)) <= exact_total
        too_high = Fraction(math.fsum(terms)) - exact_total
        shares.append(too_high / Fraction(EXACT_SUM_UNIT * np.abs(terms).sum()))
    assert are_covered(shares)


def test_a_bound_rounds_its_sum():
    """Without cancellation, where the sum of base and total is rounded."""
    rng, shares = np.random.default_rng(0), []
    for base, cost in zip(numbers(rng, 200), numbers(rng, 200), strict=True):
        bound = SeparableBound(base, np.array([cost]))
        root = Subproblem.root(1, 1)
        exact_value = Fraction(base) + Fraction(min(cost, 0.0))
        assert Fraction(bound.value(root)) <= exact_value
        off = abs(Fraction(base + min(cost, 0.0)) - exact_value)
        shares.append(off / Fraction(BOUND_UNIT * (abs(base) + abs(cost))))
    assert are_covered(shares)


@pytest.mark.parametrize("is_checker", [False, True])
def test_fixings_of_variables(is_checker):
    gaps = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n, limit = 5, 2
        costs, true = draw_costs(rng, n)
        base = float(numbers(rng, 1)[0])
        if is_checker:
            status = np.zeros((1, n), dtype=np.int8)
            found = BranchBounds.of(base, costs[None], status, SupportRule(limit))
            value, on, off = found.value[0], found.on[0], found.off[0]
        else:
            bound, root = SeparableBound(base, costs), Subproblem.root(n, limit)
            value, (on, off) = bound.value(root), bound.fixing_bounds(root)
        assert Fraction(value) <= Fraction(base) + least_total(true, limit)
        for j in range(n):
            with_j = Fraction(base) + least_total(true, limit, on=(j,))
            without = Fraction(base) + least_total(true, limit, off=(j,))
            assert Fraction(on[j]) <= with_j
            assert Fraction(off[j]) <= without
            size = abs(Fraction(base)) + sum(abs(true))
            gaps += [(with_j - Fraction(on[j])) / size]
    # What is given up for rounding is a few units, no more.
    assert max(gaps) <= 64 * U


def test_penalties_are_added_to_a_bound():
    """Each is one rounding off, and so is the cost that it was made of."""
    rng, lost, given_up = np.random.default_rng(0), 0, []
    values, penalties = numbers(rng, 500, spread=2.0), numbers(rng, 500, spread=2.0)
    for value, penalty in zip(values, np.abs(penalties), strict=True):
        true = Fraction(value) + Fraction(penalty) * (1 - U) ** 2
        start = value - FIXING_UNIT * abs(value)
        assert Fraction(start + FIXING_SHARE * penalty) <= true
        lost += Fraction(value + penalty) > true
        size = abs(Fraction(value)) + Fraction(penalty)
        given_up.append((true - Fraction(start + FIXING_SHARE * penalty)) / size)
    assert lost > 50
    assert max(given_up) <= 16 * U


def test_sums_of_many_costs():
    """As the checker and the kernels add them up, in any order."""
    shares = []
    for seed in SEEDS:
        costs, true = draw_costs(np.random.default_rng(seed), 12)
        base = -float(costs.sum())
        status = np.ones((1, 12), dtype=np.int8)
        found = BranchBounds.of(base, costs[None], status, SupportRule(12))
        true_value = Fraction(base) + sum(true)
        assert Fraction(found.value[0]) <= true_value
        size = abs(base) + np.abs(costs).sum()
        too_high = Fraction(base + float(costs.sum())) - true_value
        shares.append(too_high / Fraction(total_unit(12) * size))
    assert are_covered(shares)


def test_the_compiled_theorems_hold_in_exact_arithmetic():
    n_finite = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        F = rng.standard_normal((3, 5)) * 10.0 ** rng.uniform(-1, 1, 5)
        x = nearly_flat(rng, F.T @ F)
        c = -2 * F.T @ (F @ x) * (1 + 1e-9 * rng.standard_normal(5))
        settings = {"eta": 1e6, "sparsity": 2, "constant": float(np.sum((F @ x) ** 2))}
        for problem in (
            SparseQP(F.T @ F, c, **settings),
            SparseQP.from_factor(F, c, **settings),
        ):
            relaxation = Relaxation.prepare(problem)
            status = np.zeros(5, dtype=np.int8)
            (value,), *_ = assess(
                relaxation.data,
                relaxation.rows,
                relaxation.margins,
                *one_node(relaxation, status, 2, x, np.zeros(0)),
                np.inf,
            )
            assert Fraction(value) <= exact_bound(problem, x, 2)
            n_finite += value > -np.inf
    assert n_finite == 40


def exact_bound(problem, x, limit):
    """Theorem 1 at the tangent in ``x``, in rationals, for a free problem."""
    form, point = problem.quadratic, exact(x)
    array, loss = exact(form.array), 2 * exact(form.psd_violation)
    Q = array if isinstance(form, Gram) else array.T @ array
    slope = exact(problem.c) + 2 * Q @ point
    ridge = 1 / exact(problem.eta) - loss
    base = Fraction(problem.constant) - point @ Q @ point - sum(loss * point**2)
    if not isinstance(form, Gram):
        # Any alpha gives a plane; the kernel's is rounded.
        alpha = exact(2.0 * (form.array @ x))
        slope = exact(problem.c) + alpha @ array
        base = Fraction(problem.constant) - sum(alpha**2) / 4 + 4 * U * sum(alpha**2)
        slope_error = 8 * U * abs(alpha) @ abs(array)
        slope = np.maximum(abs(slope) - slope_error, Fraction(0))
    costs = -(slope**2) / (4 * ridge)
    return base + least_total(costs, limit)


def test_blocks_pay_no_more_than_their_price():
    given_up = []
    for size in (1, 3, 7, 49):
        for price in (0.1, 1.0 / 3.0, 12345.678):
            rule = SupportRule(1, price, blocks=Blocks.of(np.zeros(size, dtype=int)))
            paid = sum(exact(rule.prices(size)))
            assert paid <= Fraction(price)
            given_up.append((Fraction(price) - paid) / Fraction(price))
    assert max(given_up) <= 8 * U
    assert min(given_up) > 0


def test_costs_of_blocks_are_rounded_down():
    shares, lost = [], 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        costs, true = draw_costs(rng, 9)
        found = Blocks.of(np.zeros(9, dtype=int)).summed(costs)[0]
        assert Fraction(found) <= sum(true)
        plain = Fraction(float(np.bincount(np.zeros(9, dtype=int), costs)[0]))
        lost += plain > sum(true)
        unit = float(block_total_unit(np.array(9)))
        shares.append((plain - sum(true)) / Fraction(unit * np.abs(costs).sum()))
    assert are_covered(shares)
    assert lost > 5
