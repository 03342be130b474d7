"""The search by dropping variables against enumeration, and its certificate."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from cardqp import Exact, SparseQP, Status, solve
from cardqp.branch_and_bound.dropping import Dropping, is_weak
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Kind
from cardqp.certificate.completions import gain_error
from cardqp.certificate.dropping import MOST_STEPS, searched_bound
from cardqp.certificate.full_gain import FullGain
from cardqp.methods import DroppingSettings, SearchSettings
from cardqp.problem.quadratic import Gram
from cardqp.solution import Solution

NONE = np.zeros(0, dtype=np.intp)


def correlated(seed, n=None, s=None, eta=1e6, **settings):
    """Nearly dependent columns, and next to no ridge."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 12)) if n is None else n
    s = int(rng.integers(1, n)) if s is None else s
    X = rng.standard_normal((3 * n, n)) * 10.0 ** rng.uniform(-1, 1, n)
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    X[:, 2] += X[:, 3:].sum(axis=1)
    y = X @ (rng.standard_normal(n) / np.linalg.norm(X, axis=0))
    y += rng.uniform(0.1, 3.0) * rng.standard_normal(3 * n) * y.std()
    return SparseQP.from_regression(X, y, eta=eta, sparsity=s, **settings)


def values(problem):
    """The optimal value of every full support."""
    G = problem.Q + np.diag(problem.ridge)
    found = {}
    for support in itertools.combinations(range(problem.n), problem.rule.limit):
        if set(problem.forced_in) <= set(support):
            part = list(support)
            gain = problem.c[part] @ np.linalg.solve(
                G[np.ix_(part, part)], problem.c[part]
            )
            found[support] = problem.constant - 0.25 * gain
    return found


def run(problem, cutoff, chunk):
    """The least value that a search finds, which begins with some cutoff."""
    dropping, truth = Dropping.begin(Tree.initial(problem)), values(problem)
    is_done = False
    while not is_done:
        is_done, support = dropping.advance(cutoff, chunk)
        if support is not None:
            assert len(np.unique(support)) == problem.rule.limit
            assert truth[tuple(sorted(support))] < cutoff + 1e-9
            cutoff = truth[tuple(sorted(support))] - 1e-9
    return cutoff


@pytest.mark.parametrize("seed", range(60))
def test_the_best_support_is_found(seed):
    problem = correlated(seed)
    best, worst = min(values(problem).values()), max(values(problem).values())
    for start in (worst, 0.5 * (best + worst)):
        found = run(problem, start + 1e-8, chunk=1 + seed % 7)
        assert found == pytest.approx(best, abs=2e-8)
    assert run(problem, best - 1e-6, 1000) == best - 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_variables_that_are_forced_in(seed):
    rng = np.random.default_rng(seed)
    problem = correlated(seed, n=9, s=5)
    forced = rng.choice(9, int(rng.integers(1, 6)), replace=False)
    problem = problem.with_forced(forced_in=forced)
    best = min(values(problem).values())
    found = solve(problem, gap=1e-9)
    assert found.objective == pytest.approx(best, rel=1e-8)
    assert found.verify().ok


@pytest.mark.parametrize("seed", range(60))
def test_what_a_replay_proves(seed):
    problem = correlated(seed)
    error, everything = gain_error(problem, problem.rule.limit), np.arange(problem.n)
    truth = sorted(values(problem).values())
    for cutoff in (truth[0] - 1e-3, truth[0], *truth[1:3], truth[-1]):
        bound = searched_bound(problem, NONE, everything, cutoff, 1e6, error)
        assert bound <= min(cutoff, truth[0] + 1e-10)
        assert bound == pytest.approx(min(cutoff, truth[0]), rel=1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_a_branch_is_bounded(seed):
    problem = correlated(seed, n=9, s=5)
    rng = np.random.default_rng(seed)
    order = rng.permutation(9)
    fixed_in, free = order[: seed % 4], order[seed % 4 : 8]
    truth = min(
        value
        for support, value in values(problem).items()
        if set(fixed_in) <= set(support) <= {*fixed_in, *free}
    )
    error = gain_error(problem, 5)
    bound = searched_bound(problem, fixed_in, free, truth + 0.01, 1e6, error)
    assert bound == pytest.approx(truth, rel=1e-4)
    assert searched_bound(problem, fixed_in, free, truth - 0.01, 1e6, error) < truth


def test_nothing_is_proved_without_steps_or_about_other_problems():
    problem = correlated(0, n=9, s=5)
    everything, error = np.arange(9), gain_error(problem, 5)

    def bound(problem, cutoff=0.01, n_steps=1e6, error=error):
        return searched_bound(problem, NONE, everything, cutoff, n_steps, error)

    assert bound(problem) == 0.01
    assert bound(problem, cutoff=0.83, n_steps=3) == -np.inf
    assert bound(problem, cutoff=2.0 * problem.constant) == -np.inf
    assert bound(problem, error=np.inf) == -np.inf
    assert bound(problem.with_limits(penalty=0.1)) == -np.inf
    bounded = SparseQP(problem.Q, problem.c, eta=1e6, sparsity=5, lower=0.0)
    assert bound(bounded) == -np.inf
    assert not is_weak(bounded, 1.0)
    flat = SparseQP(np.ones((9, 9)), problem.c, eta=1e30, sparsity=5, constant=1.0)
    assert FullGain.of(flat, everything) is None
    assert bound(flat) == -np.inf


@pytest.mark.parametrize("ridge", [0.0, 3e-6])
def test_a_matrix_that_is_not_definite_is_refused(ridge):
    """Without the ridge it curves downwards, by as much as its form says."""
    Q = np.array([[1.0, 1.0 + 1e-6], [1.0 + 1e-6, 1.0]])
    eta = 1.0 / ridge if ridge else None
    problem = SparseQP(np.eye(2), np.ones(2), eta=eta, sparsity=1, constant=1.0)
    nearly = problem.with_quadratic(Gram(Q, np.full(2, 1e-6)), problem.ridge)
    full = FullGain.of(nearly, np.arange(2))
    assert (full is None) == (ridge == 0.0)


@pytest.mark.parametrize("violation", [0.0, 1e-12, 1e-6])
def test_what_may_be_lacking_counts(violation):
    """A matrix that stands for one that may be singular proves nothing."""
    Q = np.array([[1.0, 1.0 - 1e-5], [1.0 - 1e-5, 1.0]])
    problem = SparseQP(Q, np.ones(2), eta=None, sparsity=1, constant=1.0)
    form = Gram(problem.Q, np.full(2, violation))
    full = FullGain.of(problem.with_quadratic(form, problem.ridge), np.arange(2))
    assert (full is None) == (violation > 1e-9)


@pytest.fixture(scope="module")
def solution():
    found = solve(correlated(3, n=30, s=6))
    assert found.status is Status.OPTIMAL
    assert found.certificate.tree.kind.tolist() == [Kind.SEARCHED]
    return found


def test_what_is_expected_to_be_short_comes_first(solution):
    """Nothing is presolved; what turns out to be long is, and begins anew."""
    assert solution.certificate.root == ()
    assert solution.gap <= 1e-4
    assert solution.verify().ok
    few = DroppingSettings(slice_steps=1)
    later = solve(solution.problem, method=Exact(SearchSettings(dropping=few)))
    assert len(later.certificate.root) > 0
    assert later.objective == pytest.approx(solution.objective, rel=1e-4)
    for limited in (
        solve(solution.problem, node_limit=3),
        solve(solution.problem, method="best-response"),
    ):
        assert limited.verify().ok
        assert limited.lower_bound <= solution.objective


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("eta", [1e6, None])
def test_short_searches_against_enumeration(seed, eta):
    problem = correlated(seed, eta=eta)
    found = solve(problem)
    best = min(values(problem).values())
    assert found.status is Status.OPTIMAL
    # Also where what is moved out of a well conditioned matrix is not weak.
    assert found.certificate.root == ()
    assert best <= found.objective + 1e-9
    assert found.objective <= best * (1 + 1e-4)
    assert found.lower_bound <= best + 1e-12
    assert found.verify().ok


def test_strong_ridges_are_presolved():
    problem = correlated(3, n=30, s=6)
    strong = problem.with_quadratic(problem.quadratic, 0.05 * problem.Q.diagonal())
    assert len(solve(strong).certificate.root) > 0
    always = SearchSettings(dropping=DroppingSettings(first_weak_ridge=0.1))
    found = solve(strong, method=Exact(always))
    assert found.certificate.root == ()
    assert found.objective == pytest.approx(solve(strong).objective, rel=1e-4)
    assert found.verify().ok


def test_both_searches_agree(solution):
    without = SearchSettings(dropping=DroppingSettings(max_variables=0))
    found = solve(solution.problem, method=Exact(without))
    assert Kind.SEARCHED not in found.certificate.tree.kind
    assert found.objective == pytest.approx(solution.objective, rel=1e-4)


def test_a_search_that_takes_turns_with_branch_and_bound():
    problem = correlated(5, n=40, s=8)
    few = DroppingSettings(slice_steps=100, first_steps=0, steps_per_node=200)
    found = solve(problem, method=Exact(SearchSettings(dropping=few)))
    never = DroppingSettings(slice_steps=1, max_expected=0)
    other = solve(problem, method=Exact(SearchSettings(dropping=never)))
    assert found.status is other.status is Status.OPTIMAL
    assert Kind.SEARCHED not in other.certificate.tree.kind
    assert found.objective == pytest.approx(other.objective, rel=1e-4)


def test_a_searched_certificate_is_stored(solution, tmp_path):
    solution.save(tmp_path / "found.npz")
    again = Solution.load(tmp_path / "found.npz", solution.problem)
    assert again.verify().ok
    assert solve(solution.problem, resume=again).status is Status.OPTIMAL


def tampered(solution, **changes):
    tree = replace(solution.certificate.tree, **changes)
    return replace(solution.certificate, tree=tree)


def test_a_forged_search_proves_no_more(solution):
    problem, tree = solution.problem, solution.certificate.tree
    cutoff, n_steps = tree.value
    best = solution.objective

    def bound(**changes):
        return tampered(solution, **changes).lower_bound(problem)

    for higher in (best, 2.0 * best, 0.9 * problem.constant):
        assert bound(value=np.array([higher, n_steps])) <= best
    assert bound(value=np.array([-1e300, n_steps])) < cutoff
    assert bound(value=np.array([cutoff, 10.0])) < cutoff
    for wrong in (-1.0, 2.0 * MOST_STEPS, np.nan, np.inf):
        assert bound(value=np.array([cutoff, wrong])) == -np.inf
    one = {"value": tree.value[:1], "index": tree.index[:1]}
    assert bound(**one, point_end=np.array([1])) == -np.inf
    assert bound(record=np.array([-1], dtype=np.int32)) == -np.inf


def test_time_limits_and_callbacks():
    problem = correlated(7, n=60, s=20)
    hopeless = DroppingSettings(max_expected=10**9, slice_steps=1000)
    method = Exact(SearchSettings(dropping=hopeless))
    assert solve(problem, method=method, time_limit=0.5).gap > 0
    reports = []

    def stop_after_some(report):
        reports.append(report)
        return len(reports) > 40

    found = solve(problem, method=method, callback=stop_after_some)
    assert len(reports) == 41
    assert found.verify().lower_bound >= found.lower_bound - 1e-9
