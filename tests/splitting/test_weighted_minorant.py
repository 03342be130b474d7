"""Sparse minorants with weights: the product of two variables is shared unevenly."""

import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.bounds.sparse_minorant import MAX_WEIGHT, ridge_left, sparse_minorant
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.certificate import Certificate, DualPoint, Reduction
from cardqp.certificate.archive import from_arrays, to_arrays
from cardqp.certificate.proof_tree import ProofTree
from cardqp.certificate.root import RootState, RootStep
from cardqp.exceptions import ProblemError
from tests.problems import enumerate_optimum
from tests.splitting.test_sparse_split import (
    KINDS,
    exact_objective,
    signed,
    sparse_points,
    sparse_problem,
    splits,
)


def weights_for(problem, seed):
    return np.exp(np.random.default_rng([11, seed]).uniform(-1.0, 1.0, problem.n))


def weighted(problem, seed):
    """Minorants of several matrices that leave every ridge positive."""
    for P in splits(problem, seed):
        try:
            yield sparse_minorant(problem, P, weights_for(problem, seed))
        except ProblemError:
            continue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_below_on_every_support(kind, seed):
    """On each support, at the point with that support where most would be lost."""
    problem = sparse_problem(kind, seed)
    for minorant in weighted(problem, seed):
        gained = np.diag(minorant.ridge - problem.ridge)
        rest = problem.Q - minorant.Q - gained
        for support in combinations(range(problem.n), problem.sparsity):
            x = np.zeros(problem.n)
            # In units of the ridge, the eigenvector of the least eigenvalue.
            root = 1.0 / np.sqrt(problem.ridge[list(support)])
            block = rest[np.ix_(support, support)] * root[:, None] * root
            x[list(support)] = np.linalg.eigh(block)[1][:, 0] * root
            x = signed(problem, x)
            rounding = 1e-14 * problem.n**2 * problem.magnitude(x)
            assert minorant.objective(x) <= problem.objective(x) + rounding


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_below_in_exact_arithmetic(kind, seed):
    problem = sparse_problem(kind, seed)
    for minorant in weighted(problem, seed):
        for x in sparse_points(problem, seed, 5):
            assert exact_objective(minorant, x) <= exact_objective(problem, x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold(kind, seed):
    problem = sparse_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    for minorant in weighted(problem, seed):
        for x in sparse_points(problem, seed, 10):
            bound = tangent_bound(minorant, x, np.zeros(0)).value(problem.root)
            assert bound <= optimum + 1e-12 * problem.magnitude(x)


def test_by_hand():
    Q = np.array([[5.0, -3.0, 1.0], [-3.0, 4.0, 2.0], [1.0, 2.0, 3.0]])
    problem = SparseQP(Q + 4 * np.eye(3), np.ones(3), eta=1.0, sparsity=2)
    weights = np.array([2.0, 1.0, 0.5])
    ridge = ridge_left(problem, 4 * np.eye(3), weights)
    # Row by row, the largest of |R_ij| h_i: 3, 6 and 2.
    expected = [1 + 5 - 3 / 2, 1 + 4 - 6 / 1, 1 + 3 - 2 / 0.5]
    np.testing.assert_allclose(ridge, expected, rtol=0, atol=1e-12)


def test_only_ratios_of_weights_count():
    problem = sparse_problem("signs", 1)
    weights, P = weights_for(problem, 1), 0.9 * problem.Q
    one, two = (ridge_left(problem, P, f * weights) for f in (1.0, 1e6))
    np.testing.assert_allclose(one, two, rtol=1e-12)
    equal = ridge_left(problem, P, np.full(problem.n, 2.0))
    np.testing.assert_array_equal(equal, ridge_left(problem, P))


BAD = {
    "negative": -np.ones(9),
    "zero": np.zeros(9),
    "NaN": np.full(9, np.nan),
    "infinite": np.full(9, np.inf),
    "so small that products vanish": np.full(9, 5e-324),
    "out of range": np.full(9, 1.01 * MAX_WEIGHT),
    "too few": np.ones(8),
    "too many": np.ones(10),
    "a matrix": np.ones((9, 9)),
    "integers": np.ones(9, dtype=int),
    "text": np.full(9, "1.0"),
}


def certificate_with(problem, weights):
    """A certificate of two steps: a minorant, and a good dual point of it."""
    P = 0.8 * problem.Q
    reduction = Reduction(np.arange(problem.n), None, P, weights)
    nothing = DualPoint.at(np.zeros(problem.n), np.zeros(0))
    steps = RootStep(nothing, reduction=reduction), RootStep(nothing)
    return Certificate(steps, ProofTree.empty())


def nine():
    F = np.random.default_rng(3).standard_normal((12, 9))
    return SparseQP(F.T @ F / 12, F[0], eta=0.5, sparsity=3)


@pytest.mark.parametrize("name", BAD)
def test_forged_weights_prove_nothing(name):
    problem = nine()
    step = certificate_with(problem, BAD[name]).root[0]
    with pytest.raises(ProblemError):
        RootState.start(problem).after(step)


def test_weights_need_a_minorant():
    problem = nine()
    step = certificate_with(problem, np.ones(9)).root[0]
    forged = replace(step, reduction=replace(step.reduction, minorant=None))
    with pytest.raises(ProblemError):
        RootState.start(problem).after(forged)


def test_files_keep_weights():
    problem = nine()
    weights = weights_for(problem, 0)
    certificate = certificate_with(problem, weights)
    stored = io.BytesIO()
    np.savez(stored, **to_arrays(certificate))
    stored.seek(0)
    with np.load(stored, allow_pickle=False) as arrays:
        again = from_arrays(dict(arrays))
    np.testing.assert_array_equal(again.root[0].reduction.weights, weights)
    state = RootState.start(problem).after(again.root[0])
    expected = sparse_minorant(problem, 0.8 * problem.Q, weights)
    np.testing.assert_array_equal(state.problem.ridge, expected.ridge)


def test_files_without_weights_still_load():
    arrays = to_arrays(certificate_with(nine(), None))
    assert "root.0.weights" not in arrays
    assert from_arrays(arrays).root[0].reduction.weights is None
