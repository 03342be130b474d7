from dataclasses import replace

import numpy as np
import pytest

from cardqp import SparseQP, solve
from cardqp.certificate import Certificate, CertificateNode, DualProof, Narrowing
from cardqp.datasets import make_regression
from tests.problems import random_problem


@pytest.fixture(scope="module")
def solution():
    data = make_regression(40, 30, sparsity=4, correlation=0.9, snr=1.0, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=20.0, sparsity=4)
    found = solve(problem, method="exact")
    assert found.n_nodes > 5
    return found


def tampered(solution, position, **changes):
    nodes = list(solution.certificate.nodes)
    nodes[position] = replace(nodes[position], **changes)
    return replace(solution, certificate=Certificate(tuple(nodes)))


def positions(solution, wanted):
    return [i for i, node in enumerate(solution.certificate.nodes) if wanted(node)]


def test_an_honest_certificate_replays(solution):
    found = solution.verify()
    assert found.ok
    assert found.lower_bound >= solution.lower_bound
    assert solution.certificate.lower_bound(solution.problem) == found.lower_bound


def test_another_dual_point_proves_less(solution):
    for i in positions(solution, lambda node: node.proof and not node.children):
        proof = solution.certificate.nodes[i].proof
        wrong = replace(proof, value=proof.value * 1.5 + 0.1)
        assert not tampered(solution, i, proof=wrong).verify().ok


def test_a_missing_branch_is_refused(solution):
    (i, *_) = positions(solution, lambda node: node.branch >= 0)
    node = solution.certificate.nodes[i]
    assert not tampered(solution, i, children=node.children[:1]).verify().ok
    twice = (node.children[0], node.children[0])
    assert not tampered(solution, i, children=twice).verify().ok
    nowhere = (node.children[0], 10**6)
    assert not tampered(solution, i, children=nowhere).verify().ok
    backwards = (node.children[0], 0)
    assert not tampered(solution, i, children=backwards).verify().ok


def test_a_wrong_branching_variable_is_refused(solution):
    (i, *_) = positions(solution, lambda node: node.branch >= 0)
    for branch in (10**6, -7):
        assert not tampered(solution, i, branch=branch).verify().ok


def test_unproved_fixings_are_refused(solution):
    (i, *_) = positions(solution, lambda node: node.branch >= 0)
    node = solution.certificate.nodes[i]
    member = int(solution.support[0])
    if member == node.branch or member in node.fixed_in:
        member = int(solution.support[1])
    outs = np.append(node.fixed_out, member)
    assert not tampered(solution, i, fixed_out=outs).verify().ok


def test_claims_beyond_the_certificate_are_refused(solution):
    higher = solution.lower_bound + 1e-3 * solution.objective
    assert "proves" in replace(solution, lower_bound=higher).verify().complaints[0]
    lower = solution.objective - 1e-3
    assert "objective" in replace(solution, objective=lower).verify().complaints[0]
    shifted = solution.x + 0.1
    assert "feasible" in replace(solution, x=shifted).verify().complaints[0]
    strict = replace(solution, tolerance=1e-9)
    assert "gap" in strict.verify().complaints[0]


def test_a_certificate_of_another_problem_is_refused(solution):
    other = solution.problem.with_limits(sparsity=6)
    assert not replace(solution, problem=other).verify().ok


def test_a_false_ray_proves_nothing():
    problem = random_problem("rows", 0)
    ray = DualProof.ray(np.ones(len(problem.rows)))
    certificate = Certificate((CertificateNode(ray),))
    assert certificate.lower_bound(problem) == -np.inf


def test_false_infeasibility_is_refused():
    found = solve(random_problem("infeasible", 0), method="exact")
    assert found.verify().ok
    empty = replace(found, certificate=Certificate((CertificateNode(),)))
    assert "infeasib" in empty.verify().complaints[-1]


@pytest.mark.parametrize(
    "proof",
    [
        DualProof(np.array([0]), np.array([np.nan]), np.zeros(0)),
        DualProof(np.array([0]), np.array([1e200]), np.zeros(0)),
        DualProof(np.array([0]), np.array([1.0]), np.array([np.inf])),
        DualProof(np.array([99]), np.array([1.0]), np.zeros(0)),
        DualProof(np.array([0]), np.array([1.0]), np.zeros(3)),
        DualProof(np.array([0.5]), np.array([1.0]), np.zeros(0)),
        DualProof(np.array([0, 1]), np.array([1.0]), np.zeros(0)),
    ],
)
def test_dual_points_that_make_no_sense_prove_nothing(solution, proof):
    certificate = Certificate((CertificateNode(proof),))
    assert certificate.lower_bound(solution.problem) == -np.inf
    assert not replace(solution, certificate=certificate).verify().ok


def test_an_empty_certificate_proves_nothing(solution):
    assert not replace(solution, certificate=Certificate(())).verify().ok


@pytest.mark.parametrize(
    "changes",
    [
        {"support": np.array([0])},
        {"gap": -5.0},
        {"lower_bound": np.nan},
        {"tolerance": np.inf},
        {"x": np.zeros(2)},
        {"x": np.full(30, np.nan)},
    ],
)
def test_every_claim_is_checked(solution, changes):
    assert not replace(solution, **changes).verify().ok


def test_a_variable_decided_twice_is_refused(solution):
    leaf = CertificateNode(DualProof.at(solution.x, np.zeros(0)))
    again = CertificateNode(branch=0, children=(3, 4))
    twice = Certificate(
        (
            CertificateNode(leaf.proof, branch=0, children=(1, 2)),
            again,
            leaf,
            leaf,
            leaf,
        )
    )
    assert twice.lower_bound(solution.problem) == -np.inf


@pytest.fixture(scope="module")
def narrowed():
    """A solution whose proof narrows the problem and moves a diagonal."""
    data = make_regression(300, 60, sparsity=4, correlation=0.9, snr=1.0, seed=2)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=4)
    found = solve(problem)
    (position, *_) = positions(found, lambda node: node.narrowing)
    assert found.certificate.nodes[position].narrowing.moved.max() > 0
    return found, position


def test_a_narrowed_proof_replays(narrowed):
    solution, _ = narrowed
    assert solution.verify().ok


def test_a_wrong_narrowing_is_refused(narrowed):
    solution, position = narrowed
    narrowing = solution.certificate.nodes[position].narrowing
    kept, moved = narrowing.kept, narrowing.moved
    wrong = [
        Narrowing(kept[:-1], moved[:-1]),  # drops a variable that is not zero
        Narrowing(np.append(kept, kept[0]), np.append(moved, moved[0])),
        Narrowing(np.append(kept, 10**6), np.append(moved, 0.0)),
        Narrowing(kept, moved + 1.0),  # what is left of Q is not convex
        Narrowing(kept, moved[:-1]),
        Narrowing(kept, moved * np.nan),
    ]
    for forged in wrong:
        assert not tampered(solution, position, narrowing=forged).verify().ok
