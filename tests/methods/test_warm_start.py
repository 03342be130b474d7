import itertools

import numpy as np
import pytest

from cardqp import SparseQP, Stop, best_response, solve, warm_start
from cardqp.datasets import make_regression
from cardqp.subproblems.support_qp import fit_support
from tests.pipeline.test_solve import slack
from tests.problems import KINDS, enumerate_optimum, random_problem


@pytest.mark.parametrize("variant", ["best-response", "subgradient"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_bound_and_every_proof_holds(kind, variant):
    for seed in range(5):
        problem = random_problem(kind, seed)
        optimum, support = enumerate_optimum(problem)
        if np.isinf(optimum):
            continue
        x = fit_support(problem, np.array(support, dtype=int)).x
        found = warm_start(problem, variant)
        assert found.lower_bound <= optimum + slack(optimum)
        assert found.trace.bounds.max() <= optimum + slack(optimum)
        assert not x[found.zeros].any()
        assert np.isin(found.ones, problem.support_of(x)).all()


def regression(N=300, correlation=0.8, seed=0):
    data = make_regression(N, 80, sparsity=5, correlation=correlation, seed=seed)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=5)
    return data, problem


def next_support(X, y, support, eta, s):
    """The method as its authors state it, with one entry per observation."""
    g = eta / len(y)
    part = X[:, support]
    inner = np.eye(len(support)) / g + part.T @ part
    residual = y - part @ np.linalg.solve(inner, part.T @ y)
    return np.sort(np.argsort(-((X.T @ residual) ** 2), kind="stable")[:s])


@pytest.mark.parametrize("seed", range(4))
def test_best_response_is_the_method_in_sample_space(seed):
    data, problem = regression(correlation=0.95, seed=seed)
    supports = warm_start(problem, "best-response").trace.supports
    assert len(supports) > 2
    assert np.array_equal(
        supports[0], np.sort(np.argsort(-np.abs(data.X.T @ data.y))[:5])
    )
    for support, following in itertools.pairwise(supports):
        expected = next_support(data.X, data.y, support, 10.0, 5)
        assert np.array_equal(following, expected)


def test_gram_and_factor_give_the_same_supports():
    _, problem = regression(N=60)
    assert problem.quadratic.array.shape == (60, 80)  # a factor
    gram = SparseQP(problem.Q, problem.c, eta=10.0, sparsity=5)
    for variant in ("best-response", "subgradient"):
        one, other = warm_start(problem, variant), warm_start(gram, variant)
        assert np.array_equal(one.candidates, other.candidates)


def test_whole_form_is_the_highest_level():
    _, problem = regression(correlation=0.95)
    whole, highest = (
        warm_start(problem, "best-response"),
        best_response(problem, problem.n),
    )
    assert len(whole.trace.supports) == len(highest.trace.supports)
    for one, other in zip(whole.trace.supports, highest.trace.supports, strict=True):
        assert np.array_equal(one, other)


def test_subgradient_comes_close_to_the_relaxation():
    _, problem = regression(correlation=0.9)
    found, exact = warm_start(problem), solve(problem)
    loose = warm_start(problem, "best-response")
    assert loose.lower_bound < found.lower_bound
    assert exact.objective - found.lower_bound <= 0.2 * exact.objective


def test_pool_holds_the_best_support_ever_visited():
    _, problem = regression(correlation=0.95)
    found = warm_start(problem, window=1)
    values = [
        solve(problem.restrict(support)).objective
        for support in {s.tobytes(): s for s in found.trace.supports}.values()
    ]
    assert found.upper_bound == pytest.approx(min(values), rel=1e-6)


def test_limits():
    _, problem = regression(correlation=0.95)
    assert warm_start(problem, max_iter=7).n_iter == 7
    assert warm_start(problem, "best-response", max_iter=1).stop is Stop.MAX_ITER
    assert warm_start(problem, time_limit=0.0).stop is Stop.TIME_LIMIT
    wide = warm_start(problem, window=200)
    narrow = warm_start(problem, window=1)
    assert 5 <= len(narrow.candidates) <= 10 < len(wide.candidates)
    assert np.isin(narrow.support, narrow.candidates).all()
