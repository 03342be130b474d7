"""What is said about infeasible problems is true, by enumeration of all supports."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from cardqp import SparseQP
from cardqp.solution.conflict import Conflict, Jump, find_conflict

N = 5
ROUNDING = 1e-7
"""The feasibility tolerance of the solver that knows the truth."""


def random_problem(seed):
    """Rows, bounds and limits of all kinds; about half of the problems are empty."""
    rng = np.random.default_rng(seed)
    n_above, n_equal = rng.integers(0, 4), rng.integers(0, 2)
    A = rng.integers(-2, 3, (n_above, N)).astype(float)
    A_eq = np.ones((n_equal, N)) if rng.random() < 0.5 else rng.random((n_equal, N))
    lower = rng.choice([0.0, -1.0, 0.6, -np.inf], p=[0.5, 0.1, 0.3, 0.1])
    upper = rng.choice([0.2, 0.9, 1.0, np.inf]) if lower < 0.5 else 0.9
    limit = int(rng.integers(1, N + 1))
    kind = rng.choice(["plain", "groups", "blocks", "forced"])
    settings = {}
    if kind == "groups":
        settings = {"groups": [0, 0, 1, 1, -1], "group_sparsity": [1, 2]}
    elif kind == "blocks" and lower < 0.5:
        settings, limit = {"blocks": [0, 0, 1, 2, 2]}, min(limit, 2)
    elif kind == "forced":
        settings = {"forced_in": [int(rng.integers(3))], "forced_out": [4]}
    return SparseQP(
        np.eye(N),
        np.zeros(N),
        eta=1.0,
        sparsity=limit,
        A=A,
        b=rng.choice([-1.5, -0.5, 0.0, 1.0], n_above),
        A_eq=A_eq,
        b_eq=rng.choice([0.5, 1.0, 2.0], n_equal),
        lower=lower,
        upper=upper,
        **settings,
    )


def supports(problem, limit=None):
    """All sets of variables that may be switched on together."""
    if limit is not None:
        problem = problem.with_limits(sparsity=limit)
    for size in range(N + 1):
        for chosen in itertools.combinations(range(N), size):
            x = np.zeros(N)
            x[list(chosen)] = 1.0
            support = problem.support_of(x)
            is_whole = len(support) == size
            if (
                is_whole
                and not problem.rule.excess(support)
                and not np.isin(support, problem.forced_out).any()
            ):
                yield list(chosen)


def least(problem, slope, rows, limit=None):
    """The least value of a linear function where some rows hold; infinite if never."""
    values = [
        least_on(problem, support, slope, rows) for support in supports(problem, limit)
    ]
    return min(values, default=np.inf)


def least_on(problem, support, slope, rows):
    matrix, rhs = problem.rows.matrix[rows], problem.rows.rhs[rows]
    equal = problem.rows.is_equality[rows]
    if not support:
        excess = np.where(equal, np.abs(rhs), np.maximum(-rhs, 0.0))
        return 0.0 if (excess <= ROUNDING).all() else np.inf
    found = linprog(
        slope[support],
        A_ub=matrix[~equal][:, support],
        b_ub=rhs[~equal],
        A_eq=matrix[equal][:, support],
        b_eq=rhs[equal],
        bounds=[(problem.lower[j], problem.upper[j]) for j in support],
    )
    return {0: found.fun, 2: np.inf, 3: -np.inf}[found.status]


def is_feasible(problem, rows=None, limit=None):
    rows = list(range(len(problem.rows))) if rows is None else rows
    return least(problem, np.zeros(N), rows, limit) < np.inf


@pytest.mark.parametrize("block", range(4))
def test_all_that_is_said_is_true(block):
    found = {Conflict: 0, Jump: 0, type(None): 0}
    for seed in range(25 * block, 25 * block + 25):
        problem = random_problem(seed)
        conflict = find_conflict(problem)
        if is_feasible(problem):
            assert conflict is None
            continue
        found[type(conflict)] += 1
        if isinstance(conflict, Conflict):
            check_conflict(problem, conflict)
        elif isinstance(conflict, Jump):
            check_jump(problem, conflict)
    # What takes several branches to prove is not simple; most is.
    assert found[Conflict] > 2 * found[type(None)]


def check_conflict(problem, conflict):
    rows, i = problem.rows, conflict.row
    slope = conflict.sign * rows.matrix[i]
    others = list(conflict.others)
    limit = None if conflict.enough is None else problem.sparsity
    for size in {limit or N, problem.sparsity}:
        assert least(problem, slope, others, size) >= conflict.least - ROUNDING
    assert conflict.least > conflict.sign * rows.rhs[i]
    if not others:
        exact = least(problem, slope, [], limit or N)
        assert conflict.least == pytest.approx(exact, rel=1e-12)
    assert not is_feasible(problem, [i, *others], limit or N)
    if conflict.enough is not None:
        assert conflict.enough > problem.rule.limit
        assert not is_feasible(problem, [i, *others], conflict.enough - 1)


def check_jump(problem, jump):
    row = problem.rows.matrix[jump.row]
    for support in supports(problem):
        if len(support) <= jump.count:
            assert -least_on(problem, support, -row, []) <= jump.most + ROUNDING
        else:
            assert least_on(problem, support, row, []) >= jump.least - ROUNDING
    assert jump.most < problem.rows.rhs[jump.row] < jump.least


def portfolio(limit, **settings):
    settings = {"lower": 0.0, "upper": 0.3} | settings
    budget = {"A_eq": np.ones((1, 8)), "b_eq": 1.0}
    return SparseQP(
        np.eye(8), np.zeros(8), eta=1.0, sparsity=limit, **budget, **settings
    )


def test_no_row_can_be_left_out():
    """The rows of a conflict can be met without any one of them."""
    rng = np.random.default_rng(0)
    A = rng.integers(-9, 10, (20, 8)).astype(float)
    A[11] = -A[3] - A[7]
    planted = np.isin(np.arange(20), [3, 7, 11])
    b = np.where(planted, -0.2, 5.0)
    problem = portfolio(8, A=A, b=b, lower=None, upper=None)
    conflict = find_conflict(problem)
    rows = {conflict.row, *conflict.others}
    assert rows == {3, 7, 11}
    assert conflict.enough is None


def test_more_nonzeros_are_named_only_where_they_help():
    assert find_conflict(portfolio(3)).enough == 4
    mean = np.linspace(0.01, 0.08, 8)[None]
    target = find_conflict(portfolio(3, A=mean, b_lower=0.1))
    assert target.enough is None
    # The best four: 0.3 of 8, 7 and 6 %, and 0.1 of 5 %.
    assert target.least == pytest.approx(-0.068)
    assert target.others == (1,)


def test_contradictions_within_rounding_are_none():
    third = portfolio(3, upper=1.0 / 3.0)
    assert find_conflict(third) is None
    assert find_conflict(portfolio(3, upper=1.0 / 3.0 - 1e-11)) is None
    assert find_conflict(portfolio(3, upper=1.0 / 3.0 - 1e-6)) is not None


def test_many_rows_are_left_alone():
    """Where nothing simple is to blame, nothing is said."""
    n = 12
    cycle = np.eye(n) - np.roll(np.eye(n), 1, axis=1)  # each exceeds the next one
    problem = SparseQP(
        np.eye(n), np.zeros(n), eta=1.0, sparsity=n, A=cycle, b=-np.ones(n)
    )
    assert find_conflict(problem) is None
    three = problem.restrict(np.arange(n))
    assert find_conflict(three) is None
    short = np.eye(3) - np.roll(np.eye(3), 1, axis=1)
    problem = SparseQP(
        np.eye(3), np.zeros(3), eta=1.0, sparsity=3, A=short, b=-np.ones(3)
    )
    assert len(find_conflict(problem).others) == 2
