"""Parts of a branch without dependent columns, and what is proved in them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from cardqp import Exact, SparseQP, Status, solve
from cardqp.bounds import circuits
from cardqp.bounds.circuits import Circuits, independent_parts
from cardqp.bounds.positive_ridge import counted
from cardqp.certificate import Kind
from cardqp.certificate.completions import gain_error
from cardqp.certificate.dropping import searched_bound
from cardqp.methods import DroppingSettings, SearchSettings
from cardqp.problem.independence import is_independent

NONE = np.zeros(0, dtype=np.intp)


def dummies(rng, N, levels):
    return np.eye(levels)[
        np.concatenate([np.arange(levels), rng.integers(0, levels, N)])
    ][:N]


def regression(seed, s=None, **settings):
    """A few columns that are equal, sums of others, constant, or sum to one."""
    rng = np.random.default_rng(seed)
    N, n = int(rng.integers(20, 40)), int(rng.integers(5, 8))
    X = rng.standard_normal((N, n)) * 10.0 ** rng.uniform(-2, 2, n)
    kind = seed % 5
    if kind == 0:
        X[:, 3] = -2.0 * X[:, 1]
    elif kind == 1:
        X[:, 4] = X[:, 0] + X[:, 2]
    elif kind == 2:
        X = np.hstack([X[:, : n - 2], dummies(rng, N, 3)])
    elif kind == 3:
        X[:, 2], X[:, 4] = X[:, 0], X[:, 0] - 3.0 * X[:, 1]
    else:
        X = np.hstack([X[:, : n - 4], dummies(rng, N, 3), dummies(rng, N, 2)])
        X[:, 0] = 7.0 * (seed % 2)
    X = X - X.mean(axis=0)
    y = X @ (rng.standard_normal(X.shape[1]) / (1e-9 + np.linalg.norm(X, axis=0)))
    y += rng.uniform(0.1, 2.0) * y.std() * rng.standard_normal(N)
    s = int(rng.integers(1, 5)) if s is None else s
    return SparseQP.from_regression(X, y, eta=None, sparsity=s, **settings), X, y


def least_squares(X, y, s, among=None):
    """The least mean squared error of supports whose columns are independent."""
    best = y @ y / len(y)
    for size in range(1, s + 1):
        for support in itertools.combinations(range(X.shape[1]), size):
            part = X[:, support]
            G = part.T @ part / len(y)
            if (among is None or among(set(support))) and is_independent(G, 1e-4):
                x = np.linalg.lstsq(part, y, rcond=None)[0]
                best = min(best, float(((y - part @ x) ** 2).mean()))
    return best


@pytest.mark.parametrize("seed", range(250))
def test_regressions_with_dependent_columns(seed):
    problem, X, y = regression(seed)
    best = least_squares(X, y, problem.sparsity)
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok
    assert solution.lower_bound <= best * (1 + 1e-9)
    assert solution.objective == pytest.approx(best, rel=1e-4)
    own = X[:, solution.support]
    x = np.linalg.lstsq(own, y, rcond=None)[0]
    assert solution.objective == pytest.approx(((y - own @ x) ** 2).mean(), rel=1e-11)


@pytest.mark.parametrize("seed", range(60))
def test_what_a_replay_proves_in_parts(seed):
    problem, X, y = regression(seed)
    problem = counted(problem)
    assert problem.independence > 0
    best, n = least_squares(X, y, problem.sparsity), problem.n
    error = gain_error(problem, problem.rule.limit)
    for cutoff in (0.99 * best, best, 0.5 * (best + problem.constant)):
        bound = searched_bound(problem, NONE, np.arange(n), cutoff, 1e6, error)
        assert bound <= best * (1 + 1e-9)
        assert bound == pytest.approx(min(cutoff, best), rel=1e-6)
    assert searched_bound(problem, NONE, np.arange(n), best, 1, error) <= best


@pytest.mark.parametrize("seed", range(60))
def test_a_branch_in_parts(seed):
    problem, X, y = regression(seed, s=4)
    problem, rng = counted(problem), np.random.default_rng(seed)
    order = rng.permutation(problem.n)
    fixed_in, free = order[: seed % 3], order[seed % 3 : -1]

    def is_inside(support):
        return set(fixed_in) <= support <= {*fixed_in, *free}

    best = least_squares(X, y, 4, is_inside)
    error = gain_error(problem, 4)
    cutoff = 0.5 * (best + problem.constant)
    if cutoff < problem.constant * (1 - 1e-9):
        bound = searched_bound(problem, fixed_in, free, cutoff, 1e6, error)
        assert bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(100))
def test_every_support_that_counts_is_in_one_part(seed):
    problem, X, _ = regression(seed)
    problem, n = counted(problem), X.shape[1]
    parts = independent_parts(problem, NONE, np.arange(n))
    G = problem.Q
    for size in range(problem.sparsity + 1):
        for support in map(set, itertools.combinations(range(n), size)):
            inside = [
                set(p.fixed_in) <= support <= {*p.fixed_in, *p.free} for p in parts
            ]
            assert sum(inside) <= 1
            block = list(support)
            if is_independent(G[np.ix_(block, block)], 1e-4):
                assert sum(inside) == 1
    for part in parts:
        assert is_independent(G[np.ix_(part.index, part.index)], 1e-9)


def test_a_vector_must_prove_a_circuit(monkeypatch):
    problem, _X, _ = regression(1)
    found = Circuits.of(counted(problem))
    assert set(found.find(np.arange(problem.n))) == {0, 2, 4}
    assert not found.is_proof(found.scaled[:2, :2], np.ones(2))
    # A column that is taken for dependent, but is not, makes no circuit.
    monkeypatch.setattr(circuits, "first_dependent", lambda _: 1)
    assert found.find(np.arange(2)) is None


def test_a_proof_that_is_too_generous_would_show(monkeypatch):
    """Circuits that are none hide the best supports, which these tests notice."""
    problem, X, y = regression(1, s=3)
    monkeypatch.setattr(Circuits, "is_proof", lambda *_: True)
    monkeypatch.setattr(
        circuits, "first_dependent", lambda S: 1 if len(S) > 1 else None
    )
    ruled, best = counted(problem), least_squares(X, y, 3)
    error, everything = gain_error(ruled, 3), np.arange(problem.n)
    cutoff = 0.5 * (best + problem.constant)
    bound = searched_bound(ruled, NONE, everything, cutoff, 1e6, error)
    assert bound > best * (1 + 1e-9)


def test_nothing_is_proved_where_parts_are_too_many(monkeypatch):
    problem, _X, _y = regression(3, s=3)
    ruled = counted(problem)
    monkeypatch.setattr(circuits, "MOST_PARTS", 2)
    assert independent_parts(ruled, NONE, np.arange(problem.n)) is None
    bound = searched_bound(ruled, NONE, np.arange(problem.n), 0.0, 1e6, 1e-9)
    assert bound == -np.inf
    assert solve(problem).status is Status.OPTIMAL


def test_dependent_columns_that_are_forced_in_may_be_zero():
    problem, X, y = regression(0, s=3)
    forced = problem.with_forced(forced_in=[1, 3])
    assert (
        independent_parts(counted(forced), np.array([1, 3]), np.array([0, 2])) is None
    )
    best = min(
        least_squares(
            X, y, 2, lambda support: support & {1, 3} and len(support - {1, 3}) < 2
        ),
        least_squares(X, y, 1, lambda support: support.isdisjoint({1, 3})),
    )
    solution = solve(forced)
    assert solution.verify().ok
    assert solution.lower_bound <= best * (1 + 1e-9)


def easy(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((500, 200))
    X[:, 7] = X[:, 3] + X[:, 5]
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(500)
    return SparseQP.from_regression(X, y, eta=None, sparsity=3)


@pytest.mark.parametrize("seed", range(3))
def test_an_easy_regression_is_solved(seed):
    solution = solve(easy(seed))
    assert solution.status is Status.OPTIMAL
    assert solution.verify().ok


@pytest.fixture(scope="module")
def searched():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 30)) + 0.7 * rng.standard_normal((300, 1))
    X[:, 8] = X[:, 3] + X[:, 5]
    X[:, 20:27] = dummies(rng, 300, 7)
    X -= X.mean(axis=0)
    y = X @ rng.standard_normal(30) + 8.0 * rng.standard_normal(300)
    found = solve(SparseQP.from_regression(X, y, eta=None, sparsity=8))
    assert found.status is Status.OPTIMAL
    assert found.certificate.tree.kind.tolist() == [Kind.SEARCHED]
    return found


def test_both_searches_agree(searched):
    without = SearchSettings(dropping=DroppingSettings(max_variables=0))
    other = solve(searched.problem, method=Exact(without))
    assert Kind.SEARCHED not in other.certificate.tree.kind
    assert other.objective == pytest.approx(searched.objective, rel=2e-4)


def test_a_forged_search_proves_no_more(searched):
    problem, tree = searched.problem, searched.certificate.tree
    cutoff, n_steps = tree.value

    def bound(*value):
        forged = replace(tree, value=np.array(value))
        return replace(searched.certificate, tree=forged).lower_bound(problem)

    for higher in (searched.objective, 2.0 * searched.objective):
        assert bound(higher, n_steps) <= searched.objective
    assert bound(cutoff, 10.0) < cutoff
    assert bound(cutoff, n_steps) >= searched.lower_bound
