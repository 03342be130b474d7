"""No ridge: what takes its place is at most the problem, in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from cardqp import ProblemError, SparseQP
from cardqp.bounds.dependence import dependent_columns, describe
from cardqp.bounds.positive_ridge import counted, with_positive_ridge
from cardqp.problem.independence import INDEPENDENT
from cardqp.problem.quadratic import Factor
from tests.arithmetic.exact import exact


def value(problem, x):
    """The objective without penalty, in rational arithmetic."""
    point, form = exact(x), problem.quadratic
    image = exact(form.array) @ point
    curved = image @ (image if isinstance(form, Factor) else point)
    ridge = exact(problem.ridge) @ point**2
    return Fraction(problem.constant) + exact(problem.c) @ point + curved + ridge


def dependent(seed, N=12, n=6):
    """Integers with a column that is the sum of two others, and one of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (N, n)).astype(float)
    X[:, 4], X[:, 5] = X[:, 0] + X[:, 1], 0.0
    return X, rng.integers(-9, 10, N).astype(float)


def test_a_problem_with_a_ridge_is_itself():
    problem = SparseQP(np.eye(2), np.ones(2), eta=1.0, sparsity=1)
    assert with_positive_ridge(problem) is problem
    assert counted(problem) is problem


@pytest.mark.parametrize("spelling", [None, np.inf, [np.inf, np.inf, np.inf]])
def test_a_definite_form_gives_up_a_part_of_its_diagonal(spelling):
    Q = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 3.0]])
    problem = SparseQP(Q, np.ones(3), eta=spelling, sparsity=1)
    assert (problem.ridge == 0).all()
    moved = with_positive_ridge(problem)
    assert (moved.ridge > 0).all()
    assert counted(problem) is problem
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(3)
        assert moved.objective(x) == pytest.approx(problem.objective(x), rel=1e-14)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rows", [3, 12])
def test_independent_points_are_not_below_the_minorant(rows, seed):
    X, y = dependent(seed, N=rows)
    problem = SparseQP.from_regression(X, y, eta=None, sparsity=3)
    ruled, minorant = counted(problem), with_positive_ridge(problem)
    assert ruled.independence == minorant.independence == INDEPENDENT
    assert (minorant.ridge > 0).all()
    rng, n_seen = np.random.default_rng(seed), 0
    for _ in range(60):
        support = rng.choice(problem.n, 3, replace=False)
        # Near directions of least curvature, where most is lost.
        _, vectors = np.linalg.eigh(problem.quadratic.block(support))
        x = np.zeros(problem.n)
        x[support] = vectors[:, 0] * 10.0 ** rng.uniform(-2, 6)
        x[support] += 1e-3 * rng.standard_normal(3)
        if ruled.feasibility(x).holds():
            n_seen += 1
            assert value(minorant, x) <= value(problem, x)
    assert n_seen > 5


@pytest.mark.parametrize("seed", range(12))
def test_points_within_bounds_are_not_below_the_minorant(seed):
    X, y = dependent(seed)
    rng = np.random.default_rng(seed)
    upper = 10.0 ** rng.uniform(-2, 2, 6)
    problem = SparseQP.from_regression(
        X, y, eta=None, sparsity=3, lower=-upper, upper=upper
    )
    minorant = with_positive_ridge(problem)
    assert minorant.independence == 0.0
    for _ in range(30):
        x = np.zeros(6)
        support = rng.choice(6, 3, replace=False)
        x[support] = rng.choice([-1.0, 1.0], 3) * upper[support]
        assert value(minorant, x) <= value(problem, x)
        loss = float(value(problem, x) - value(minorant, x))
        assert loss <= 1e-4 * problem.terms_at(x) + 1e-9


def test_dependent_columns_are_named():
    X, y = dependent(1)
    ruled = counted(SparseQP.from_regression(X, y, eta=None, sparsity=2))
    assert dependent_columns(ruled).tolist() == [0, 1, 4, 5]
    assert describe(ruled).startswith("x[0], x[1], x[4], x[5]: supports count")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {},
            "`c` is not in the range of `Q`: it is None, and the objective may be u",
        ),
        ({"lower": 0.0}, "`c` is not in the range of `Q`"),
        ({"A": [[1.0, 1.0]], "b": [1.0]}, "dependent and variables are not bounded"),
        ({"lower": -1.0}, "dependent and variables are not bounded"),
    ],
)
@pytest.mark.parametrize("Q", [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]])
def test_what_has_no_rule_is_refused(Q, settings, message):
    problem = SparseQP(Q, [1.0, -1.0], eta=None, sparsity=2, **settings)
    with pytest.raises(ProblemError, match=message):
        with_positive_ridge(problem)
    with pytest.raises(ProblemError, match="use a weak ridge, such as `eta="):
        counted(problem)


def test_a_ridge_where_it_is_needed_is_enough():
    problem = SparseQP(np.diag([1.0, 0.0]), [1, -1], eta=[np.inf, 2.0], sparsity=1)
    assert (with_positive_ridge(problem).ridge > 0).all()
    assert counted(problem) is problem
