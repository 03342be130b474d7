import numpy as np
import pytest

from cardqp import ProblemError, SparseQP
from tests.problem.small import make
from tests.problems import KINDS, random_problem


def test_restriction_is_the_problem_with_other_variables_zero():
    problem = random_problem("everything at once", 3)
    kept = np.array([0, 2])
    part = np.array([0.3, -0.2])
    x = np.zeros(problem.n)
    x[kept] = part
    assert problem.restrict(kept).objective(part) == pytest.approx(problem.objective(x))


def test_other_limits_share_the_data():
    problem = make(penalty=0.1)
    other = problem.with_limits(sparsity=2)
    assert other.sparsity == 2
    assert other.penalty == 0.1
    assert other.quadratic is problem.quadratic
    with pytest.raises(ProblemError, match="`sparsity` must lie"):
        problem.with_limits(sparsity=9)


def test_more_can_be_forced():
    problem = SparseQP(
        np.eye(5), np.ones(5), eta=1.0, sparsity=3, forced_in=[4], forced_out=[0]
    )
    other = problem.with_forced(forced_in=[2, 4], forced_out=[1])
    assert other.forced_in.tolist() == [2, 4]
    assert other.forced_out.tolist() == [0, 1]
    assert other.quadratic is problem.quadratic
    assert problem.forced_in.tolist() == [4]
    assert problem.with_forced(forced_out=[3]).forced_in.tolist() == [4]


def test_more_forced_variables_bring_their_blocks():
    problem = SparseQP(
        np.eye(5), np.ones(5), eta=1.0, sparsity=1, blocks=[0, 0, 1, 2, 2]
    )
    other = problem.with_forced(forced_in=[1], forced_out=[3])
    assert other.forced_in.tolist() == [0, 1]
    assert other.forced_out.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("forced", "message"),
    [
        ({"forced_in": [0, 1]}, "`forced_in` must leave room: it names 3 variables"),
        ({"forced_in": [3]}, "`forced_in` must leave room: it names 2 variables of gr"),
        ({"forced_in": [5]}, "`forced_in` must hold indices between 0 and 4"),
        ({"forced_in": [1, 1]}, "`forced_in` must name no variable twice"),
        ({"forced_out": [9]}, "`forced_out` must hold indices between 0 and 4"),
        ({"forced_out": [4]}, "`forced_out` must not name what `forced_in` names"),
        ({"forced_in": [2]}, "`forced_out` must not name what `forced_in` names"),
    ],
)
def test_more_that_is_forced_is_checked(forced, message):
    problem = SparseQP(
        np.eye(5),
        np.ones(5),
        eta=1.0,
        sparsity=2,
        forced_in=[4],
        forced_out=[2],
        groups=[-1, -1, -1, 0, 0],
        group_sparsity=[1],
    )
    with pytest.raises(ProblemError, match=message):
        problem.with_forced(**forced)


@pytest.mark.parametrize("is_factor", [True, False])
def test_moving_a_diagonal_changes_nothing_but_the_split(is_factor):
    F = np.random.default_rng(0).standard_normal((6, 4))
    args = (np.ones(4),)
    settings = {"eta": 2.0, "sparsity": 2}
    if is_factor:
        problem = SparseQP.from_factor(F, *args, **settings)
    else:
        problem = SparseQP(F.T @ F, *args, **settings)
    moved = problem.move_to_ridge(np.full(4, 0.2))
    x = np.array([1.0, -2.0, 0.0, 3.0])
    assert moved.objective(x) == pytest.approx(problem.objective(x), rel=1e-14)
    np.testing.assert_allclose(moved.ridge, 0.7)
    assert (moved.quadratic.psd_violation > 0).all()
    for bad in (np.full(4, 100.0), np.full(4, -0.5), np.zeros(3)):
        with pytest.raises(ProblemError):
            problem.move_to_ridge(bad)


@pytest.mark.parametrize("kind", KINDS)
def test_other_vectors_make_the_same_problem_as_new_data(kind):
    problem = random_problem(kind, 1)
    c, b, b_eq = problem.c + 1.0, problem.b - 0.5, 2.0 * problem.b_eq
    changed = problem.with_linear(c=c, b=b, b_eq=b_eq, constant=7.0)
    assert changed.quadratic is problem.quadratic
    assert changed.rows.matrix is problem.rows.matrix
    assert changed.constant == 7.0
    for name, expected in (("c", c), ("b", b), ("b_eq", b_eq)):
        np.testing.assert_array_equal(getattr(changed, name), expected)
    for name in ("eta", "sparsity", "lower", "upper", "forced_in", "forced_out"):
        assert getattr(changed, name) is getattr(problem, name)
    x = np.linspace(-1.0, 1.0, problem.n)
    difference = 7.0 - problem.constant + x.sum()
    assert changed.objective(x) == pytest.approx(problem.objective(x) + difference)
    same = problem.with_linear()
    assert same.objective(x) == problem.objective(x)
    assert same.rows is problem.rows


def test_other_vectors_are_copied_and_checked():
    problem = make(A=np.ones((1, 3)), b=[1.0], A_eq=np.eye(3)[:1], b_eq=[0.5])
    c = np.ones(3)
    changed = problem.with_linear(c=c, b=2.0)
    c[0] = 5.0
    assert changed.c[0] == 1.0
    assert changed.b.tolist() == [2.0]
    assert changed.b_eq.tolist() == [0.5]
    with pytest.raises(ValueError, match="read-only"):
        changed.rows.rhs[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": np.ones(4)}, "`c` must have 3 entries, one per variable"),
        ({"c": [np.nan, 0, 0]}, r"`c` must be finite: c\[0\] is nan"),
        ({"b": [1.0, 2.0]}, "`b` must have 1 entries, one per row of `A`"),
        ({"b_eq": [np.inf]}, "`b_eq` must be finite"),
        ({"b_eq": [1.0, 1.0]}, "`b_eq` must have 1 entries, one per row of `A_eq`"),
        ({"constant": "much"}, "`constant` must hold numbers"),
    ],
)
def test_other_vectors_that_do_not_fit(changes, message):
    problem = make(A=np.ones((1, 3)), b=[1.0], A_eq=np.eye(3)[:1], b_eq=[0.5])
    with pytest.raises(ProblemError, match=message):
        problem.with_linear(**changes)
