"""Branching on clusters: against enumeration, replayed, resumed, and forged."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cardqp import (
    Exact,
    ParameterError,
    Solution,
    SparseQP,
    Status,
    alternatives,
    solve,
)
from cardqp.branch_and_bound.branching_rule import is_rule_due
from cardqp.branch_and_bound.clusters import choose_cluster, follow, near, require
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.settings import DroppingSettings
from cardqp.certificate import required
from cardqp.datasets import make_regression
from cardqp.heuristics.completed_supports import Supports
from cardqp.methods import ClusterSettings, RootSettings, SearchSettings
from cardqp.relaxation.scaled_data import NO_CLUSTERS
from tests.problems import enumerate_optimum


def always(correlation=0.5, **settings):
    """Branching on clusters from the first node on, with next to no presolve."""
    clusters = ClusterSettings("always", correlations=(correlation,), least_share=0.01)
    root = RootSettings(diagonal_gap=1e9, minorant_gap=1e9)
    parts = {"root": root, "dropping": DroppingSettings(max_variables=0)}
    return Exact(settings=SearchSettings(clusters=clusters, **parts, **settings))


def correlated(seed):
    """A small regression whose neighbouring columns are correlated."""
    rng = np.random.default_rng(seed)
    n, sparsity = int(rng.integers(11, 14)), int(rng.integers(5, 7))
    rho, snr = rng.choice([0.7, 0.9, 0.97]), rng.choice([0.1, 0.3, 1.0])
    data = make_regression(
        15, n, sparsity=sparsity, correlation=rho, snr=snr, seed=seed
    )
    eta = 10.0 ** rng.uniform(1, 4)
    forced = {"forced_in": [1], "forced_out": [3]} if seed % 5 == 4 else {}
    return SparseQP.from_regression(
        data.X, data.y, eta=eta, sparsity=sparsity, **forced
    )


def long_chain(seed=0):
    """A regression with locally correlated columns and a tree of some size."""
    data = make_regression(60, 60, sparsity=7, correlation=0.9, snr=1.0, seed=seed)
    return SparseQP.from_regression(data.X, data.y, eta=30.0, sparsity=7)


@pytest.fixture(scope="module")
def solution():
    found = solve(long_chain(), method=always())
    assert found.status is Status.OPTIMAL
    assert len(found.certificate.tree.cluster_end) > 5
    return found


@pytest.mark.parametrize("seed", range(40))
def test_clusters_agree_with_enumeration(seed):
    problem = correlated(seed)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, method=always((0.3, 0.5, 0.8)[seed % 3]), gap=1e-7)
    assert found.status is Status.OPTIMAL
    assert found.verify().ok
    assert found.lower_bound <= optimum * (1 + 1e-9)
    assert found.objective == pytest.approx(optimum, rel=2e-7)


def test_both_rules_find_the_same_optimum(solution):
    never = Exact(settings=SearchSettings(clusters=ClusterSettings("never")))
    other = solve(solution.problem, method=never)
    assert len(other.certificate.tree.cluster_end) == 0
    assert other.objective == pytest.approx(solution.objective, rel=1e-4)
    assert other.lower_bound <= solution.objective
    assert solution.lower_bound <= other.objective


def test_a_certificate_with_clusters_is_stored_and_replayed(solution, tmp_path):
    solution.save(tmp_path / "found.npz")
    again = Solution.load(tmp_path / "found.npz", solution.problem)
    assert again.verify().ok
    tree, stored = solution.certificate.tree, again.certificate.tree
    for name, array in tree.arrays().items():
        np.testing.assert_array_equal(array, stored.arrays()[name])


def test_threads_replay_the_same_bound(solution):
    certificate, problem = solution.certificate, solution.problem
    bound = certificate.lower_bound(problem)
    assert bound >= solution.lower_bound
    assert certificate.lower_bound(problem, threads=2) == bound


def test_a_search_with_clusters_goes_on(solution):
    method = always()
    part = solve(solution.problem, method=method, node_limit=30)
    assert part.status is not Status.OPTIMAL
    assert part.verify().ok
    assert len(part.certificate.tree.cluster_end) > 0
    done = solve(solution.problem, method=method, resume=part)
    assert done.status is Status.OPTIMAL
    assert done.verify().ok
    assert done.n_nodes < 1.5 * solution.n_nodes + 30


def tampered(solution, **changes):
    """The solution with some arrays of its proof changed."""
    tree = replace(solution.certificate.tree, **changes)
    return replace(solution, certificate=replace(solution.certificate, tree=tree))


def changed(array, position, value):
    array = array.copy()
    array[position] = value
    return array


def test_forged_clusters_are_refused(solution):
    tree = solution.certificate.tree
    ends, cluster, n = tree.cluster_end, tree.cluster, solution.problem.n
    longer = np.append(ends, ends[-1])
    forged = [
        {"cluster": changed(cluster, 0, -1)},
        {"cluster": changed(cluster, 0, n)},
        {"cluster": changed(cluster, 0, cluster[1])},
        {"cluster": cluster[:-1]},
        {"cluster": cluster.astype(float)},
        {"cluster_end": changed(ends, 0, -1)},
        {"cluster_end": changed(ends, 0, ends[1] + 1)},
        {"cluster_end": ends[:-1]},
        {"cluster_end": longer},
        {"cluster_end": ends[:0], "cluster": cluster[:0]},
    ]
    for changes in forged:
        assert not tampered(solution, **changes).verify().ok


def test_a_branch_on_a_cluster_that_is_not_there_is_refused(solution):
    tree = solution.certificate.tree
    (i, *_) = np.flatnonzero(tree.branch < -1)
    for branch in (-2 - len(tree.cluster_end), np.iinfo(np.int32).min, -1, 0):
        wrong = tampered(solution, branch=changed(tree.branch, i, branch))
        assert not wrong.verify().ok


def test_a_smaller_cluster_proves_no_more(solution):
    """Variables that are taken out of a cluster are in the branch without it."""
    tree, problem = solution.certificate.tree, solution.problem
    sizes = np.diff(tree.cluster_end, prepend=0)
    for number in np.flatnonzero(sizes > 1):
        last = tree.cluster_end[number] - 1
        ends = tree.cluster_end.copy()
        ends[number:] -= 1
        changes = {"cluster": np.delete(tree.cluster, last), "cluster_end": ends}
        forged = tampered(solution, **changes).certificate
        assert forged.lower_bound(problem) <= solution.objective


def test_a_variable_is_in_one_cluster_only(solution):
    """A branch cannot require a cluster with a variable of another one."""
    tree = solution.certificate.tree
    splits = np.flatnonzero(tree.branch < -1)
    pairs = [(i, tree.child[i]) for i in splits if tree.branch[tree.child[i]] < -1]
    assert pairs
    for parent, child in pairs:
        again = changed(tree.branch, child, tree.branch[parent])
        assert not tampered(solution, branch=again).verify().ok


def test_clusters_are_for_problems_without_groups():
    data = make_regression(40, 12, sparsity=4, correlation=0.9, snr=1.0, seed=1)
    settings = {"groups": np.arange(12) // 6, "group_sparsity": 3}
    problem = SparseQP.from_regression(
        data.X, data.y, eta=100.0, sparsity=5, **settings
    )
    found = solve(problem, method=always())
    assert found.verify().ok
    assert len(found.certificate.tree.cluster_end) == 0
    ends, cluster = np.array([2]), np.array([0, 1], dtype=np.int32)
    assert not tampered(found, cluster_end=ends, cluster=cluster).verify().ok


def test_alternatives_start_from_a_proof_with_clusters():
    data = make_regression(60, 24, sparsity=8, correlation=0.9, snr=0.2, seed=1)
    problem = SparseQP.from_regression(data.X, data.y, eta=100.0, sparsity=8)
    start = solve(problem, method=always(), gap=1e-6)
    assert len(start.certificate.tree.cluster_end) > 0
    one, other = (alternatives(source, max_count=4) for source in (start, problem))
    assert one.verify().ok
    for first, second in zip(one.solutions, other.solutions, strict=True):
        assert first.objective == pytest.approx(second.objective, rel=1e-4)


@pytest.mark.parametrize("seed", range(200))
def test_both_sides_draw_the_same_conclusions(seed):
    """The states of a branch in the search and in the replay are the same."""
    rng = np.random.default_rng(seed)
    n, limit = int(rng.integers(2, 12)), int(rng.integers(1, 6))
    status = rng.choice([-1, 0, 0, 0, 0, 1], n).astype(np.int8)
    labels = rng.integers(-1, 3, n).astype(np.int16)
    labels = np.unique(np.append(-1, labels), return_inverse=True)[1][1:] - 1
    labels, size = labels.astype(np.int16), int(labels.max(initial=-1)) + 1
    if size == 0:
        return
    side = follow(status, NO_CLUSTERS._replace(label=labels, size=size), limit)
    other, left, is_empty = required.propagate(status, labels, limit)
    np.testing.assert_array_equal(side.status, other)
    assert side.is_empty == is_empty
    expected = np.full(n, -1) if left is None else left
    np.testing.assert_array_equal(side.label, expected)
    assert side.size == expected.max() + 1


def test_the_cluster_with_the_most_undecided_sum_is_chosen():
    is_near = np.kron(np.eye(3, dtype=bool), np.ones((2, 2), dtype=bool))
    is_open = np.array([True, True, True, True, True, False])
    z, share = np.array([0.9, 0.05, 0.3, 0.3, 0.5, 0.4]), np.arange(6.0)
    chosen = choose_cluster(is_near, is_open, z, share, 6, 0.1)
    assert chosen.tolist() == [2, 3]
    assert choose_cluster(is_near, is_open, z, share, 6, 0.45).tolist() == []
    assert choose_cluster(is_near, is_open, z, share, 1, 0.1).tolist() == []


def test_columns_are_near_by_their_correlation():
    Q = np.array([[4.0, -3.0, 0.0], [-3.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    problem = SparseQP(Q, np.ones(3), eta=1.0, sparsity=1)
    supports = Supports.of(problem)
    for correlation, pair in ((0.7, True), (0.8, False)):
        expected = np.eye(3, dtype=bool)
        expected[0, 1] = expected[1, 0] = pair
        found = near(supports, problem.ridge, correlation)
        np.testing.assert_array_equal(found, expected)


def tree_of(problem, **settings):
    """The tree of a search after the first step beyond a hundred nodes."""
    search = BranchAndBound(settings=SearchSettings(**settings))
    tree = search.initial_tree(problem)
    while not tree.is_rooted or tree.n_nodes < 100:
        search.step(tree, tree)
    search.step(tree, tree)
    return search, tree


def test_dives_choose_clusters_where_correlation_is_local():
    data = make_regression(200, 300, sparsity=8, correlation=0.9, snr=1.0, seed=1)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=8)
    _, tree = tree_of(problem)
    assert tree.has_rule
    assert tree.is_near is not None
    assert tree.n_created <= 3  # begun again: the root has two children
    found = solve(problem)
    assert found.status is Status.OPTIMAL
    assert found.verify().ok
    assert len(found.certificate.tree.cluster_end) > 0
    never = Exact(settings=SearchSettings(clusters=ClusterSettings("never")))
    other = solve(problem, method=never, node_limit=found.n_nodes)
    assert other.status is Status.FEASIBLE  # single variables take more nodes
    assert not is_rule_due(tree)  # once is enough


def test_a_tree_that_is_about_to_end_is_not_dived_into():
    tree = SimpleNamespace(
        settings=SearchSettings(), has_rule=False, n_nodes=100, n_open=49
    )
    assert not is_rule_due(tree)
    tree.n_open = 50
    assert is_rule_due(tree)


def test_single_variables_where_columns_are_independent():
    data = make_regression(60, 200, sparsity=8, correlation=0.0, snr=1.0, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=8)
    _, tree = tree_of(problem)
    assert tree.has_rule
    assert tree.is_near is None
    assert tree.n_created > 1


@pytest.mark.parametrize(
    "settings",
    [{"rule": "sometimes"}, {"least_share": 1.5}, {"dives": 0}, {"correlations": 0.5}],
)
def test_settings_are_checked(settings):
    with pytest.raises(ParameterError):
        ClusterSettings(**settings)


def test_a_cluster_is_added_to_the_others():
    first = require(NO_CLUSTERS, np.array([1, 2]), 5)
    second = require(first, np.array([4]), 5)
    assert second.label.tolist() == [-1, 0, 0, -1, 1]
    assert (first.size, second.size) == (1, 2)
