"""Starts of ascents where rounding leaves nothing to split."""

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.branch_and_bound.presolve import PresolveState, reduce_problem
from cardqp.branch_and_bound.signed_starts import AscentStart
from cardqp.certificate import Reduction
from cardqp.exceptions import ProblemError


@pytest.fixture
def state():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((4, 6))
    return PresolveState.start(SparseQP(F.T @ F, -np.ones(6), eta=1.0, sparsity=2))


def test_a_diagonal_that_is_not_there_cannot_be_moved(state):
    base = Reduction(np.arange(6), np.full(6, 0.5))
    with pytest.raises(ProblemError, match="semidefinite"):
        reduce_problem(state, base)
    assert AscentStart(base, np.eye(6)).problem(state) is None


def test_what_can_be_moved_is(state):
    base = Reduction(np.arange(6), np.full(6, -0.5))
    problem = AscentStart(base, np.eye(6)).problem(state)
    assert problem is not None
    assert np.array_equal(problem.ridge, np.full(6, 0.5))
