import itertools

import numpy as np
import pytest

from cardqp.sparsity import Choice, SupportRule, smallest


def test_ties_go_to_the_smaller_index():
    costs = np.array([-1.0, -2.0, -1.0, -1.0, 3.0])
    assert SupportRule(3).select(costs).tolist() == [0, 1, 2]
    assert SupportRule(0).select(costs).tolist() == []
    assert SupportRule(5).select(costs).tolist() == [0, 1, 2, 3]


def brute_total(costs, choice):
    inside = np.flatnonzero(choice.inside)
    free = np.flatnonzero(choice.free)
    if len(inside) > choice.limit:
        return np.inf
    return min(
        costs[inside].sum() + costs[list(chosen)].sum()
        for size in range(min(choice.slots, len(free)) + 1)
        for chosen in itertools.combinations(free, size)
    )


@pytest.mark.parametrize("seed", range(200))
def test_totals_and_penalties_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    costs = np.round(rng.standard_normal(n) - 0.3, 1)
    state = rng.integers(-1, 2, n)
    choice = Choice(state == 1, state == -1, limit=int(rng.integers(0, n + 1)))
    total = choice.total(costs)
    assert total == pytest.approx(brute_total(costs, choice), abs=1e-12)
    if choice.slots < 0:
        return
    on, off = choice.penalties(costs)
    for j in np.flatnonzero(choice.free):
        one, none = np.array([j]), np.zeros(0, dtype=int)
        with_j = brute_total(costs, choice.decide(one, none))
        without_j = brute_total(costs, choice.decide(none, one))
        assert total + on[j] == pytest.approx(with_j, abs=1e-12)
        assert total + off[j] == pytest.approx(without_j, abs=1e-12)


def test_smallest():
    values = np.array([3.0, 1.0, 2.0])
    assert smallest(values, 2).tolist() == [1.0, 2.0]
    assert smallest(values, 9).tolist() == [1.0, 2.0, 3.0]
    assert smallest(values, 0).tolist() == []
