"""What other solvers say, compared with what enumeration finds."""

from functools import cache

import numpy as np

from cardqp import SparseQP
from cardqp.backends import ClaimStatus
from cardqp.datasets import make_regression
from cardqp.subproblems.support_qp import fit_support
from tests.problems import enumerate_optimum, random_problem

TOLERANCE = 1e-5
"""Solvers keep constraints to 1e-6 in units in which the objective is 1000 or so."""

QUICKLY = {"gap": 1e-7, "time_limit": 30.0, "start": None, "threads": 1}


@cache
def truth(kind, seed):
    """A random problem and its optimal value."""
    problem = random_problem(kind, seed)
    return problem, enumerate_optimum(problem)[0]


def hard_problem(n=40):
    """A regression that takes solvers long."""
    data = make_regression(n, n, sparsity=8, correlation=0.9, snr=0.5, seed=0)
    return SparseQP.from_regression(data.X, data.y, eta=1e3, sparsity=8)


def assert_agrees(claim, problem, optimum):
    """The claim is right, up to tolerances, about the point and the bound."""
    if np.isinf(optimum):
        assert claim.status is ClaimStatus.INFEASIBLE
        assert claim.x is None
        assert (claim.objective, claim.bound) == (np.inf, np.inf)
        return
    assert claim.status is ClaimStatus.OPTIMAL, claim.message
    slack = TOLERANCE * max(1.0, abs(optimum))
    support = problem.support_of(claim.x)
    assert problem.rule.excess(support) == 0
    assert abs(fit_support(problem, support).objective - optimum) <= slack
    assert abs(claim.objective - optimum) <= slack
    assert claim.bound <= optimum + slack
    assert claim.gap <= TOLERANCE
