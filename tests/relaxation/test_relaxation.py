from dataclasses import replace

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.relaxation.scaled_data import RankOneMetric
from tests.problems import KINDS, enumerate_optimum, n_switched, random_problem

FEASIBLE_KINDS = [kind for kind in KINDS if "infeasible" not in kind]


@pytest.mark.parametrize("kind", FEASIBLE_KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_value_and_bound_of_the_relaxation_meet_below_the_optimum(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    if np.isinf(optimum):
        pytest.skip("this seed of a random constrained problem is infeasible")
    relaxation = Relaxation.prepare(problem)
    root = problem.root
    start = relaxation.start()
    relaxed = relaxation.solve(root, *start, Effort(1e-8 * abs(optimum)))
    proved = tangent_bound(problem, relaxed.tangent_point, relaxed.beta).value(root)
    assert relaxed.has_worked
    assert proved <= optimum + 1e-7 * abs(optimum)
    assert n_switched(problem, relaxed.switches) <= problem.rule.limit + 1e-6


def test_scaling_is_exact():
    problem = random_problem("badly scaled", 0)
    relaxation = Relaxation.prepare(problem)
    np.testing.assert_array_equal(relaxation.data.c / relaxation.unit, problem.c)
    assert relaxation.data.M.diagonal().max() <= 4.0


def dominated(n=40):
    """A matrix with one eigenvalue far above the others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, n)) + 3.0
    y = X[:, :4].sum(axis=1) + rng.standard_normal(200)
    return SparseQP.from_regression(X, y, eta=20.0, sparsity=4)


@pytest.mark.parametrize("n", [10, 40])
def test_the_metric_lies_above_the_form(n):
    relaxation = Relaxation.prepare(dominated(n))
    data, metric = relaxation.data, relaxation.metric
    assert metric.sigma > 0
    above = (
        data.lipschitz * np.eye(n)
        + metric.sigma * metric.direction.T @ metric.direction
    )
    assert np.linalg.eigvalsh(above - 2.0 * data.M)[0] > 0


def test_the_metric_of_a_factor_is_that_of_its_product():
    by_matrix = dominated()
    root = np.linalg.cholesky(by_matrix.Q + 1e-9 * np.eye(40)).T
    by_factor = SparseQP.from_factor(root, by_matrix.c, eta=20.0, sparsity=4)
    both = [Relaxation.prepare(p) for p in (by_matrix, by_factor)]
    assert both[0].data.lipschitz == pytest.approx(both[1].data.lipschitz, rel=1e-3)
    first, second = (relaxation.metric for relaxation in both)
    assert first.sigma == pytest.approx(second.sigma, rel=1e-3)
    assert abs(first.direction[0] @ second.direction[0]) == pytest.approx(1.0, abs=1e-6)


def test_both_metrics_lead_to_the_same_bound():
    problem = dominated()
    relaxation = Relaxation.prepare(problem)
    data, metric = relaxation.data, relaxation.metric
    flat = data._replace(lipschitz=data.lipschitz + float(metric.sigma[0]))
    level = RankOneMetric(np.zeros((1, 40)), np.zeros(1))
    plain = replace(relaxation, data=flat, metric=level)
    root = Subproblem.root(40, 4)
    bounds = []
    for solver in (relaxation, plain):
        relaxed = solver.solve(root, *solver.start(), Effort(1e-9))
        bound = tangent_bound(problem, relaxed.tangent_point, relaxed.beta)
        bounds.append(bound.value(root))
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-4)


def test_variables_switched_off_may_be_taken_out():
    problem = dominated()
    relaxation = Relaxation.prepare(problem)
    off = np.arange(20, 40)
    subproblem = Subproblem.root(40, 4).decide(np.zeros(0, dtype=int), off)
    relaxed = relaxation.solve(subproblem, *relaxation.start(), Effort(1e-9))
    assert (relaxed.tangent_point[off] == 0).all()
    part = problem.restrict(np.arange(20))
    alone = Relaxation.prepare(part)
    other = alone.solve(Subproblem.root(20, 4), *alone.start(), Effort(1e-9))
    first = tangent_bound(problem, relaxed.tangent_point, relaxed.beta).value(
        subproblem
    )
    second = tangent_bound(part, other.tangent_point, other.beta).value(
        Subproblem.root(20, 4)
    )
    assert first == pytest.approx(second, rel=1e-6)


@pytest.mark.parametrize("is_gram", [True, False])
@pytest.mark.parametrize("first", [0, 60])
def test_a_start_that_misleads_costs_nothing_but_time(is_gram, first):
    """At a wrong start few variables seem to matter; the bound does not suffer."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 120))
    y = X[:, :6] @ np.ones(6) + 3.0 * rng.standard_normal(150)
    problem = SparseQP.from_regression(X, y, eta=30.0, sparsity=5)
    if not is_gram:
        problem = SparseQP.from_factor(
            X, problem.c, eta=30.0, sparsity=5, constant=problem.constant
        )
    relaxation = Relaxation.prepare(problem)
    cold, nu = relaxation.start()
    warm = cold.copy()
    warm[first : first + 8] = 0.1
    bounds = []
    for start in (cold, warm):
        relaxed = relaxation.solve(problem.root, start, nu, Effort(1e-7))
        bound = tangent_bound(problem, relaxed.tangent_point, relaxed.beta)
        bounds.append(bound.value(problem.root))
    assert bounds[0] == pytest.approx(bounds[1], abs=3e-7)


def with_rows(n=40):
    """The same with a budget, and with two eigenvalues far above the others."""
    problem = dominated(n)
    extra = 10.0 * np.outer(np.arange(n), np.arange(n)) / n**2
    return SparseQP(
        problem.Q + extra,
        problem.c,
        eta=20.0,
        sparsity=4,
        A_eq=np.ones((1, n)),
        b_eq=1.0,
        lower=0.0,
    )


@pytest.mark.parametrize("is_gram", [True, False])
def test_the_metric_with_rows_lies_above_the_form(is_gram):
    problem = with_rows()
    if not is_gram:
        root = np.linalg.cholesky(problem.Q).T
        problem = SparseQP.from_factor(
            root, problem.c, eta=20.0, sparsity=4, A_eq=np.ones((1, 40)), b_eq=1.0
        )
    relaxation = Relaxation.prepare(problem, is_reused=True)
    rows, data = relaxation.rows, relaxation.data
    assert len(rows.sigma) >= 2
    terms = rows.directions.T @ (rows.sigma[:, None] * rows.directions)
    form = data.M if is_gram else data.M @ data.M.T
    above = data.lipschitz * np.eye(40) + terms - 2.0 * form
    assert np.linalg.eigvalsh(above)[0] > 0


def test_all_metrics_with_rows_lead_to_the_same_bound():
    problem, bounds = with_rows(), []
    many = Relaxation.prepare(problem, is_reused=True)
    nothing = many.rows._replace(directions=np.zeros((0, 40)), sigma=np.zeros(0))
    steep = many.data._replace(lipschitz=2.0 * np.linalg.eigvalsh(many.data.M)[-1])
    for solver in (
        many,
        Relaxation.prepare(problem),
        replace(many, rows=nothing, data=steep),
    ):
        relaxed = solver.solve(problem.root, *solver.start(), Effort(1e-8))
        bound = tangent_bound(problem, relaxed.tangent_point, relaxed.beta)
        bounds.append(bound.value(problem.root))
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-5)


def test_a_misleading_start_with_rows():
    problem = with_rows()
    relaxation = Relaxation.prepare(problem, is_reused=True)
    cold, nu = relaxation.start()
    warm = cold.copy()
    warm[30:34] = 0.1
    bounds = []
    for start, multiplier in ((cold, nu), (warm, nu + 3.0), (warm, nu - 3.0)):
        relaxed = relaxation.solve(problem.root, start, multiplier, Effort(1e-8))
        assert relaxed.has_worked
        bound = tangent_bound(problem, relaxed.tangent_point, relaxed.beta)
        bounds.append(bound.value(problem.root))
    np.testing.assert_allclose(bounds, bounds[0], rtol=1e-6)
