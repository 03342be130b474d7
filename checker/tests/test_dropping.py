"""The search that drops variables, against enumeration in fractions."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from cardqp_check.bordered import bordered_of
from cardqp_check.circuits import Circuits, Part
from cardqp_check.dropping import searched, supports_below
from forms import (
    KINDS,
    best_in_floats,
    exact_objective,
    hidden_form,
    least_exact,
    make_form,
    random_form,
)

NONE = np.arange(0)
SHARE = 0.5e-4


def assert_just_below(bound: float, truth: Fraction) -> None:
    assert Fraction(bound) <= truth
    assert float(truth - Fraction(bound)) <= 1e-12 * float(abs(truth))


def branch(seed: int, n: int, n_inside: int):
    order = np.random.default_rng(seed + 100).permutation(n)
    return order[:n_inside], order[n_inside:]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("places", [0, 1, 2, 3, 5, 7])
@pytest.mark.parametrize("n_inside", [0, 2])
def test_searched_is_the_lesser(kind, places, n_inside):
    for seed in range(2):
        form = random_form(seed, 10, kind)
        fixed_in, free = branch(seed, 10, n_inside)
        truth = least_exact(form, fixed_in, free, places)
        for factor in (0.9, 1 - 1e-6, 1 + 1e-9, 1.001):
            cutoff = factor * float(truth)
            bound = searched(form, fixed_in, free, places, cutoff, 0.0, NONE)
            if bound > -math.inf or factor < 1:
                assert_just_below(bound, min(truth, Fraction(cutoff)))


@pytest.mark.parametrize("places", [4, 5, 6])
def test_one_hidden_support_is_found(places):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = 9
        L = np.tril(rng.uniform(-1, 1, (n, n)), -1) + np.eye(n)
        G = L @ L.T
        form = make_form(1.0, G @ rng.choice([-1.0, 0.0, 1.0], n, p=[0.3, 0.4, 0.3]), G)
        truth = least_exact(form, [], range(n), places)
        cutoff = float(truth) + 1e-7
        bound = searched(form, np.arange(0), np.arange(n), places, cutoff, 0.0, NONE)
        assert Fraction(bound) <= truth
        assert float(truth) - bound <= 1e-11


@pytest.mark.parametrize(("n", "places"), [(20, 5), (18, 7), (40, 3)])
def test_the_best_of_many_supports_is_found(n, places):
    for seed in range(3):
        form = hidden_form(seed, n, places)
        truth = exact_objective(form, best_in_floats(form, n, places))
        value = float(truth)
        below = value - 1e-6 * abs(value)
        bound = searched(form, NONE, np.arange(n), places, below, 0.0, NONE)
        assert bound == below
        above = value + 1e-6 * abs(value)
        bound = searched(form, NONE, np.arange(n), places, above, 0.0, NONE)
        assert_just_below(bound, truth)


@pytest.mark.parametrize("kind", ["plain", "collinear"])
@pytest.mark.parametrize("places", [3, 4, 5, 6])
def test_all_supports_below_a_cutoff_are_found(kind, places):
    n = 9
    for seed in range(3):
        form = random_form(seed, n, kind)
        values = {
            support: exact_objective(form, support)
            for support in combinations(range(n), places)
        }
        ranked = sorted(values, key=values.get)
        for count in (1, 2, 5, 10, 30):
            cutoff = float(values[ranked[count - 1]]) * (1 + 1e-9)
            branch = Part(NONE, np.arange(n))
            found = supports_below(bordered_of(form), branch, places, cutoff)
            names = {tuple(sorted(map(int, support))) for support in found}
            assert names >= set(ranked[:count])


def dependent_form(seed: int):
    """A regression in which columns are sums of others, but for rounding."""
    rng = np.random.default_rng(seed)
    X = np.round(16 * rng.standard_normal((30, 9))) / 16
    X[:, 3], X[:, 7] = X[:, 0] + X[:, 1], X[:, 5] - X[:, 6] + X[:, 2]
    y = X @ rng.choice([-1.0, 0.0, 1.0], 9) + rng.standard_normal(30)
    G = X.T @ X / 32
    return make_form(y @ y / 32, -X.T @ y / 16, G), G


def counts(G, support) -> bool:
    block = G[np.ix_(support, support)]
    root = np.sqrt(block.diagonal())
    return bool(np.linalg.eigvalsh(block / np.outer(root, root))[0] > 1e-4)


@pytest.mark.parametrize("places", [2, 4, 5])
def test_only_independent_supports_count(places):
    for seed in range(4):
        form, G = dependent_form(seed)
        n = len(G)
        truth = min(
            exact_objective(form, support)
            for size in (places - 1, places)
            for support in combinations(range(n), size)
            if counts(G, support)
        )
        for factor in (0.9, 1.0 + 1e-12):
            cutoff = factor * float(truth)
            bound = searched(form, NONE, np.arange(n), places, cutoff, SHARE, NONE)
            assert_just_below(bound, min(truth, Fraction(cutoff)))


def test_dependent_variables_that_may_be_zero_are_not_split():
    form, G = dependent_form(0)
    n, forced = len(G), np.array([0])
    bound = searched(form, forced, np.arange(1, n), 3, 0.0, SHARE, forced)
    assert bound == -math.inf


def test_a_dependence_is_proved():
    form, _ = dependent_form(0)
    circuits = Circuits(bordered_of(form), 5, SHARE, NONE)
    assert sorted(circuits.find(np.arange(9))) == [0, 1, 3]
    assert circuits.is_proof(np.array([0, 1, 3]), np.array([1.0, 1.0, -1.0]))
    assert not circuits.is_proof(np.array([0, 1, 3]), np.array([1.0, 1.0, 1.0]))
    assert circuits.find(np.array([0, 1, 2, 4])) is None


def test_a_curvature_at_the_share_is_no_proof():
    # The unit vectors (1, -1) / sqrt(2) curve by 2^-14 exactly.
    r = 1.0 - 2.0**-14
    form = make_form(1.0, [1.0, 1.0], [[1.0, r], [r, 1.0]])
    pair, v = np.arange(2), np.array([1.0, -1.0])
    bordered = bordered_of(form)
    assert not Circuits(bordered, 2, 2.0**-14, NONE).is_proof(pair, v)
    assert Circuits(bordered, 2, 2.0**-14 * 1.0001, NONE).is_proof(pair, v)


def test_an_indefinite_form_proves_nothing():
    form = make_form(1.0, np.ones(6), np.ones((6, 6)) - 0.5 * np.eye(6))
    assert searched(form, np.arange(0), np.arange(6), 4, -1e3, 0.0, NONE) == -math.inf


def test_a_form_that_more_digits_show_to_be_definite_proves_nothing():
    """Its inverse, which is computed with fewer digits, does not exist."""
    L = np.eye(7) + np.diag(np.full(6, 2.0**26), -1)
    form = make_form(0.0, -np.ones(7), np.flip(L @ L.T))
    assert searched(form, NONE, np.arange(7), 2, -1e30, 0.0, NONE) == -math.inf


def test_without_costs_the_cutoff_holds():
    form = make_form(2.0, np.zeros(8), np.eye(8))
    assert searched(form, np.arange(0), np.arange(8), 4, 1.0, 0.0, NONE) == 1.0
