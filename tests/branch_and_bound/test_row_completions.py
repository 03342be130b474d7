"""Completions of problems with rows and bounds: answers, proofs, and forgeries."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import cardqp
from cardqp import SparseQP, Status
from cardqp.branch_and_bound.settings import SearchSettings
from cardqp.certificate import Kind
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.relaxation.completion import list_completions
from tests.problems import enumerate_optimum


def tracking(seed, n=12, sparsity=5, **changes):
    """A small index to be tracked: near-ties, and no ridge to speak of."""
    rng = np.random.default_rng(seed)
    market = rng.standard_normal((60, 1))
    returns = market + 0.5 * rng.standard_normal((60, n))
    index = returns @ rng.dirichlet(np.ones(n))
    data = {"A_eq": np.ones((1, n)), "b_eq": 1.0, "lower": 0.0}
    return SparseQP.from_regression(
        returns, index, eta=1e6, sparsity=sparsity, **data | changes
    )


def kinds(solution):
    return np.bincount(solution.certificate.tree.kind, minlength=6)


@pytest.mark.parametrize("seed", range(30))
def test_answers_are_those_of_enumeration(seed):
    changes = [{}, {"upper": 0.4}, {"A": [np.arange(12.0)], "b": [5.0]}][seed % 3]
    problem = tracking(seed, **changes)
    solution = cardqp.solve(problem, gap=1e-9)
    truth, _ = enumerate_optimum(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(truth, rel=1e-6)
    assert solution.lower_bound <= truth
    assert solution.verify().ok


@pytest.fixture(scope="module")
def solution():
    """A proof with completions, some of which have left supports over."""
    settings = SearchSettings(heuristics=HeuristicSettings(max_hits=500))
    for seed in range(40):
        found = cardqp.solve(
            tracking(seed, n=14, sparsity=4), method=cardqp.Exact(settings), gap=1e-9
        )
        tree = found.certificate.tree
        if len(tree) and (tree.child[tree.kind == Kind.PENALISED] > 0).any():
            return found
    raise AssertionError("no proof has supports left over")


def tampered(solution, **changes):
    certificate = solution.certificate
    tree = replace(certificate.tree, **changes)
    return replace(solution, certificate=replace(certificate, tree=tree))


def listing(tree):
    """A node with children that are listed, and where its list ends."""
    is_listing = (tree.kind == Kind.PENALISED) & (tree.child > 0)
    position = int(np.flatnonzero(is_listing)[0])
    return position, int(tree.record[position])


def test_completions_are_in_the_proof(solution):
    assert solution.status is Status.OPTIMAL
    assert kinds(solution)[Kind.PENALISED] > 0
    assert solution.verify().ok


def test_a_support_cannot_be_left_out(solution):
    """Without the list, the enumeration itself meets the support again."""
    tree = solution.certificate.tree
    _, record = listing(tree)
    start = tree.fixed_end[record - 1] if record else 0
    count = tree.fixed_end[record] - start
    fixed_end = tree.fixed_end.copy()
    fixed_end[record:] -= count
    fixed = np.delete(tree.fixed, np.arange(start, start + count))
    assert not tampered(solution, fixed=fixed, fixed_end=fixed_end).verify().ok


def test_a_list_must_make_sense(solution):
    tree = solution.certificate.tree
    position, record = listing(tree)
    start = tree.fixed_end[record - 1] if record else 0
    for value in (-tree.fixed[start], tree.fixed[start + 1]):
        fixed = tree.fixed.copy()
        fixed[start] = value
        assert not tampered(solution, fixed=fixed).verify().ok
    for first in (0, position, len(tree)):
        child = tree.child.copy()
        child[position] = first
        assert not tampered(solution, child=child).verify().ok


def test_supports_are_listed_for_few_places_only(solution):
    """The root has more places than supports are listed for."""
    tree = solution.certificate.tree
    kind = tree.kind.copy()
    kind[0] = Kind.PENALISED
    nothing = {"fixed": tree.fixed[:0], "fixed_end": np.zeros_like(tree.fixed_end)}
    record = np.maximum(tree.record, 0)
    found = tampered(solution, kind=kind, record=record, **nothing)
    assert found.certificate.lower_bound(found.problem) == -np.inf
    assert not found.verify().ok


def test_multipliers_are_not_taken_on_trust(solution):
    tree = solution.certificate.tree
    records = tree.record[tree.kind == Kind.PENALISED]
    beta = tree.beta.copy()
    beta[records] += 1e3
    assert not tampered(solution, beta=beta).verify().ok


def test_stored_proofs_replay(tmp_path):
    problem = tracking(0)
    found = cardqp.solve(problem, gap=1e-9)
    found.save(tmp_path / "run.npz")
    assert cardqp.Solution.load(tmp_path / "run.npz", problem).verify().ok


def test_a_stopped_search_goes_on():
    problem = tracking(2, n=20, sparsity=6)
    first = cardqp.solve(problem, gap=1e-9, node_limit=6)
    assert first.status is Status.FEASIBLE
    assert first.verify().ok
    resumed = cardqp.solve(problem, gap=1e-9, resume=first)
    at_once = cardqp.solve(problem, gap=1e-9)
    assert resumed.status is at_once.status is Status.OPTIMAL
    assert resumed.objective == pytest.approx(at_once.objective)
    assert resumed.verify().ok


@pytest.mark.parametrize("remaining", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_all_completions_above_a_gain_are_listed(remaining, seed):
    rng = np.random.default_rng(seed)
    n = 9
    F, c = rng.standard_normal((n, n)), rng.standard_normal(n)
    G, fixed_in, free = F.T @ F + np.eye(n), np.array([2, 5]), np.array([0, 1, 3, 6, 8])

    def gain(support):
        return (
            0.25 * c[support] @ np.linalg.solve(G[np.ix_(support, support)], c[support])
        )

    supports = [np.array(s) for s in itertools.combinations(free, remaining)]
    gains = np.array([gain(np.concatenate([fixed_in, s])) for s in supports])
    for rank in (1, 3, len(gains) - 1):
        least = np.sort(gains)[::-1][rank] * (1 + 1e-9)
        if gain(fixed_in) > least:
            continue
        count, hits = list_completions(G, c, fixed_in, free, remaining, least, 20)
        expected = {tuple(s) for s, g in zip(supports, gains, strict=True) if g > least}
        assert count == len(expected)
        assert {tuple(sorted(hit)) for hit in hits} == expected
        assert list_completions(G, c, fixed_in, free, remaining, least, 0)[0] > 0
