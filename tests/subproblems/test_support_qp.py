import itertools

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.bounds.farkas import proves_empty
from cardqp.exceptions import BackendError
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems import support_qp
from cardqp.subproblems.support_qp import fit_support
from tests.problems import KINDS, is_allowed, random_problem, support_optimum


@pytest.fixture(params=["active set", "interior point"])
def solver(request, monkeypatch):
    if request.param == "interior point":
        monkeypatch.setattr(support_qp, "ACTIVE_SET_LIMIT", 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("solver")
def test_every_support_equals_the_oracle(kind):
    problem = random_problem(kind, 0)
    for size in range(3):
        for support in itertools.combinations(range(problem.n), size):
            whole = sorted({*support, *problem.forced_in})
            if len(whole) > problem.rule.limit or not is_allowed(problem, whole):
                continue
            expected = support_optimum(problem, list(support))
            fit = fit_support(problem, np.array(support, dtype=int))
            if np.isinf(expected):
                assert fit.x is None
                assert fit.objective == np.inf
                continue
            price = problem.rule.penalty * len(problem.support_of(fit.x))
            assert fit.objective - price == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", ["rows", "equality", "rows+bounds", "bounds"])
@pytest.mark.parametrize("seed", range(5))
def test_optimality_conditions_hold_on_the_support(kind, seed):
    problem = random_problem(kind, seed)
    support = np.arange(min(4, problem.n))
    fit = fit_support(problem, support)
    if fit.x is None:
        pytest.skip("this support of a random problem is infeasible")
    rows = problem.rows
    slope = (
        problem.c
        + 2 * problem.Q @ fit.x
        + 2 * problem.ridge * fit.x
        + rows.matrix.T @ fit.beta
    )[support]
    x, lower, upper = (v[support] for v in (fit.x, problem.lower, problem.upper))
    size = np.abs(problem.c).max()
    at_lower, at_upper = x <= lower + 1e-9, x >= upper - 1e-9
    fixed_in = ~(at_lower | at_upper)
    assert np.abs(slope[fixed_in]).max(initial=0.0) <= 1e-7 * size
    assert (slope[at_lower & ~at_upper] >= -1e-7 * size).all()
    assert (slope[at_upper & ~at_lower] <= 1e-7 * size).all()
    assert (fit.beta[~rows.is_equality] >= 0).all()
    slack = rows.rhs - rows.matrix @ fit.x
    assert np.abs(fit.beta * slack).max(initial=0.0) <= 1e-7 * size


def test_nothing_chosen():
    empty = np.zeros(0, dtype=int)
    fine = SparseQP(np.eye(2), [1, 1], eta=1.0, sparsity=0, A=[[1, 1]], b=[1.0])
    assert fit_support(fine, empty).objective == 0.0
    never = SparseQP(np.eye(2), [1, 1], eta=1.0, sparsity=0, A=[[1, 1]], b=[-1.0])
    assert fit_support(never, empty).x is None


def test_an_empty_program_comes_with_a_ray():
    problem = SparseQP(
        np.eye(3),
        np.ones(3),
        eta=1.0,
        sparsity=2,
        A_eq=np.ones((1, 3)),
        b_eq=1.0,
        lower=0.0,
        upper=0.4,
    )
    fit = fit_support(problem, np.array([0, 2]))
    branch = Subproblem.of_status(np.array([1, -1, 1], dtype=np.int8), problem.rule)
    assert fit.x is None
    assert proves_empty(problem, fit.beta, branch)


@pytest.mark.parametrize("seed", range(20))
def test_rays_with_inequalities_and_unbounded_variables(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2, 4))
    problem = SparseQP(
        np.eye(4),
        rng.standard_normal(4),
        eta=1.0,
        sparsity=3,
        A=np.vstack([rows, -rows[:1]]),
        b=[1.0, 0.5, -1.0 - rng.uniform(0.01, 10.0)],
        lower=np.where(rng.random(4) < 0.5, 0.0, -np.inf),
    )
    fit = fit_support(problem, np.arange(3), needs_proof=True)
    branch = Subproblem.of_status(np.array([1, 1, 1, -1], dtype=np.int8), problem.rule)
    assert fit.x is None
    assert proves_empty(problem, fit.beta, branch)


@pytest.mark.parametrize("seed", range(10))
def test_rational_arithmetic_finds_what_solvers_find(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = 5
    F = rng.standard_normal((n, n))
    problem = SparseQP(
        F.T @ F,
        3.0 * rng.standard_normal(n),
        eta=rng.uniform(0.5, 5.0, n),
        sparsity=n,
        A=rng.standard_normal((2, n)),
        b=rng.uniform(0.1, 1.0, 2),
        A_eq=rng.standard_normal((1, n)),
        b_eq=[0.3],
        lower=-1.0,
        upper=2.0,
    )
    support = np.array([0, 1, 3, 4])
    usual = fit_support(problem, support)

    def gives_up(_):
        raise BackendError("no")

    monkeypatch.setattr("cardqp.subproblems.support_qp._active_set", gives_up)
    exact = fit_support(problem, support)
    np.testing.assert_allclose(exact.x, usual.x, atol=1e-9)
    np.testing.assert_allclose(exact.beta, usual.beta, atol=1e-7)
    assert exact.objective == pytest.approx(usual.objective, rel=1e-12)
