"""Bounds over supports, against enumeration in fractions."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from cardqp_check.supports import completed, cut_off, penalised
from forms import (
    KINDS,
    all_supports,
    best_in_floats,
    exact,
    exact_objective,
    hidden_form,
    least_exact,
    make_form,
    random_form,
)


def assert_just_below(bound: float, truth: Fraction, share: float = 1e-12) -> None:
    assert Fraction(bound) <= truth
    assert float(truth - Fraction(bound)) <= share * float(abs(truth))


def branch(seed: int, n: int, n_inside: int):
    order = np.random.default_rng(seed + 100).permutation(n)
    return order[:n_inside], order[n_inside:]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("places", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("n_inside", [0, 3])
def test_completed_is_the_least_objective(kind, places, n_inside):
    for seed in range(3):
        form = random_form(seed, 10, kind)
        fixed_in, free = branch(seed, 10, n_inside)
        truth = least_exact(form, fixed_in, free, places)
        assert_just_below(completed(form, fixed_in, free, places), truth)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("places", [2, 3, 4])
def test_cut_off_is_the_lesser(kind, places):
    for seed in range(3):
        form = random_form(seed, 10, kind)
        fixed_in, free = branch(seed, 10, 2)
        truth = least_exact(form, fixed_in, free, places)
        for factor in (0.5, 0.99, 1 - 1e-9, 1 + 1e-9, 1.01, 1.5):
            cutoff = factor * float(truth)
            bound = cut_off(form, fixed_in, free, places, cutoff)
            assert_just_below(bound, min(truth, Fraction(cutoff)))


@pytest.mark.parametrize("places", [2, 3, 4])
def test_one_hidden_support_is_found(places):
    # Correlations cancel what the variables gain together but for one support.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 9
        L = np.tril(rng.uniform(-1, 1, (n, n)), -1) + np.eye(n)
        G = L @ L.T
        c = G @ rng.choice([-1.0, 0.0, 1.0], n, p=[0.2, 0.6, 0.2])
        form = make_form(1.0, c, G)
        free = np.arange(n)
        truth = least_exact(form, [], free, places)
        cutoff = float(truth) + 1e-7
        bound = cut_off(form, free[:0], free, places, cutoff)
        assert_just_below(bound, truth, 1e-12 + 1e-12 / abs(float(truth)))


@pytest.mark.parametrize(("n", "places"), [(60, 2), (36, 3), (22, 4)])
def test_the_best_of_many_supports_is_found(n, places):
    none = np.arange(0)
    for seed in range(3):
        form = hidden_form(seed, n, places)
        truth = exact_objective(form, best_in_floats(form, n, places))
        value = float(truth)
        assert_just_below(completed(form, none, np.arange(n), places), truth)
        below = value - 1e-6 * abs(value)
        assert cut_off(form, none, np.arange(n), places, below) == below
        above = value + 1e-6 * abs(value)
        assert_just_below(cut_off(form, none, np.arange(n), places, above), truth)


def test_no_more_than_enough_is_looked_for():
    form = random_form(0, 10, "plain")
    truth = float(least_exact(form, [], range(10), 2))
    enough = truth - 0.1 * abs(truth)
    assert completed(form, np.arange(0), np.arange(10), 2, enough) == enough


def test_without_places_nothing_is_left():
    form = random_form(0, 5, "plain")
    assert completed(form, np.arange(3), np.arange(3, 5), -1) == math.inf


def test_five_places_are_too_many():
    form = random_form(0, 8, "plain")
    assert completed(form, np.arange(0), np.arange(8), 5) == -math.inf
    assert cut_off(form, np.arange(0), np.arange(8), 5, 0.0) == -math.inf


def test_an_indefinite_form_proves_nothing():
    form = make_form(1.0, [1.0, 1.0, 1.0], np.ones((3, 3)) - 0.5 * np.eye(3))
    assert completed(form, np.arange(0), np.arange(3), 3) == -math.inf
    assert completed(form, np.arange(0), np.arange(3), 2) == -math.inf
    assert cut_off(form, np.arange(0), np.arange(3), 2, -1e6) == -math.inf


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_form_beyond_the_range_of_floats_proves_nothing():
    form = make_form(0.0, np.ones(4), np.where(np.eye(4), 1e-300, 1e200))
    assert completed(form, np.arange(1), np.arange(1, 4), 2) == -math.inf


def test_without_costs_nothing_is_gained():
    form = make_form(2.0, np.zeros(4), np.eye(4))
    assert_just_below(completed(form, np.arange(0), np.arange(4), 2), Fraction(2))


def test_balls_are_taken_at_their_worst():
    form = random_form(1, 8, "plain")
    form.c = [cost + arb(0, 1e-6) for cost in form.c]
    nominal = float(least_exact(random_form(1, 8, "plain"), [], range(8), 3))
    bound = completed(form, np.arange(0), np.arange(8), 3)
    assert nominal - 1e-3 < bound < nominal - 1e-8


@dataclass
class Rows:
    A: np.ndarray
    b: np.ndarray
    n_inequalities: int


def budget(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    A = np.vstack([rng.standard_normal(n), np.ones(n)])
    return Rows(A, np.array([0.5, 1.0]), 1)


def lowered(form, rows, beta, rho):
    """The function that is bounded, in fractions, rounded to a form of many bits."""
    n, A = len(form.c), [[Fraction(v) for v in row] for row in rows.A]
    b, beta = [Fraction(v) for v in rows.b], [Fraction(v) for v in beta]
    beta[0] = max(beta[0], Fraction(0))
    G = [
        [exact(form.G[i, j]) + rho * A[1][i] * A[1][j] for j in range(n)]
        for i in range(n)
    ]
    c = [
        exact(form.c[j])
        + sum(beta[i] * A[i][j] for i in range(2))
        - 2 * rho * b[1] * A[1][j]
        for j in range(n)
    ]
    kappa = exact(form.kappa) - sum(beta[i] * b[i] for i in range(2)) + rho * b[1] ** 2
    return kappa, c, G


def gain_exact(G, c, support):
    """``c'G^{-1}c`` on a support, by elimination in fractions."""
    G = [[G[i][j] for j in support] for i in support]
    c, total = [c[i] for i in support], Fraction(0)
    while c:
        total += c[0] ** 2 / G[0][0]
        t = [entry / G[0][0] for entry in G[0]]
        G, c = (
            [
                [G[j][k] - t[j] * G[0][k] for k in range(1, len(c))]
                for j in range(1, len(c))
            ],
            [c[j] - t[j] * c[0] for j in range(1, len(c))],
        )
    return total


@pytest.mark.parametrize("places", [1, 2, 3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_penalised_bounds_all_but_those_listed(places, sign):
    n = 8
    for seed in range(3):
        form, rows = random_form(seed, n, "plain"), budget(8, seed)
        fixed_in, free = branch(seed, n, 2)
        beta = np.array([0.3 * sign, -0.7])
        rho = Fraction(_penalty(form, rows))
        kappa, c, G = lowered(form, rows, beta, rho)
        values = {
            tuple(support[2:]): kappa - gain_exact(G, c, support) / 4
            for support in all_supports(fixed_in, free, places)
        }
        ranked = sorted(values, key=values.get)
        for count in (0, 1, 4):
            listed = np.array(ranked[:count], dtype=int).reshape(count, places)
            bound = penalised(form, rows, beta, fixed_in, free, listed)
            assert_just_below(bound, values[ranked[count]])


@pytest.mark.parametrize("seed", range(6))
def test_penalties_are_not_below_those_of_the_search(seed):
    n, places = 6, 2
    form, rows = random_form(seed, n, "plain"), budget(n, seed)
    rows.A[1] *= 1.0 + seed / 6  # between powers of two
    fixed_in, free = branch(seed, n, 1)
    beta, listed = np.array([0.3, -0.7]), np.empty((0, places), dtype=int)
    rho = Fraction(1000) / Fraction(float(_size(form, rows)))
    kappa, c, G = lowered(form, rows, beta, rho)
    found = min(
        kappa - gain_exact(G, c, support) / 4
        for support in all_supports(fixed_in, free, places)
    )
    assert Fraction(penalised(form, rows, beta, fixed_in, free, listed)) >= found


def _size(form, rows) -> float:
    diagonal = np.array([float(form.G[j, j]) for j in range(len(form.c))])
    return (rows.A[1] ** 2 / diagonal).max()


def _penalty(form, rows) -> float:
    """The penalty, which may be any; the bound has to be that of the same one."""
    return 2.0 ** (10 - math.floor(np.log2(_size(form, rows))))


def test_penalised_holds_at_feasible_points():
    n = 7
    rng = np.random.default_rng(3)
    form, rows = random_form(3, n, "plain"), budget(n, 3)
    listed = np.empty((0, 2), dtype=int)
    bound = penalised(
        form, rows, rng.standard_normal(2), np.arange(1), np.arange(1, n), listed
    )
    best = math.inf
    for _ in range(300):
        support = [0, *rng.choice(np.arange(1, n), 2, replace=False)]
        x = np.zeros(n)
        x[support] = rng.standard_normal(3)
        x /= x.sum()
        if rows.A[0] @ x <= rows.b[0]:
            G = np.array([[float(form.G[i, j]) for j in range(n)] for i in range(n)])
            value = float(form.kappa) + np.array([float(v) for v in form.c]) @ x
            best = min(best, value + x @ G @ x)
    assert bound <= best < math.inf


def test_penalties_of_small_rows_are_numbers():
    form = make_form(0.0, [-1.0, -2.0], np.eye(2))
    rows = Rows(np.array([[1e-160, 0.0]]), np.zeros(1), 0)
    listed = np.empty((0, 1), int)
    bound = penalised(form, rows, np.zeros(1), np.arange(0), np.arange(2), listed)
    assert -1.0 - 1e-12 <= bound <= -1.0


def test_fractions_agree_with_a_case_by_hand():
    form = make_form(3.0, [-2.0, -4.0], [[1.0, 0.5], [0.5, 1.0]])
    assert exact_objective(form, [0]) == 2
    assert exact_objective(form, [1]) == -1
    assert exact_objective(form, [0, 1]) == -1
