"""Splits by a matrix function: what they promise, on small matrices."""

from itertools import combinations

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.exceptions import ProblemError
from cardqp.splitting.matrix_function import (
    FunctionSplit,
    is_above,
    mirror,
    upper_part,
)
from cardqp.splitting.settings import FunctionSettings
from tests.problems import enumerate_optimum


def random_matrix(seed, n=9, rank=14):
    rng = np.random.default_rng([21, seed])
    F = rng.standard_normal((rank, n))
    F[:, 0] = F[:, 1] + 0.3 * F[:, 0]
    return F.T @ F / rank


def units(Q):
    return 1.0 / np.sqrt(Q.diagonal())


@pytest.mark.parametrize("level", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, 5.0])
def test_eigenvalues_are_those_of_the_function(level, order):
    Q = random_matrix(0)
    scaled = units(Q)[:, None] * Q * units(Q)
    values, vectors = np.linalg.eigh(scaled)
    H = 1.0 / (1.0 + values / (order * level))
    above = values - level * (1.0 + (order - 2.0) * H - (order - 1.0) * H**2)
    assert (above >= -1e-12).all()
    expected = (vectors * above) @ vectors.T / units(Q)[:, None] / units(Q)
    found = upper_part(Q, units(Q), level, order)
    np.testing.assert_allclose(found, expected, atol=3e-6)


def test_entries_are_single_precision_numbers_and_symmetric():
    Q = random_matrix(1)
    P = upper_part(Q, units(Q), 0.1, 3.0)
    assert (P.astype(np.float32) == P).all()
    assert (P == P.T).all()


def test_a_matrix_that_is_not_definite_is_refused():
    Q = np.array([[1.0, 3.0], [3.0, 1.0]])
    assert upper_part(Q, np.ones(2), 0.1, 3.0) is None


def test_whether_all_eigenvalues_exceed_a_level():
    Q = random_matrix(2)
    least = np.linalg.eigvalsh(units(Q)[:, None] * Q * units(Q))[0]
    assert is_above(Q, Q.diagonal(), 0.9 * least)
    assert not is_above(Q, Q.diagonal(), 1.1 * least)


@pytest.mark.parametrize("n", [1, 5, 511, 512, 513, 1030])
def test_mirror(n):
    M = np.asfortranarray(np.random.default_rng(n).standard_normal((n, n)))
    expected = np.tril(M) + np.tril(M, -1).T
    mirror(M)
    np.testing.assert_array_equal(M, expected)


def problem_of(Q, seed, ridge, sparsity=3, **settings):
    rng = np.random.default_rng([22, seed])
    c = 3.0 * rng.standard_normal(len(Q)) * np.sqrt(Q.diagonal())
    eta = 1.0 / (ridge * Q.diagonal())
    return SparseQP(Q, c, eta=eta, sparsity=sparsity, constant=5.0, **settings)


@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("ridge", [1e-3, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_minorants_hold_on_every_support(seed, ridge, wild):
    Q = random_matrix(seed)
    if wild:
        scale = 10.0 ** np.random.default_rng(seed).uniform(-3, 3, len(Q))
        Q = scale[:, None] * Q * scale
    problem = problem_of(Q, seed, ridge)
    optimum, support = enumerate_optimum(problem)
    n_found = 0
    for level in (0.005, 0.02, 0.1):
        split = FunctionSplit.at(problem, level, np.array(support))
        if split is None:
            continue
        n_found += 1
        minorant = sparse_minorant(problem, split.P.astype(np.float32), split.weights)
        # What was promised before P was proved to be semidefinite.
        np.testing.assert_allclose(minorant.ridge, split.ridge, rtol=0.02)
        rest = problem.Q - minorant.Q - np.diag(minorant.ridge - problem.ridge)
        for chosen in combinations(range(problem.n), problem.sparsity):
            unit = units(Q)[list(chosen)]
            block = rest[np.ix_(chosen, chosen)] * unit[:, None] * unit
            assert np.linalg.eigvalsh(block)[0] >= -1e-13
        assert enumerate_optimum(minorant)[0] <= optimum
    assert n_found > 0


def test_low_ridges_are_raised():
    Q = random_matrix(3, n=30, rank=40)
    problem = problem_of(Q, 3, 1e-3, sparsity=4)
    plain = FunctionSettings(max_raises=0, support_weight=1.0)
    none = np.zeros(0, dtype=np.intp)
    lows = []
    for settings in (plain, FunctionSettings(support_weight=1.0)):
        split = FunctionSplit.at(problem, 0.01, none, settings)
        share = split.ridge / Q.diagonal()
        lows.append(share.min() / np.median(share))
    assert lows[1] > lows[0]


def test_the_ridges_of_a_support_are_raised():
    Q = random_matrix(4, n=30, rank=40)
    problem = problem_of(Q, 4, 1e-3, sparsity=4)
    support = np.array([2, 5, 7])
    equal, raised = (
        FunctionSplit.at(problem, 0.01, support, FunctionSettings(support_weight=w))
        for w in (1.0, 1.5)
    )
    assert (raised.ridge[support] > equal.ridge[support]).all()


def test_too_high_a_level_leaves_no_ridge():
    Q = np.full((6, 6), 0.9) + 0.1 * np.eye(6)
    problem = problem_of(Q, 0, 1e-6, sparsity=6)
    assert FunctionSplit.at(problem, 10.0, np.arange(2)) is None


def test_variables_without_curvature():
    """A column of zeros: refused, or as valid as any other."""
    Q = random_matrix(5)
    Q[0, :] = Q[:, 0] = 0.0
    problem = SparseQP(Q, np.ones(9), eta=10.0, sparsity=2)
    split = FunctionSplit.at(problem, 0.02, np.arange(2))
    if split is not None:
        try:
            minorant = sparse_minorant(problem, split.P, split.weights)
        except ProblemError:
            return
        assert enumerate_optimum(minorant)[0] <= enumerate_optimum(problem)[0]
