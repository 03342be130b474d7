"""Elimination in floats and its error bounds, against fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import arb, ctx

from cardqp_check.bordered import Bordered, eliminated, unit_diagonal
from cardqp_check.objectives import lower_float, upper_distance
from cardqp_check.submatrices import UndecidedError, indefinite_sets
from forms import Form, make_form, random_form


def schur_exact(A, inside, free):
    """What is left of a matrix of floats, as fractions."""
    order = [*inside, *free]
    M = [[Fraction(float(A[i, j])) for j in order] for i in order]
    for p in range(len(inside)):
        for i in range(p + 1, len(order)):
            t = M[i][p] / M[p][p]
            M[i] = [M[i][j] - t * M[p][j] for j in range(len(order))]
    m = len(inside)
    return [row[m:] for row in M[m:]]


@pytest.mark.parametrize("kind", ["plain", "collinear", "scaled"])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_elimination_is_within_its_bound(kind, m):
    for seed in range(4):
        form = random_form(seed, 8, kind)
        bordered = Bordered.of(form)
        bordered.compare_with(0.5 * float(form.kappa) * 2.0**-seed - 1.0)
        inside, free = np.arange(m), np.arange(m, 9)
        N, doubt = eliminated(bordered, inside[None], free[None])
        exact = schur_exact(bordered.array, inside, free)
        for i in range(len(free)):
            for j in range(len(free)):
                off = abs(Fraction(float(N[0, i, j])) - exact[i][j])
                assert off <= Fraction(float(doubt[0, i] * doubt[0, j]))
        assert (doubt**2).max() < 1e-3


def test_balls_are_within_the_error_of_their_floats():
    third = arb(1) / 3
    n = 5
    rng = np.random.default_rng(0)
    with ctx.workprec(200):
        numbers = rng.integers(1, 50, (n, n))
        numbers += numbers.T + np.diag(np.full(n, 400))
        G = [[arb(int(v)) / 3 for v in row] for row in numbers]
        c = [arb(int(v)) / 7 for v in numbers[0]]
    base = make_form(1.0, np.zeros(n), np.eye(n))
    form = Form(third, c, type(base.G)(G), 200)
    bordered = Bordered.of(form)
    bordered.compare_with(-3.0)
    unit = [1, *(Fraction(float(u)) for u in bordered.unit)]
    corner = Fraction(float(bordered.array[0, 1])) / Fraction(float(bordered.half[0]))
    unit[0] = corner
    for i in range(n + 1):
        for j in range(max(i, 1), n + 1):
            number = numbers[i - 1, j - 1] if i else numbers[0, j - 1]
            exact = Fraction(int(number), 3 if i else 14) * unit[i] * unit[j]
            off = abs(exact - Fraction(float(bordered.array[i, j])))
            assert off <= Fraction(bordered.error)
    assert 0 < bordered.error < 1e-14


def test_what_is_not_listed_is_semidefinite():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6, 9))
        X = X / np.sqrt((X**2).sum(axis=0))
        r = X.T @ X + rng.uniform(-0.3, 0.3, (9, 9))
        r = np.triu(r, 1) + np.triu(r, 1).T
        for size in (2, 3, 4):
            listed = {tuple(row) for row in indefinite_sets(r, size).tolist()}
            indefinite = {
                chosen
                for chosen in combinations(range(9), size)
                if np.linalg.eigvalsh(r[np.ix_(chosen, chosen)] + np.eye(size))[0]
                < -1e-9
            }
            assert indefinite <= listed
            # Whatever is listed is close to indefinite, or it would be no help.
            assert all(
                np.linalg.eigvalsh(r[np.ix_(chosen, chosen)] + np.eye(size))[0] < 1e-9
                for chosen in listed
            )


def test_rounding_is_paid_for_by_the_diagonal():
    N = np.array([[[1.0, 0.5], [0.5, 1.0]]])
    r, is_vague = unit_diagonal(N, np.array([[3e-4, 1e-4]]), 2)
    assert not is_vague.any()
    assert r[0, 0, 1] >= 0.5 / (1.0 - 2 * 9e-8)
    _, is_vague = unit_diagonal(N, np.array([[3e-2, 1e-4]]), 2)
    assert is_vague.tolist() == [[True, False]]


def test_an_indefinite_block_is_refused():
    form = make_form(1.0, [0.0, 0.0, 0.0], [[1, 2, 0], [2, 1, 0], [0, 0, 1]])
    bordered = Bordered.of(form)
    bordered.compare_with(0.0)
    with pytest.raises(UndecidedError):
        eliminated(bordered, np.array([[0, 1, 2]]), np.array([[3]]))


def test_floats_are_rounded_down():
    with ctx.workprec(200):
        for k in range(1, 50):
            ball = arb(k) / 7
            value = lower_float(ball)
            assert (
                Fraction(value) <= Fraction(k, 7) < Fraction(np.nextafter(value, 9e9))
            )
            assert Fraction(upper_distance(ball, 0.0)) >= Fraction(k, 7)
    assert lower_float(arb.nan()) == -np.inf


def test_triples_are_found_whose_entries_tie():
    # In floats, products of matrices are symmetric up to the last bit.  Here each pair
    # of the three is a little less than another one, as it is read.
    N, bit = np.eye(3) - 0.6 * (1.0 - np.eye(3)), 2.0**-53
    N[0, 2] = N[2, 0] = -0.6 - bit
    N[2, 1] = -0.6 - 2 * bit
    r, is_vague = unit_diagonal(N[None], np.full((1, 3), 1e-9), 3)
    assert not is_vague.any()
    assert indefinite_sets(r[0], 3).tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_entries_beyond_one_are_never_definite(size):
    """Not even where the determinant of three variables is positive."""
    r = 2.0 * (np.ones((5, 5)) - np.eye(5))
    assert len(indefinite_sets(r, size)) == len(list(combinations(range(5), size)))
