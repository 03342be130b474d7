"""Ridges of sparse minorants in nodes: higher, and still below the objective."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from cardqp import SparseQP, Status, solve
from cardqp.bounds import node_ridges
from cardqp.bounds.node_ridges import MinorantRest, NodeRidges
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.certificate import Kind, ProofLog
from cardqp.certificate.replay import Replay
from cardqp.exceptions import ProblemError
from cardqp.problem.sparsity import Subproblem
from tests.problems import enumerate_optimum
from tests.splitting.test_row_shift import ALWAYS, tracking
from tests.splitting.test_sparse_split import (
    KINDS,
    exact_objective,
    signed,
    sparse_problem,
    splits,
)


def ridges_of(problem, seed):
    """Minorants, with and without weights, and their ridges in nodes."""
    rng = np.random.default_rng([12, seed])
    for P in splits(problem, seed):
        for weights in (None, np.exp(rng.uniform(-1.0, 1.0, problem.n))):
            try:
                minorant = sparse_minorant(problem, P, weights)
            except ProblemError:
                continue
            rest = MinorantRest.of(problem, minorant, weights)
            yield minorant, NodeRidges.of(rest, minorant)


def nodes(problem, seed, count=6):
    """Random nodes that have a support, the root among them."""
    rng = np.random.default_rng([13, seed])
    yield np.zeros(problem.n, dtype=np.int8)
    for _ in range(count):
        status = np.zeros(problem.n, dtype=np.int8)
        order = rng.permutation(problem.n)
        n_on = int(rng.integers(0, problem.sparsity + 1))
        n_off = int(rng.integers(0, problem.n - max(n_on, 1)))
        status[order[:n_on]], status[order[n_on : n_on + n_off]] = 1, -1
        yield status


def supports(problem, status):
    """The largest supports of a node."""
    inside, free = np.flatnonzero(status > 0), np.flatnonzero(status == 0)
    slots = min(problem.sparsity - len(inside), len(free))
    for chosen in combinations(free, slots):
        yield np.concatenate([inside, np.array(chosen, dtype=np.intp)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_below_on_every_support_of_a_node(kind, seed):
    """At the point of each support where most would be lost."""
    problem = sparse_problem(kind, seed)
    for minorant, ridges in ridges_of(problem, seed):
        for status in nodes(problem, seed):
            ridge = ridges.at(status)
            rest = problem.Q - minorant.Q - np.diag(ridge - problem.ridge)
            for support in supports(problem, status):
                root = 1.0 / np.sqrt(problem.ridge[support])
                block = rest[np.ix_(support, support)] * root[:, None] * root
                x = np.zeros(problem.n)
                x[support] = np.linalg.eigh(block)[1][:, 0] * root
                x = signed(problem, x)
                rounding = 1e-14 * problem.n**2 * problem.magnitude(x)
                assert x @ rest @ x >= -rounding


def exact_in_node(minorant, ridge, x):
    """The objective with the ridge of a node, in rational arithmetic."""
    change = sum(
        (Fraction(float(w)) - 1 / Fraction(float(e))) * Fraction(float(v)) ** 2
        for w, e, v in zip(ridge, minorant.eta, x, strict=True)
    )
    return exact_objective(minorant, x) + change


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_below_in_exact_arithmetic(kind, seed):
    problem = sparse_problem(kind, seed)
    rng = np.random.default_rng([14, seed])
    for minorant, ridges in ridges_of(problem, seed):
        for status in nodes(problem, seed, 2):
            ridge = ridges.at(status)
            for support in list(supports(problem, status))[:4]:
                x = np.zeros(problem.n)
                x[support] = rng.standard_normal(len(support))
                x = signed(problem, x / np.sqrt(problem.ridge))
                assert exact_in_node(minorant, ridge, x) <= exact_objective(problem, x)


def test_tight_where_a_point_attains_the_loss():
    """Only margins for rounding are between the two sides."""
    for seed in range(40):
        rng = np.random.default_rng([15, seed])
        n = int(rng.integers(3, 7))
        eta, Q = rng.uniform(0.1, 9.0, n), -rng.uniform(0.1, 1.0, (n, n))
        Q = Q + Q.T
        np.fill_diagonal(Q, 0.0)
        np.fill_diagonal(Q, 1.0 - Q @ np.sqrt(eta) / np.sqrt(eta))
        settings = {"eta": eta, "lower": 0.0}
        problem = SparseQP(Q, np.zeros(n), sparsity=n - 1, **settings)
        minorant = sparse_minorant(problem, np.zeros((n, n)))
        ridges = NodeRidges.of(MinorantRest.of(problem, minorant, None), minorant)
        for out in range(n):
            status = np.where(np.arange(n) == out, -1, 1).astype(np.int8)
            # Every product is shared evenly in units of the ridge.
            x = np.where(status > 0, np.sqrt(problem.eta), 0.0)
            ridge = ridges.at(status)
            below, above = (
                exact_in_node(minorant, ridge, x),
                exact_objective(problem, x),
            )
            assert below <= above
            assert float(above - below) <= 1e-12 * float(above)


def test_by_hand():
    Q = np.array([[5.0, -3.0, 1.0], [-3.0, 6.0, 2.0], [1.0, 2.0, 3.0]])
    problem = SparseQP(Q + 4 * np.eye(3), np.ones(3), eta=1.0, sparsity=2)
    weights = np.array([2.0, 1.0, 0.5])
    minorant = sparse_minorant(
        problem, 4 * np.eye(3) + np.diag([0, -1.0, -1.0]), weights
    )
    ridges = NodeRidges.of(MinorantRest.of(problem, minorant, weights), minorant)

    def added(*status):
        return ridges.at(np.array(status, dtype=np.int8)) - minorant.ridge

    # Row by row, |R_ij| h_i: (0, 3, .5), (6, 0, 1) and (2, 2, 0).
    np.testing.assert_allclose(added(0, 0, 0), 0.0, atol=1e-12)
    np.testing.assert_allclose(added(0, -1, 0), [2.5 / 2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(added(-1, 0, 0), [0, 5, 0], atol=1e-12)
    np.testing.assert_allclose(added(0, 0, 1), [2.5 / 2, 5, 0], atol=1e-12)
    np.testing.assert_allclose(added(1, 0, 1), [2.5 / 2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(added(-1, -1, 0), [0, 0, 4], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_more_decisions_never_lower_the_ridge(seed):
    problem = sparse_problem("signs", seed)
    for minorant, ridges in ridges_of(problem, seed):
        for status in nodes(problem, seed):
            ridge = ridges.at(status)
            assert (ridge >= minorant.ridge).all()
            for j in np.flatnonzero(status == 0):
                further = status.copy()
                further[j] = -1
                others = further >= 0
                after = ridges.at(further)[others]
                assert (after >= ridge[others] * (1 - 1e-12)).all()


def test_variables_that_are_taken_out_count_as_switched_off():
    problem = sparse_problem("plain", 3)
    kept = np.arange(problem.n - 2)
    status = np.zeros(problem.n, dtype=np.int8)
    status[0], status[-2:] = 1, -1
    for minorant, ridges in ridges_of(problem, 3):
        fewer = NodeRidges.of(ridges.rest.restrict(kept), minorant.restrict(kept))
        expected = ridges.at(status)[kept]
        np.testing.assert_allclose(fewer.at(status[kept]), expected, rtol=1e-14)


def test_none_for_many_variables(monkeypatch):
    problem = sparse_problem("plain", 1)
    minorant = sparse_minorant(problem, 0.9 * problem.Q)
    monkeypatch.setattr(node_ridges, "MAX_VARIABLES", problem.n - 1)
    assert MinorantRest.of(problem, minorant, None) is None


@pytest.mark.parametrize("seed", range(12))
def test_trees_against_enumeration(seed):
    problem = tracking(seed, n=12, sparsity=4)
    optimum, _ = enumerate_optimum(problem)
    solution = solve(problem, method=ALWAYS)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=1e-4)
    assert solution.lower_bound <= optimum * (1 + 1e-9)
    assert solution.verify().ok


def test_replays_need_the_ridges_of_nodes(monkeypatch):
    """The tree proves less with the ridge of the root in all nodes."""
    problem = tracking(3, n=20, sparsity=4)
    solution = solve(problem, method=ALWAYS)
    certificate = solution.certificate
    assert (certificate.tree.kind == Kind.POINT).any()
    proved = certificate.lower_bound(problem)
    assert proved >= solution.objective * (1 - 1e-4)
    monkeypatch.setattr(MinorantRest, "of", lambda *_: None)
    assert certificate.lower_bound(problem) < proved * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_a_replay_proves_what_is_true_and_no_more(seed):
    """Without the last variable the minorant is exact: nothing is to spare."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((4, 3))
    rest = np.diag(rng.uniform(1.0, 2.0, 3))
    rest[2, :2] = rest[:2, 2] = rng.uniform(-0.4, 0.4, 2)
    problem = SparseQP(
        F.T @ F + rest, rng.standard_normal(3), eta=1.0, sparsity=2, constant=3.0
    )
    minorant = sparse_minorant(problem, F.T @ F)
    status = np.array([1, 1, -1], dtype=np.int8)
    block = problem.Q[:2, :2] + np.eye(2)
    x = -0.5 * np.linalg.solve(block, problem.c[:2])
    optimum = problem.value(np.append(x, 0.0))
    log = ProofLog(0, 3)
    log.open(1)
    log.record(0, Kind.POINT, index=np.arange(2), value=x, beta=np.zeros(0))

    def bound(rest):
        replay = Replay(log.tree(), minorant, *3 * [problem], rest=rest)
        replay.run(Subproblem.of_status(status, problem.rule), -np.inf)
        return replay.least

    proved = bound(MinorantRest.of(problem, minorant, None))
    assert optimum * (1 - 1e-12) <= proved <= optimum
    assert bound(None) < optimum * (1 - 1e-6)
