import numpy as np
import pytest

from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.branch_and_bound.processed_node import signed_changes
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.assessment import (
    assess,
    largest_share,
    nonzeros,
    round_points,
)
from cardqp.relaxation.relaxation import Relaxation
from tests.problems import OWN_SWITCHES, random_problem
from tests.searches import one_node


def random_branch(problem, rng):
    """Some variables switched on, some off, at least one free."""
    status = rng.choice([0, 0, 0, 1, -1], problem.n).astype(np.int8)
    fixed_in = np.flatnonzero(status > 0)
    status[fixed_in[problem.rule.limit :]] = 0
    status[int(rng.integers(problem.n))] = 0
    while Subproblem.of_status(status, problem.rule).is_empty:
        status[np.flatnonzero(status > 0)[0]] = 0
    return status


@pytest.mark.parametrize("kind", OWN_SWITCHES)
@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_theorems_agree_with_the_plain_ones(kind, seed):
    problem = random_problem(kind, seed)
    rng = np.random.default_rng(seed)
    relaxation = Relaxation.prepare(problem)
    for _ in range(5):
        status = random_branch(problem, rng)
        subproblem = Subproblem.of_status(status, problem.rule)
        tangent_point = rng.standard_normal(problem.n) * (rng.random(problem.n) < 0.6)
        tangent_point *= relaxation.unit
        beta = np.abs(rng.standard_normal(len(problem.rows)))
        bound = tangent_bound(problem, tangent_point, beta)
        cutoff = bound.value(subproblem) + 0.1 * abs(bound.value(subproblem))
        (value,), (least,), (decided,), (on,), (off,), (costs,) = assess(
            relaxation.data,
            relaxation.rows,
            relaxation.margins,
            *one_node(relaxation, status, subproblem.remaining, tangent_point, beta),
            cutoff,
        )
        free = subproblem.undecided
        plain_on, plain_off = bound.fixing_bounds(subproblem)
        close = {"rtol": 1e-9, "atol": 1e-12 * abs(bound.base)}
        np.testing.assert_allclose(value, bound.value(subproblem), **close)
        np.testing.assert_allclose(on[free], plain_on[free], **close)
        np.testing.assert_allclose(off[free], plain_off[free], **close)
        kept = status >= 0
        np.testing.assert_allclose(costs[kept], bound.costs[kept], **close)
        assert (decided[~free] == status[~free]).all()
        assert (on[decided < status] >= cutoff).all()
        assert (off[decided > status] >= cutoff).all()
        closed = np.concatenate([on[decided < status], off[decided > status]])
        assert least == closed.min(initial=np.inf)


def test_no_bound_from_a_point_that_is_not_finite():
    problem = random_problem("free", 0)
    relaxation = Relaxation.prepare(problem)
    status = np.zeros(problem.n, dtype=np.int8)
    tangent_point = np.full(problem.n, np.nan)
    (value,), (least,), (decided,), *_ = assess(
        relaxation.data,
        None,
        relaxation.margins,
        *one_node(relaxation, status, 2, tangent_point, np.zeros(0)),
        0.0,
    )
    assert value == -np.inf
    assert least == np.inf
    assert (decided == 0).all()


def test_anchors_are_rounded_as_they_are_stored():
    points, unit = np.array([[0.0, 0.1, -3.0]]), np.array([1.0, 0.5, 2.0])
    stored = round_points(points, unit, True)
    np.testing.assert_array_equal(stored, np.float32([[0.0, 0.05, -6.0]]).astype(float))
    np.testing.assert_array_equal(points * unit, stored)
    exact = np.array([[0.0, 0.1, -3.0]])
    assert round_points(exact, unit, False).tolist() == [[0.0, 0.05, -6.0]]
    assert exact.tolist() == [[0.0, 0.1, -3.0]]


def test_nonzeros_of_a_point():
    index, value = nonzeros(np.array([0.0, 0.1, -3.0]))
    assert (index.tolist(), value.tolist()) == ([1, 2], [0.1, -3.0])


def test_changes_carry_the_sign_of_the_new_status():
    before = np.array([0, 1, 0, 0], dtype=np.int8)
    after = np.array([-1, 1, 0, 1], dtype=np.int8)
    assert signed_changes(before, after).tolist() == [-1, 4]


def test_where_to_split():
    problem = random_problem("free", 1)
    data = Relaxation.prepare(problem).data
    n = problem.n
    status, costs = np.zeros(n, dtype=np.int8), -np.arange(n, dtype=float)
    x = np.zeros(n)
    assert largest_share(data.w, status, x, costs) == n - 1
    x[2] = -5.0
    assert largest_share(data.w, status, x, costs) == 2
    assert largest_share(data.w, status + np.int8(1), x, costs) == -1
