import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.problem import lift
from cardqp.problem.rows import power_of_two
from cardqp.problem.validation import LARGEST
from cardqp.subproblems.scaled_qp import ScaledQP, SupportQP
from tests.problems import KINDS, random_problem


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_scaling_is_exact(kind, by_rows):
    problem = random_problem(kind, 1)
    support = np.arange(0, problem.n, 2)
    program = SupportQP.of(problem, support)
    scaled = ScaledQP.of(program, by_rows=by_rows)
    size = scaled.unit[0] * power_of_two(np.sqrt(program.G.diagonal()))[0]
    unit, k = scaled.unit / size, len(support)
    assert (unit == power_of_two(unit)).all()
    G = problem.Q[np.ix_(support, support)] + np.diag(problem.ridge[support])
    assert (scaled.hessian == 2.0 * unit[:, None] * G * unit).all()
    assert (scaled.slope == unit * problem.c[support] / size).all()
    plain = problem.rows.restrict(support)
    rows, scale = type(plain)(
        plain.matrix * unit, plain.rhs, plain.is_equality
    ).scaled()
    assert (scaled.rows.matrix == rows.matrix).all()
    assert (scaled.rows.rhs == rows.rhs / size).all()
    assert (scaled.rows.is_equality == rows.is_equality).all()
    assert (scaled.row_unit == scale / size).all()
    below = np.where(rows.is_equality, rows.rhs / size, -np.inf)
    assert (scaled.lower[k:] == below).all()
    lower, upper = scaled.box
    assert (lower == problem.lower[support] / unit / size).all()
    assert (upper == problem.upper[support] / unit / size).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_points_are_judged_as_by_the_problem(kind, seed):
    problem, rng = random_problem(kind, seed), np.random.default_rng(seed)
    support = np.arange(1, problem.n)
    part = rng.standard_normal(len(support))
    within, violation, value = SupportQP.of(problem, support).judged(part)
    x = lift(within, support, problem.n)
    expected = problem.violations(x)
    assert (within >= problem.lower[support]).all()
    assert (within <= problem.upper[support]).all()
    assert violation == pytest.approx(max(expected.rows, expected.equalities))
    total = problem.constant + value + problem.price(x)
    assert total == pytest.approx(problem.value(x), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_points_within_bounds_are_allowed_if_their_support_is(kind, seed):
    problem, rng = random_problem(kind, seed), np.random.default_rng(seed)
    for share in (0.2, 0.5, 1.0):
        part = np.clip(rng.standard_normal(problem.n), problem.lower, problem.upper)
        x = np.where(rng.random(problem.n) < share, part, 0.0)
        found = problem.violations(x)
        is_allowed = found.cardinality == 0 and found.bounds == 0.0
        assert problem.is_allowed(x) == is_allowed


def test_points_beyond_all_bounds_violate_them():
    problem = SparseQP(np.eye(2), np.ones(2), eta=1.0, sparsity=1, A=[[1, 0]], b=[1.0])
    program = SupportQP.of(problem, np.array([1]))
    assert program.judged(np.array([LARGEST]))[1] == np.inf
    assert program.judged(np.array([np.nan]))[1] == np.inf
