import numpy as np
import pytest

from cardqp import SparseQP, Status, solve
from cardqp.bounds.farkas import proves_empty
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems.violation import least_violation


def problem(sparsity=2, **settings):
    return SparseQP(
        np.eye(3), np.ones(3), eta=1.0, sparsity=sparsity, **settings
    )  # fmt: skip


def test_contradicting_rows():
    empty = problem(A=[[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]], b=[-1.0, 0.5])
    root = Subproblem.root(3, 2)
    found = least_violation(empty, root)
    violation, ray = found.total, found.ray
    assert violation > 0.1
    assert proves_empty(empty, ray, root)
    assert not proves_empty(empty, np.array([1.0, 0.0]), root)
    assert not proves_empty(empty, np.array([np.nan, 1.0]), root)


def test_sum_that_needs_more_variables_than_allowed():
    bounded = problem(A_eq=[[1.0, 1.0, 1.0]], b_eq=[2.5], lower=0.0, upper=1.0)
    root = Subproblem.root(3, 2)
    found = least_violation(bounded, root)
    violation, ray = found.total, found.ray
    assert violation > 0.1
    assert proves_empty(bounded, ray, root)
    roomy = Subproblem.root(3, 3)
    assert least_violation(bounded, roomy).total < 1e-7
    assert not proves_empty(bounded, ray, roomy)


def test_branch_that_excludes_the_only_way_out():
    feasible = problem(A_eq=[[1.0, 0.0, 0.0]], b_eq=[1.0])
    root = Subproblem.root(3, 2)
    assert not proves_empty(feasible, least_violation(feasible, root).ray, root)
    without_first = root.decide(np.zeros(0, dtype=int), np.array([0]))
    found = least_violation(feasible, without_first)
    violation, ray = found.total, found.ray
    assert violation > 0.1
    assert proves_empty(feasible, ray, without_first)
    assert not proves_empty(feasible, ray, root)


def test_negative_multipliers_of_inequalities_do_not_count():
    feasible = problem(A=[[1.0, 0.0, 0.0]], b=[1.0], lower=0.0)
    assert not proves_empty(feasible, np.array([-1.0]), Subproblem.root(3, 2))


@pytest.mark.parametrize("tilt", [1e-6, 1e-9, 1e-12])
def test_nearly_parallel_rows_are_no_contradiction(tilt):
    """x = (2/tilt - 1, 2/tilt) is feasible, however large."""
    rows = {"A": [[1.0, -1.0], [-1.0, 1.0 - tilt]], "b": [-1.0, 0.0]}
    nearly = SparseQP(1e-3 * np.eye(2), np.zeros(2), eta=1e3, sparsity=2, **rows)
    assert not proves_empty(nearly, np.ones(2), Subproblem.root(2, 2))
    assert solve(nearly, method="exact").status is not Status.INFEASIBLE


def test_rounding_of_the_combined_rows_is_charged_to_finite_bounds():
    """x = (-2^61, 2^61) is feasible, although the slopes add up to nothing."""
    rows = {"A": [[1.0, 1.0], [2.0**-60, 0.0], [-1.0, -1.0]], "b": [0.0, -1.0, 0.0]}
    tricky = SparseQP(
        np.eye(2), np.zeros(2), eta=1.0, sparsity=2, lower=[-1e19, -np.inf],
        upper=[0.0, np.inf], **rows,
    )  # fmt: skip
    assert not proves_empty(tricky, np.ones(3), Subproblem.root(2, 2))


@pytest.mark.parametrize(
    ("b", "lower", "upper"), [(0.0, 0.15, 1.0), (-1.0, 1e13, 2e13)]
)
def test_variables_without_bounds_reach_beyond_the_bounds_of_others(b, lower, upper):
    """No ray may prove a feasible problem empty, whatever the right-hand side."""
    problem = SparseQP(
        np.eye(2),
        np.zeros(2),
        eta=1.0,
        sparsity=2,
        A=[[1.0, -1.0]],
        b=[b],
        lower=[lower, -np.inf],
        upper=[upper, np.inf],
        forced_in=[0],
    )
    assert not proves_empty(problem, np.ones(1), problem.root)
    assert solve(problem).status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("settings", "matrix", "rhs"),
    [
        ({"lower": [0.15, 0.0], "forced_in": [0]}, [[1.0, 0.0]], [0.0]),
        ({"forced_out": [1]}, [[0.0, 1.0], [-1e-9, 0.0]], [-1.0, 1.0]),
    ],
)
def test_single_rows_prove_what_the_linear_program_overlooks(settings, matrix, rhs):
    problem = SparseQP(
        np.eye(2), [-1.0, -1.0], eta=1.0, sparsity=1, A=matrix, b=rhs, **settings
    )
    solution = solve(problem)
    assert solution.status is Status.INFEASIBLE
    assert solution.verify().ok


def test_a_branch_is_closed_by_a_single_row():
    problem = SparseQP(
        np.eye(2),
        [-1.0, -1.0],
        eta=1.0,
        sparsity=1,
        A=[[0.0, 100.0], [-2.5e-3, 0.0]],
        b=[-1e-3, 34.0],
    )
    assert solve(problem).status is Status.OPTIMAL


def test_rows_that_cancel_on_a_variable_without_bounds_contradict_nothing_by_that():
    between = SparseQP(
        np.eye(1), [0.0], eta=1.0, sparsity=1, A=[[1.0], [-1.0]], b=[0.0, 0.5]
    )
    fixed_in = between.root.decide(np.array([0]), np.zeros(0, dtype=int))
    assert not proves_empty(between, np.ones(2), fixed_in)
    apart = between.with_linear(b=[0.0, -0.5])
    assert proves_empty(apart, np.ones(2), fixed_in)


def test_products_that_underflow_are_not_taken_for_zero():
    """x = (-2e224, 0) is feasible, although 1e-224 is next to nothing in its row."""
    rows = {"A": [[1e-224, 1e100]], "b": [-1.0]}
    bounds = {"lower": [-np.inf, 0.0], "upper": [np.inf, 1.0]}
    far = SparseQP(np.eye(2), np.zeros(2), eta=1.0, sparsity=2, **rows, **bounds)
    assert (far.rows.violation(np.array([-2e224, 0.0])) == 0).all()
    assert not proves_empty(far, np.array([1.0]), far.root)
    assert solve(far).status is not Status.INFEASIBLE


def test_multipliers_keep_their_sign_before_they_are_rounded():
    """x = (-2e150, 0) is feasible: rows cancel only with a multiplier of -1e-350."""
    rows = {"A": [[1e100, 0.0], [1e-150, 1e100]], "b": [0.0, -1.0]}
    bounds = {"lower": [-np.inf, 0.0], "upper": [np.inf, 1.0]}
    far = SparseQP(np.eye(2), np.zeros(2), eta=1.0, sparsity=2, **rows, **bounds)
    assert (far.rows.violation(np.array([-2e150, 0.0])) == 0).all()
    assert not proves_empty(far, np.array([1e-280, 1e-100]), far.root)


def test_slopes_made_of_denormals_have_no_sign():
    """x = (2 / a, 0) is feasible: the rows add up to -0.14 a, which is rounded to a."""
    a, ray = 2.0**-742, np.full(3, 2.0**-332)  # products of the two are the least float
    A = np.column_stack([[0.53 * a, 0.53 * a, -1.2 * a], 1 / ray])
    bounds = {"lower": 0.0, "upper": [np.inf, 1.0]}
    rows = {"A": A, "b": [1.1, 1.1, -2.3]}
    far = SparseQP(np.eye(2), np.zeros(2), eta=1.0, sparsity=2, **rows, **bounds)
    assert (far.rows.violation(np.array([2 / a, 0.0])) == 0).all()
    assert not proves_empty(far, ray, far.root)
