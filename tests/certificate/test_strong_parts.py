"""Completions by three or four variables: what the checker proves, and refuses."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import cardqp
from cardqp import SparseQP
from cardqp._compiled import compiled
from cardqp.certificate import Kind, ProofLog
from cardqp.certificate.completions import gain_error
from cardqp.certificate.proof_arrays import check_arrays
from cardqp.certificate.strong_parts import (
    complete_pair,
    cut_off_bound,
    largest_gain_beyond,
)
from cardqp.datasets import make_regression
from cardqp.exceptions import ProblemError
from tests.relaxation.test_completion import exact_gain, problem_of

FIXED_IN, FREE = np.array([0, 1]), np.array([2, 3, 4, 5, 6, 7])


def wide(sparsity=6):
    data = make_regression(30, 40, sparsity=sparsity, correlation=0.3, snr=1.0, seed=3)
    return SparseQP.from_regression(data.X, data.y, eta=5.0, sparsity=sparsity)


@pytest.mark.parametrize("remaining", [3, 4])
@pytest.mark.parametrize("eta", [1.0, 1e6, 1e11])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_in_exact_arithmetic(seed, eta, remaining):
    problem = problem_of(seed, n=8, scale=3.0, eta=eta)
    error = gain_error(problem, 6)
    best = min(
        Fraction(problem.constant) - exact_gain(problem, (0, 1, *more))
        for more in combinations(FREE, remaining)
    )
    gain = problem.constant - float(best)
    for share in (-0.1, -1e-9, 0.0, 1e-9, 0.1):
        cutoff = float(best) + share * gain
        proved = cut_off_bound(problem, FIXED_IN, FREE, remaining, cutoff, error)
        assert proved == -np.inf or Fraction(proved) <= best


def test_what_cannot_be_enumerated_proves_nothing():
    problem = problem_of(0)
    for remaining in (-1, 0, 1, 2, 5, 6, 7):
        assert cut_off_bound(problem, FIXED_IN, FREE, remaining, 0.0, 0.0) == -np.inf
    assert cut_off_bound(problem, FIXED_IN, FREE, 3, 0.0, np.inf) == -np.inf
    # Above the constant: everything would have to be tried.
    assert cut_off_bound(problem, FIXED_IN, FREE, 3, 2.0, 0.0) == -np.inf
    bounded = SparseQP(problem.Q, problem.c, eta=5.0, sparsity=5, lower=0.0)
    assert cut_off_bound(bounded, FIXED_IN, FREE, 3, -9.0, 0.0) == -np.inf


@pytest.mark.parametrize("fault", ["nan", "inf", "indefinite"])
def test_a_matrix_that_is_not_definite_proves_nothing(fault):
    G, c = np.eye(8) + 0.1, np.ones(8)
    if fault == "indefinite":
        G[4, 5] = G[5, 4] = 9.0
    else:
        G[4, 5] = G[5, 4] = float(fault)
    for remaining in (3, 4):
        assert largest_gain_beyond(G, c, 2, remaining, 1.0) == np.inf


@compiled
def completed_in(R, s, m, what_was_there):
    """Complete the first pair in memory that is not clean."""
    n = len(s)
    rows, slopes = np.full((m, n), what_was_there), np.full((4, n), what_was_there)
    slopes[0], rooms, is_third = s, np.ones((4, n)), np.arange(n) > 1
    is_strong = np.ones((n, n), dtype=np.bool_)
    return complete_pair(R, 1, 0, is_strong, is_third, rows, slopes, rooms, 1.0)[0]


@pytest.mark.parametrize("what_was_there", [0.0, 1e300, np.inf, np.nan])
@pytest.mark.parametrize(("m", "lost"), [(2, 1), (3, 1), (3, 2), (2, 4), (3, 4)])
def test_a_pivot_that_is_lost_proves_nothing_whatever_memory_holds(
    m, lost, what_was_there
):
    R = np.eye(5)
    R[0, lost] = R[lost, 0] = 1.5
    assert completed_in(R, np.ones(5), m, what_was_there) == np.inf


def test_the_checker_does_not_try_too_much():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((300, 300)) + 10.0 * rng.standard_normal((300, 1))
    G, c = F.T @ F + np.eye(300), F.T @ rng.standard_normal(300)
    assert largest_gain_beyond(G, c, 0, 4, 1e-6) == np.inf


def test_a_search_cuts_off_nodes_and_its_certificate_is_replayed():
    problem = wide()
    solution = cardqp.solve(problem, method="exact")
    assert solution.status is cardqp.Status.OPTIMAL
    tree = solution.certificate.tree
    assert (tree.kind == Kind.CUT_OFF).any()
    assert solution.certificate.lower_bound(problem) == pytest.approx(
        solution.lower_bound
    )


def test_a_cutoff_that_is_too_high_is_not_proved():
    problem = wide()
    solution = cardqp.solve(problem, method="exact")
    tree = solution.certificate.tree
    at = tree.record[np.flatnonzero(tree.kind == Kind.CUT_OFF)]
    value = tree.value.copy()
    value[tree.point_end[at] - 1] += 0.3 * abs(solution.objective)
    forged = replace(solution.certificate, tree=replace(tree, value=value))
    proved = forged.lower_bound(problem)
    assert proved <= solution.objective


@pytest.mark.parametrize("count", [0, 2])
def test_a_node_that_is_cut_off_has_one_cutoff(count):
    problem = problem_of(0)
    log = ProofLog(0, problem.n)
    log.open(1)
    nothing = np.zeros(0)
    index, value = np.zeros(count, dtype=np.intp), np.zeros(count)
    log.record(0, Kind.CUT_OFF, index=index, value=value, beta=nothing)
    with pytest.raises(ProblemError):
        check_arrays(log.tree(), problem)
