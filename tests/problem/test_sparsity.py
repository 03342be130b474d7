import itertools

import numpy as np
import pytest

from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.problem.sparsity import Groups, Subproblem, SupportRule, smallest


def test_ties_go_to_the_smaller_index():
    costs = np.array([-1.0, -2.0, -1.0, -1.0, 3.0])
    assert SupportRule(3).select(costs).tolist() == [0, 1, 2]
    assert SupportRule(0).select(costs).tolist() == []
    assert SupportRule(5).select(costs).tolist() == [0, 1, 2, 3]


def brute_total(costs, subproblem):
    fixed_in = np.flatnonzero(subproblem.fixed_in)
    free = np.flatnonzero(subproblem.undecided)
    return min(
        (
            costs[fixed_in].sum() + costs[list(chosen)].sum()
            for size in range(min(subproblem.remaining, len(free)) + 1)
            for chosen in itertools.combinations(free, size)
            if is_allowed([*fixed_in, *chosen], subproblem)
        ),
        default=np.inf,
    )


def is_allowed(support, subproblem):
    if len(support) > subproblem.limit:
        return False
    if subproblem.groups is None:
        return True
    labels, limits = subproblem.groups.labels, subproblem.groups.limits
    return all(
        sum(labels[j] == group for j in support) <= limit
        for group, limit in enumerate(limits)
    )


@pytest.mark.parametrize("has_groups", [False, True])
@pytest.mark.parametrize("seed", range(200))
def test_totals_and_penalties_equal_enumeration(seed, has_groups):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    costs = np.round(rng.standard_normal(n) - 0.3, 1)
    state = rng.integers(-1, 2, n)
    limit, groups = int(rng.integers(0, n + 1)), None
    if has_groups:
        state[rng.random(n) < 0.5] = 0
        groups = Groups(rng.integers(-1, 3, n), rng.integers(0, 3, 3))
    subproblem = Subproblem(state == 1, state == -1, limit, groups)
    total = subproblem.total(costs)
    assert total == pytest.approx(brute_total(costs, subproblem), abs=1e-12)
    assert subproblem.is_empty == np.isinf(total)
    if subproblem.is_empty:
        return
    on, off = subproblem.penalties(costs)
    for j in np.flatnonzero(subproblem.undecided):
        one, none = np.array([j]), np.zeros(0, dtype=int)
        with_j = brute_total(costs, subproblem.decide(one, none))
        without_j = brute_total(costs, subproblem.decide(none, one))
        assert total + on[j] == pytest.approx(with_j, abs=1e-12)
        assert total + off[j] == pytest.approx(without_j, abs=1e-12)


@pytest.mark.parametrize("seed", range(100))
def test_the_rule_selects_the_cheapest_support_of_groups(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    costs = np.round(rng.standard_normal(n) - 0.3, 1)
    groups = Groups(rng.integers(-1, 3, n), rng.integers(0, 3, 3))
    rule = SupportRule(int(rng.integers(0, n + 1)), groups=groups)
    support = rule.select(costs)
    nothing = Subproblem.of_status(np.zeros(n, dtype=np.int8), rule)
    assert costs[support].sum() == pytest.approx(brute_total(costs, nothing))
    assert rule.excess(support) == 0
    assert len(support) <= groups.most


def test_what_a_support_has_too_many():
    groups = Groups(np.array([0, 0, 0, 1, -1]), np.array([1, 2]))
    rule = SupportRule(4, groups=groups)
    assert rule.excess(np.array([0, 3, 4])) == 0
    assert rule.excess(np.array([0, 1, 2])) == 2
    assert rule.excess(np.arange(5)) == 2
    assert SupportRule(4).excess(np.arange(5)) == 1
    assert groups.most == 3


def test_smallest():
    values = np.array([3.0, 1.0, 2.0])
    assert smallest(values, 2).tolist() == [1.0, 2.0]
    assert smallest(values, 9).tolist() == [1.0, 2.0, 3.0]
    assert smallest(values, 0).tolist() == []


@pytest.mark.parametrize(
    "groups", [None, Groups(np.zeros(3, dtype=int), np.array([1]))]
)
def test_infinite_gains_without_a_slot_decide_nothing_but_that(groups):
    """A full branch, where nothing is known about the variables that are left."""
    fixed_in = np.array([True, False, False])
    subproblem = Subproblem(fixed_in, np.zeros(3, dtype=bool), 1, groups)
    on, off = subproblem.penalties(np.array([-1.0, -np.inf, -np.inf]))
    assert on.tolist() == [0.0, np.inf, np.inf]
    assert off.tolist() == [0.0, 0.0, 0.0]
    assert subproblem.barred.tolist() == [False, True, True]


def test_members_of_full_groups_are_barred():
    groups = Groups(np.array([0, 0, 1, -1]), np.array([1, 1]))
    fixed_in = np.array([True, False, False, False])
    subproblem = Subproblem(fixed_in, np.zeros(4, dtype=bool), 4, groups)
    assert subproblem.barred.tolist() == [False, True, False, False]
    bound = SeparableBound(0.0, np.array([-np.inf, 0.0, 0.0, 0.0]))
    on, off = bound.fixing_bounds(subproblem)
    assert on.tolist() == [-np.inf, np.inf, -np.inf, -np.inf]
    assert (off == -np.inf).all()
