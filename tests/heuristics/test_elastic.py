import numpy as np

from cardqp import SparseQP, Status, solve
from cardqp.heuristics.elastic import elastic_dive
from cardqp.heuristics.local_search import round_switches
from cardqp.subproblems.support_qp import fit_support
from cardqp.subproblems.violation import least_violation


def narrow_problem(seed, n=60, m=4, s=8):
    """Few supports meet the equations, as nonzeros have narrow bounds."""
    rng = np.random.default_rng(seed)
    F, A = rng.standard_normal((n // 2, n)), rng.uniform(0.0, 1.0, (m, n))
    lower = rng.uniform(0.1, 0.4, n)
    upper = lower * rng.uniform(1.05, 1.5, n)
    x, support = np.zeros(n), rng.choice(n, s, replace=False)
    x[support] = rng.uniform(lower, upper)[support]
    return SparseQP(
        F.T @ F / n,
        rng.standard_normal(n),
        eta=10.0,
        sparsity=s,
        A_eq=A,
        b_eq=A @ x,
        lower=lower,
        upper=upper,
    )


def test_the_dive_finds_points_where_rounding_does_not():
    n_rounded, n_found = 0, 0
    for seed in range(8):
        problem = narrow_problem(seed, m=2, s=6)
        first = least_violation(problem, problem.root).switches
        rounded = fit_support(problem, round_switches(problem, problem.root, first))
        n_rounded += rounded.x is not None
        found = elastic_dive(problem, problem.root, first)
        if found.x is not None:
            n_found += 1
            assert problem.feasibility(found.x).holds()
            assert len(problem.support_of(found.x)) <= 6
    assert n_found >= n_rounded + 3


def test_the_dive_gives_up_on_an_empty_problem():
    problem = narrow_problem(0)
    empty = problem.with_linear(b_eq=100.0 * problem.b_eq)
    assert elastic_dive(empty, empty.root, np.zeros(60)).x is None
    assert solve(empty).status is Status.INFEASIBLE
