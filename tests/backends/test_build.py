"""The program: its units, and that it says the same as the problem."""

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.backends import known
from cardqp.backends.build import UNIT, build
from cardqp.backends.program import FORMULATIONS
from cardqp.subproblems.support_qp import fit_support
from tests.problems import KINDS, enumerate_optimum, random_problem

SOLVABLE = [kind for kind in KINDS if "infeasible" not in kind]


def value(program, y, z):
    """The objective of the program, heights being as small as they can."""
    residual = program.factor @ y
    total = residual @ residual + program.weights @ y**2 + program.slope @ y
    return total + program.price * z.sum() + program.constant


@pytest.mark.parametrize("formulation", ["perspective", "sos1"])
@pytest.mark.parametrize("kind", SOLVABLE)
def test_objectives_are_the_problems_in_other_units(kind, formulation):
    problem = random_problem(kind, 5)
    optimum, support = enumerate_optimum(problem)
    if np.isinf(optimum):
        pytest.skip("no feasible point")
    start = fit_support(problem, np.array(support, dtype=int)).x
    program = build(problem, formulation, start)
    y, z = program.start, program.start_switches
    assert value(program, y, z) == pytest.approx(optimum * program.unit, rel=1e-6)
    np.testing.assert_array_equal(program.point(y, z), program.scale * y)
    low, high = program.column_bounds
    assert (y >= low - 1e-6).all()
    assert (y <= high + 1e-6).all()
    assert (program.rows.violation(y) <= 1e-5).all()
    assert all(z[limit.switches].sum() <= limit.most for limit in program.limits)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_curvatures_are_about_one_and_objectives_about_a_thousand(unit):
    plain = random_problem("positive", 5)
    problem = SparseQP(
        unit * plain.Q, -unit * abs(plain.c), eta=plain.eta / unit, sparsity=2
    )
    program = build(problem, "sos1", None)
    curvature = np.diag(program.form)
    assert ((curvature >= 0.99) & (curvature <= 4.01)).all()
    fit = known.find_point(problem, known.fit_start(problem, None))
    assert UNIT / 2 <= abs(fit.objective) * program.unit <= UNIT


def test_the_least_eigenvalue_is_in_the_cones():
    problem = SparseQP(3.0 * np.eye(4), np.ones(4), eta=1e9, sparsity=2)
    program = build(problem, "perspective", None)
    whole = program.form + np.diag(program.weights)
    assert np.diag(program.form).max() < 0.01 * np.diag(whole).min()


def test_a_factor_with_few_rows_is_kept():
    F = np.random.default_rng(0).standard_normal((2, 6))
    problem = SparseQP.from_factor(F, np.ones(6), eta=1.0, sparsity=2)
    assert build(problem, "perspective", None).factor.shape == (2, 6)
    assert build(problem, "indicator", None).factor.shape == (8, 6)


def test_blocks_share_a_switch():
    shared = {"blocks": [7, 2, 7, 2], "forced_in": [0, 2]}
    problem = SparseQP(np.eye(4), np.ones(4), eta=1.0, sparsity=1, **shared)
    program = build(problem, "perspective", None)
    np.testing.assert_array_equal(program.switch, [1, 0, 1, 0])
    np.testing.assert_array_equal(program.is_on, [False, True])
    assert [limit.most for limit in program.limits] == [1]


def test_what_is_forced_needs_no_links():
    problem = SparseQP(
        np.eye(3),
        np.ones(3),
        eta=1.0,
        sparsity=2,
        lower=[0.5, 0.5, -np.inf],
        upper=1.0,
        forced_in=[0],
        forced_out=[2],
    )
    program = build(problem, "perspective", None)
    low, high = program.column_bounds
    np.testing.assert_allclose(program.scale * low, [0.5, 0.0, 0.0])
    np.testing.assert_allclose(program.scale * high, [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(program.linked_below, [1])
    np.testing.assert_array_equal(program.linked_above, [1])
    assert len(program.unlinked) == 0


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_only_open_sides_need_more_than_links(formulation):
    problem = SparseQP(np.eye(2), -np.ones(2), eta=1.0, sparsity=1, upper=[1, np.inf])
    program = build(problem, formulation, None)
    is_linked = formulation == "big-m"
    assert program.unlinked.tolist() == ([] if is_linked else [0, 1])
    assert program.linked_above.tolist() == ([0, 1] if is_linked else [0])


def test_objectives_that_cancel_set_no_units():
    problem = SparseQP(np.eye(2), [-2.0, 0.0], eta=1e9, sparsity=1, constant=1.0)
    fit = known.find_point(problem, known.fit_start(problem, None))
    assert abs(fit.objective) < 1e-8
    assert known.size_of_objective(problem, fit) > 1e-5


def test_units_without_a_point_or_a_size():
    empty = SparseQP(
        np.eye(2), [0.0, 0.0], eta=1.0, sparsity=1, A=[[1, 0], [-1, 0]], b=[-1, 0.5]
    )
    fit = known.find_point(empty, known.fit_start(empty, None))
    assert fit.x is None
    assert known.size_of_objective(empty, fit) == 1.0


def test_a_point_is_found_where_the_greedy_one_is_infeasible():
    problem = SparseQP(
        np.eye(4),
        [-9.0, 0.0, 0.0, 0.0],
        eta=1.0,
        sparsity=2,
        A_eq=[[0.0, 1.0, 1.0, 1.0]],
        b_eq=[1.0],
        lower=0.0,
        upper=0.6,
    )
    fit = known.find_point(problem, known.fit_start(problem, None))
    assert fit.x is not None
