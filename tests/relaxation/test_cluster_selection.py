"""Theorems 1 and 2, and the proximal step, where clusters are required."""

import itertools
from fractions import Fraction

import numba
import numpy as np
import pytest

from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.certificate.branch_bounds import BranchBounds
from cardqp.certificate.required import propagate
from cardqp.problem.sparsity.rule import SupportRule
from cardqp.relaxation.assessment import assess
from cardqp.relaxation.prox import make_step, prox_rank_one, take_step
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.relaxation.scaled_data import ClusterData, RankOneMetric
from tests.problems import random_problem
from tests.relaxation.test_kernels import prox_cost, prox_data
from tests.searches import one_node

# Only other kernels call these: here they get an entrance of their own.
steps = numba.njit(make_step.py_func)
plain_prox = numba.njit(take_step.py_func)
metric_prox = numba.njit(prox_rank_one.py_func)


def random_clusters(rng, n, limit):
    """A branch that is not empty: status and clusters, as the replay leaves them."""
    while True:
        status = rng.choice([0, 0, 0, 0, 1, -1], n).astype(np.int8)
        labels = rng.integers(-1, 2, n).astype(np.int16)
        status, left, is_empty = propagate(status, labels, limit)
        if left is not None and not is_empty:
            return status, left


def supports_of(status, labels, limit):
    """All supports of a branch, as sets."""
    fixed_in, free = np.flatnonzero(status > 0), np.flatnonzero(status == 0)
    for size in range(limit - len(fixed_in) + 1):
        for chosen in itertools.combinations(free, size):
            if set(labels[list(chosen)]) >= set(range(labels.max() + 1)):
                yield {*fixed_in, *chosen}


def exact_bounds(base, costs, status, labels, limit):
    """The least sums over supports, and with each variable on and off, in rationals."""
    exact = [Fraction(float(cost)) for cost in costs]
    totals = [
        (support, Fraction(float(base)) + sum(exact[j] for j in support))
        for support in supports_of(status, labels, limit)
    ]
    value = min(total for _, total in totals)
    sides = []
    for side in (True, False):
        least = [
            min([t for S, t in totals if (j in S) == side], default=np.inf)
            for j in range(len(costs))
        ]
        sides.append(least)
    return value, *sides


@pytest.mark.parametrize("seed", range(120))
def test_the_checker_is_right_and_tight_over_all_supports(seed):
    rng = np.random.default_rng(seed)
    n, limit = int(rng.integers(4, 9)), int(rng.integers(2, 6))
    status, labels = random_clusters(rng, n, limit)
    costs = -(rng.standard_normal(n) ** 2) * (rng.random(n) < 0.8)
    base = float(10.0 * rng.standard_normal())
    value, on, off = exact_bounds(base, costs, status, labels, limit)
    rule = SupportRule(limit)
    found = BranchBounds.of(base, costs[None], status[None], rule, labels[None])
    assert Fraction(found.value[0]) <= value
    assert found.value[0] == pytest.approx(float(value), abs=1e-12)
    for j in np.flatnonzero(status == 0):
        for bound, least in ((found.on, on[j]), (found.off, off[j])):
            assert bound[0, j] == np.inf or Fraction(bound[0, j]) <= least
            assert bound[0, j] == pytest.approx(float(least), abs=1e-11)


@pytest.mark.parametrize("seed", range(40))
def test_positive_costs_are_bounded_as_well(seed):
    """Thresholds and prices make costs positive: the bounds hold, if not tightly."""
    rng = np.random.default_rng(seed)
    n, limit = int(rng.integers(4, 9)), int(rng.integers(2, 6))
    status, labels = random_clusters(rng, n, limit)
    costs = rng.standard_normal(n)
    value, on, off = exact_bounds(0.0, costs, status, labels, limit)
    rule = SupportRule(limit)
    found = BranchBounds.of(0.0, costs[None], status[None], rule, labels[None])
    assert Fraction(found.value[0]) <= value
    for j in np.flatnonzero(status == 0):
        for bound, least in ((found.on, on[j]), (found.off, off[j])):
            assert bound[0, j] <= least


@pytest.mark.parametrize("seed", range(40))
def test_the_search_agrees_with_all_supports(seed):
    problem = random_problem("free", seed)
    rng = np.random.default_rng(seed)
    relaxation, limit = Relaxation.prepare(problem), problem.rule.limit
    if limit < 2:
        return
    status, labels = random_clusters(rng, problem.n, limit)
    point = rng.standard_normal(problem.n) * relaxation.unit
    bound = tangent_bound(problem, point, np.zeros(0))
    clusters = ClusterData(labels, int(labels.max()) + 1)
    remaining = limit - np.count_nonzero(status > 0)
    (found,), _, _, (on,), (off,), _ = assess(
        relaxation.data,
        relaxation.rows,
        relaxation.margins,
        *one_node(relaxation, status, remaining, point, np.zeros(0), clusters),
        np.inf,
    )
    value, *sides = exact_bounds(bound.base, bound.costs, status, labels, limit)
    close = {"rtol": 1e-9, "atol": 1e-11 * abs(bound.base)}
    np.testing.assert_allclose(found, float(value), **close)
    free = np.flatnonzero(status == 0)
    for side, least in zip((on, off), sides, strict=True):
        expected = [float(least[j]) for j in free]
        np.testing.assert_allclose(side[free], expected, **close)


def clustered_step(seed):
    """A proximal step with clusters."""
    rng = np.random.default_rng(seed)
    n, limit = int(rng.integers(4, 10)), int(rng.integers(2, 6))
    status, labels = random_clusters(rng, n, limit)
    remaining = limit - np.count_nonzero(status > 0)
    unbounded, rho = np.full(n, np.inf), 10.0 ** rng.uniform(-1, 1, n)
    clusters = ClusterData(labels, int(labels.max()) + 1)
    data = prox_data(-unbounded, unbounded)._replace(w=0.5 * rho, clusters=clusters)
    return rng, data, status, steps(data, status, remaining)


def is_allowed(z, data, status, remaining):
    label = data.clusters.label
    sums = [z[label == k].sum() for k in range(data.clusters.size)]
    free = status == 0
    return min(sums) >= 1 - 1e-9 and z[free].sum() <= remaining + 1e-9


@pytest.mark.parametrize("seed", range(60))
def test_the_step_beats_random_neighbours(seed):
    rng, data, status, step = clustered_step(seed)
    n, label = len(status), data.clusters.label
    v, x, z = rng.standard_normal(n), np.empty(n), np.empty(n)
    plain_prox(data, step, status, v, 0.0, x, z)
    assert is_allowed(z, data, status, step.remaining)
    best, free = prox_cost(x, z, v, step.rho, 0.0), status == 0
    for _ in range(300):
        other = z.copy()
        other[free] += 10.0 ** rng.uniform(-4, 0) * rng.standard_normal(free.sum())
        other = np.clip(other, 1e-12, 1.0)
        for k in range(data.clusters.size):
            own = label == k
            lacking = 1.0 - other[own].sum()
            if lacking > 0:
                room = 1.0 - other[own]
                other[own] += lacking * room / room.sum()
        other[~free] = z[~free]
        if other[free].sum() <= step.remaining:
            point = np.where(other > 0, v * other / (other + step.rho), 0.0)
            assert prox_cost(point, other, v, step.rho, 0.0) >= best - 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_a_metric_of_rank_one_has_its_multiplier(seed):
    rng, data, status, step = clustered_step(seed)
    n, sigma = len(status), float(10.0 ** rng.uniform(-1, 2))
    direction = rng.standard_normal((1, n))
    metric = RankOneMetric(direction, np.array([sigma]))
    y, slope = rng.standard_normal(n), rng.standard_normal(n)
    y[status < 0] = 0.0
    v, x, z = np.empty(n), np.empty(n), np.empty(n)
    _, multiplier = metric_prox(data, metric, step, status, y, slope, 0.0, 1.0, v, x, z)
    moved = direction[0] @ (x - y)
    assert moved == pytest.approx(multiplier / sigma, rel=1e-2, abs=1e-9)
    assert is_allowed(z, data, status, step.remaining)


def test_clusters_without_a_nonzero_take_up_a_slot():
    unbounded, status = np.full(5, np.inf), np.zeros(5, dtype=np.int8)
    clusters = ClusterData(np.array([0, 0, -1, -1, -1], dtype=np.int16), 1)
    data = prox_data(-unbounded, unbounded)._replace(clusters=clusters)
    v, x, z = np.array([0.0, 0.0, 2.0, 1.0, 1.0]), np.empty(5), np.empty(5)
    plain_prox(data, steps(data, status, 2), status, v, 0.0, x, z)
    assert (x[:2] == 0).all()
    assert z[2:].sum() == pytest.approx(1.0)
    v[0] = 0.5
    plain_prox(data, steps(data, status, 2), status, v, 0.0, x, z)
    assert z[0] == pytest.approx(1.0)
    assert z[2:].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(20))
def test_relaxations_converge_to_their_bound(seed):
    """What a cluster requires makes the bound of the relaxation better, not worse."""
    problem = random_problem("free", seed)
    rng = np.random.default_rng(seed)
    relaxation, limit = Relaxation.prepare(problem), problem.rule.limit
    if limit < 2:
        return
    status, labels = random_clusters(rng, problem.n, limit)
    subproblem = problem.root.decide(
        np.flatnonzero(status > 0), np.flatnonzero(status < 0)
    )
    clusters, tight = ClusterData(labels, int(labels.max()) + 1), Effort(1e-9)
    bounds = []
    for required in (ClusterData(labels[:0], 0), clusters):
        relaxed = relaxation.solve(subproblem, *relaxation.start(), tight, required)
        point, remaining = relaxed.tangent_point, subproblem.remaining
        (value,), *_ = assess(
            relaxation.data,
            None,
            relaxation.margins,
            *one_node(relaxation, status, remaining, point, np.zeros(0), required),
            np.inf,
        )
        bounds.append(value)
    least = min(
        problem.constant
        - 0.25
        * problem.c[s]
        @ np.linalg.solve(
            problem.Q[np.ix_(s, s)] + np.diag(1 / problem.eta[s]), problem.c[s]
        )
        for s in map(sorted, supports_of(status, labels, limit))
    )
    scale = abs(problem.constant) + abs(least)
    assert bounds[0] <= bounds[1] + 1e-6 * scale
    assert bounds[1] <= least + 1e-9 * scale
