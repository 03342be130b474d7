"""Bounds of branches, against enumeration of their supports."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from cardqp_check.branches import Branch, bound, sides
from cardqp_check.points import Terms
from cardqp_check.problem import Rule

KINDS = ("plain", "penalty", "groups", "blocks", "clusters")
N = 7


def make_rule(kind, rng):
    groups = rng.integers(-1, 2, N) if kind == "groups" else None
    blocks = rng.integers(0, 4, N) if kind == "blocks" else None
    if blocks is not None:
        blocks = np.unique(blocks, return_inverse=True)[1]
    limit = int(rng.integers(0, 5))
    penalty = 0.25 if kind in ("penalty", "blocks") else 0.0
    return Rule(limit, limit, penalty, groups, rng.integers(0, 3, 2), blocks)


def make_branch(kind, rule, rng):
    status = rule.whole(rng.choice(np.array([-1, 0, 0, 0, 1], np.int8), N))
    free = np.flatnonzero(status == 0)
    clusters = ()
    if kind == "clusters" and len(free) > 1:
        rng.shuffle(free)
        cut = int(rng.integers(1, len(free) + 1))
        parts = [free[:cut][:3], free[cut:][:3]][: int(rng.integers(1, 3))]
        clusters = tuple(frozenset(part.tolist()) for part in parts if len(part))
    return Branch(status, -math.inf, clusters)


def supports_of(rule, branch):
    """All supports of a branch."""
    for size in range(N + 1):
        for support in combinations(range(N), size):
            inside = np.isin(np.arange(N), support)
            used = (
                [inside[rule.groups == g].sum() for g in (0, 1)]
                if (rule.groups is not None)
                else [0, 0]
            )
            if (
                rule.count(np.array(support, int)) <= rule.limit
                and not (inside & (branch.status < 0)).any()
                and not (~inside & (branch.status > 0)).any()
                and all(not cluster.isdisjoint(support) for cluster in branch.clusters)
                and (rule.blocks is None or is_union(inside, rule.blocks))
                and all(np.array(used) <= rule.group_limits)
            ):
                yield support


def is_union(inside, blocks):
    return all(len(set(inside[blocks == block])) == 1 for block in blocks)


def least(rule, terms, supports):
    """The exact bound, in fractions."""
    sums = [
        Fraction(terms.base)
        + sum(Fraction(terms.costs[j]) for j in support)
        + Fraction(rule.penalty) * rule.count(np.array(support, int))
        for support in supports
    ]
    return min(sums, default=math.inf)


def assert_just_below(found, truth, *, or_less=False):
    if truth == math.inf:
        assert found == math.inf or or_less
    else:
        assert Fraction(found) <= truth
        assert or_less or float(truth) - found < 1e-13


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(60))
def test_bounds_of_branches(kind, seed):
    rng = np.random.default_rng([KINDS.index(kind), seed])
    rule = make_rule(kind, rng)
    branch = make_branch(kind, rule, rng)
    costs = rng.normal(-0.3, 1.0, N)
    if kind == "clusters":
        costs = -np.abs(costs)  # positive ones would count as 0
    terms = Terms(float(rng.normal()), costs)
    supports = list(supports_of(rule, branch))
    assert_just_below(bound(rule, terms, branch), least(rule, terms, supports))
    free = np.flatnonzero(branch.status == 0)
    for j, on, off in zip(free, *sides(rule, terms, branch, free), strict=True):
        with_j = [support for support in supports if j in support]
        without = [support for support in supports if j not in support]
        # Without a support with j or without, what is said of the branch is enough.
        assert_just_below(on, least(rule, terms, with_j), or_less=not with_j)
        assert_just_below(off, least(rule, terms, without), or_less=not without)


@pytest.mark.parametrize("kind", ["plain", "clusters"])
@pytest.mark.parametrize("seed", range(100))
def test_settled_branches_have_the_same_supports(kind, seed):
    rng = np.random.default_rng(seed)
    rule = make_rule(kind, rng)
    branch = make_branch(kind, rule, rng)
    # Members that have been decided since.
    status = branch.status.copy()
    status[rng.integers(N)] = rng.choice([-1, 1])
    branch = Branch(status, -math.inf, branch.clusters)
    before, settled = set(supports_of(rule, branch)), branch.settled(rule)
    if branch.places(rule) < 0:
        return
    if settled.floor == math.inf:
        assert not before
    else:
        assert set(supports_of(rule, settled)) == before
        assert all((settled.status[list(c)] == 0).all() for c in settled.clusters)
        assert all(len(cluster) > 1 for cluster in settled.clusters)


def test_what_was_decided_the_other_way_makes_a_branch_empty():
    rule = Rule(3, 3, 0.0, None, np.zeros(0, int), np.array([0, 0, 1]))
    branch = Branch(np.zeros(3, np.int8)).fixed(rule, [0], 1)
    assert branch.status.tolist() == [1, 1, 0]
    assert branch.fixed(rule, [1], 1).floor == -math.inf
    assert branch.fixed(rule, [1], -1).floor == math.inf


@pytest.mark.parametrize("nothing", [-math.inf, math.nan])
def test_what_is_no_number_proves_nothing(nothing):
    rule = Rule(1, 1, 0.0, None, np.zeros(0, int), None)
    branch = Branch(np.zeros(3, np.int8))
    for terms in (
        Terms(nothing, np.zeros(3)),
        Terms(0.0, np.array([-math.inf, 0.0, 0.0])),
    ):
        assert bound(rule, terms, branch) == -math.inf
        on, off = sides(rule, terms, branch, np.arange(3))
        assert (on == -math.inf).all()
        assert (off == -math.inf).all()
