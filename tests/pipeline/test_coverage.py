"""Whether branches leave nothing out, compared with trying every support."""

import itertools

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.pipeline.coverage import covers


def make(n=5, **settings):
    return SparseQP(np.eye(n), np.ones(n), eta=1.0, **{"sparsity": n} | settings)


def branch(problem, forced_in=(), forced_out=()):
    fixed_in, fixed_out = (np.array(s, dtype=int) for s in (forced_in, forced_out))
    return problem.with_forced(forced_in=fixed_in, forced_out=fixed_out)


def is_covered(support, leaves, listed):
    return any(set(known) <= support for known in listed) or any(
        set(leaf.forced_in) <= support and not set(leaf.forced_out) & support
        for leaf in leaves
    )


def all_covered(problem, leaves, listed):
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(problem.n), size) for size in range(problem.n + 1)
    )
    return all(is_covered(set(s), leaves, listed) for s in subsets)


def split(rng, problem, depth):
    """Leaves and supports of random splits, as an enumeration makes them."""
    free = np.setdiff1d(np.arange(problem.n), [*problem.forced_in, *problem.forced_out])
    if depth == 0 or len(free) == 0:
        return [problem], []
    members = rng.permutation(free)[: rng.integers(1, len(free) + 1)]
    leaves, listed = [], [np.union1d(problem.forced_in, members)]
    for i, member in enumerate(members):
        part = branch(problem, members[:i], [member])
        more, supports = split(rng, part, depth - 1)
        leaves, listed = leaves + more, listed + supports
    return leaves, listed


@pytest.mark.parametrize("seed", range(20))
def test_splits_cover_all_and_nothing_can_be_left_out(seed):
    rng = np.random.default_rng(seed)
    problem = make()
    leaves, listed = split(rng, problem, 2)
    assert all_covered(problem, leaves, listed)
    assert covers(problem, leaves, listed)
    for i in range(len(leaves)):
        fewer = leaves[:i] + leaves[i + 1 :]
        assert covers(problem, fewer, listed) == all_covered(problem, fewer, listed)
    for i in range(len(listed)):
        fewer = listed[:i] + listed[i + 1 :]
        assert not covers(problem, leaves, fewer) or all_covered(problem, leaves, fewer)


def test_blocks_are_decided_as_a_whole():
    problem = make(4, blocks=[0, 0, 1, 1])
    first, second = np.array([0, 1]), np.array([2, 3])
    leaves = [branch(problem, (), first), branch(problem, first, second)]
    assert covers(problem, leaves, [np.arange(4)])
    assert not covers(problem, leaves[:1], [np.arange(4)])


def test_what_is_forced_anyway_needs_no_branch():
    problem = make(3, forced_in=[0], forced_out=[2])
    assert covers(problem, [branch(problem, (), [1])], [np.array([0, 1])])
    assert not covers(problem, [branch(problem, [1], ())], [np.array([0, 1])])


def test_branches_of_another_problem_cover_nothing():
    assert not covers(make(), [make(4)], [])


def test_nothing_covers_nothing():
    assert not covers(make(), [], [])
    assert covers(make(), [make()], [])
    assert covers(make(), [], [np.zeros(0, dtype=int)])
