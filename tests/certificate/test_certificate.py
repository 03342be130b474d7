import itertools
from dataclasses import replace

import numpy as np
import pytest

from cardqp import Exact, SparseQP, Status, solve
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.certificate import (
    Certificate,
    DualPoint,
    Kind,
    ProofLog,
    Reduction,
    RootStep,
    replay,
)
from cardqp.datasets import make_regression
from cardqp.exceptions import ParameterError
from cardqp.heuristics.settings import HeuristicSettings
from cardqp.methods import RootSettings, SearchSettings
from tests.problems import random_problem, support_optimum
from tests.searches import by_branching


@pytest.fixture(scope="module")
def solution():
    data = make_regression(40, 30, sparsity=6, correlation=0.9, snr=1.0, seed=0)
    problem = SparseQP.from_regression(data.X, data.y, eta=200.0, sparsity=6)
    found = solve(problem, method=by_branching())
    tree = found.certificate.tree
    assert {Kind.POINT, Kind.CUT_OFF} <= set(tree.kind)
    assert len(tree.fixed) > 0
    return found


def tampered(solution, **changes):
    """The solution with some arrays of its proof changed."""
    tree = replace(solution.certificate.tree, **changes)
    return replace(solution, certificate=replace(solution.certificate, tree=tree))


def changed(array, position, value):
    array = array.copy()
    array[position] = value
    return array


def split_nodes(tree):
    return np.flatnonzero(tree.branch >= 0)


def test_an_honest_certificate_replays(solution):
    found = solution.verify()
    assert found.ok
    assert found.lower_bound >= solution.lower_bound
    assert solution.certificate.lower_bound(solution.problem) == found.lower_bound


def test_other_dual_points_prove_less(solution):
    tree = solution.certificate.tree
    closed = (tree.kind == Kind.POINT) & (tree.child == 0)
    assert closed.any()
    for position in np.flatnonzero(closed):
        record = tree.record[position]
        start = tree.point_end[record - 1] if record else 0
        value = tree.value.copy()
        value[start : tree.point_end[record]] *= 1.5
        assert not tampered(solution, value=value).verify().ok


def test_a_missing_branch_is_refused(solution):
    tree = solution.certificate.tree
    (i, *_) = split_nodes(tree)
    for child in (0, i, len(tree), len(tree) - 1, 10**6, -3):
        wrong = tampered(solution, child=changed(tree.child, i, child))
        assert not wrong.verify().ok
    alone = tampered(solution, branch=changed(tree.branch, i, -1))
    assert not alone.verify().ok


def test_a_branch_with_two_parents_is_refused(solution):
    tree = solution.certificate.tree
    first, second, *_ = split_nodes(tree)
    twice = changed(tree.child, first, tree.child[second])
    if first < tree.child[second]:
        assert not tampered(solution, child=twice).verify().ok


def test_a_wrong_branching_variable_is_refused(solution):
    tree = solution.certificate.tree
    (i, *_) = split_nodes(tree)
    for branch in (10**6, -7):
        wrong = changed(tree.branch, i, branch)
        assert not tampered(solution, branch=wrong).verify().ok


def test_a_variable_decided_twice_proves_no_more_than_is_true(solution):
    """One child is empty then, the other one is as large as its parent."""
    problem, tree = solution.problem, solution.certificate.tree
    bounds = [
        tampered(
            solution, branch=changed(tree.branch, child, tree.branch[parent])
        ).certificate.lower_bound(problem)
        for parent in split_nodes(tree)
        for child in (tree.child[parent], tree.child[parent] + 1)
        if tree.branch[child] >= 0
    ]
    assert -np.inf < min(bounds) < solution.lower_bound
    assert max(bounds) <= solution.objective


def test_unproved_fixings_are_refused(solution):
    tree = solution.certificate.tree
    for entry in range(0, len(tree.fixed), 5):
        opposite = changed(tree.fixed, entry, -tree.fixed[entry])
        assert not tampered(solution, fixed=opposite).verify().ok


def test_leaves_are_not_taken_on_trust(solution):
    """A branch that was closed by its point cannot pass as closed by its ancestors."""
    tree = solution.certificate.tree
    for kind in (Kind.POINT, Kind.CUT_OFF):
        leaf = np.flatnonzero((tree.kind == kind) & (tree.child == 0))[0]
        wrong = changed(tree.kind, leaf, Kind.INHERITED)
        assert not tampered(solution, kind=wrong).verify().ok


def test_a_branch_with_many_slots_cannot_pass_as_completed(solution):
    tree = solution.certificate.tree
    (i, *_) = split_nodes(tree)
    wrong = tampered(
        solution,
        kind=changed(tree.kind, i, Kind.COMPLETED),
        child=changed(tree.child, i, 0),
        branch=changed(tree.branch, i, -1),
    )
    assert not wrong.verify().ok


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", 9),
        ("record", 10**6),
        ("record", -1),
        ("index", 10**4),
        ("index", -1),
        ("value", np.nan),
        ("value", np.inf),
        ("fixed", 0),
        ("fixed", 10**4),
        ("point_end", -1),
        ("point_end", 10**6),
        ("fixed_end", 10**6),
    ],
)
def test_arrays_that_make_no_sense_are_refused(solution, name, value):
    array = getattr(solution.certificate.tree, name)
    wrong = tampered(solution, **{name: changed(array, 0, value)})
    assert not wrong.verify().ok


@pytest.mark.parametrize("name", ["fixed", "child"])
def test_numbers_at_the_end_of_their_range_are_refused(solution, name):
    array = getattr(solution.certificate.tree, name)
    limits = np.iinfo(array.dtype)
    for value in (limits.min, limits.max):
        wrong = tampered(solution, **{name: changed(array, 0, value)})
        assert not wrong.verify().ok


@pytest.mark.parametrize("name", ["branch", "child", "record", "beta", "fixed_end"])
def test_arrays_of_other_lengths_are_refused(solution, name):
    array = getattr(solution.certificate.tree, name)
    assert not tampered(solution, **{name: array[:-1]}).verify().ok


def test_claims_beyond_the_certificate_are_refused(solution):
    higher = solution.lower_bound + 1e-3 * solution.objective
    assert "proves" in replace(solution, lower_bound=higher).verify().complaints[0]
    lower = solution.objective - 1e-3
    assert "objective" in replace(solution, objective=lower).verify().complaints[0]
    shifted = solution.x + 0.1
    assert "feasible" in replace(solution, x=shifted).verify().complaints[0]
    strict = replace(solution, tolerance=1e-12)
    assert "gap" in strict.verify().complaints[0]


def test_a_certificate_of_another_problem_is_refused(solution):
    other = solution.problem.with_limits(sparsity=8)
    assert not replace(solution, problem=other).verify().ok


def tree_of(kind, beta=None):
    log = ProofLog(0 if beta is None else len(beta))
    log.open(1)
    log.record(0, kind, beta=beta)
    return log.tree()


def test_a_false_ray_proves_nothing():
    problem = random_problem("rows", 0)
    certificate = Certificate((), tree_of(Kind.RAY, np.ones(len(problem.rows))))
    assert certificate.lower_bound(problem) == -np.inf


@pytest.mark.parametrize("size", [2.0**20, 2.0**50, 1e300])
def test_rows_that_cancel_hide_nothing(size):
    """The rows allow (1, 1); a ray in which they nearly cancel must not deny it."""
    problem = SparseQP(
        np.eye(2),
        np.ones(2),
        eta=1.0,
        sparsity=2,
        A=[[1.0, -1.0], [-1.0, 1.0], [-1.0, 0.0]],
        b=[0.0, 0.0, -1.0],
    )
    ray = np.array([size, size, 1.0])
    assert Certificate((), tree_of(Kind.RAY, ray)).lower_bound(problem) == -np.inf


def test_arrays_of_another_kind_are_refused(solution):
    tree = solution.certificate.tree
    for name, array in tree.arrays().items():
        for wrong in (array.astype(complex), array.astype(str), array[None], None, 3.0):
            assert not tampered(solution, **{name: wrong}).verify().ok
    for name in ("kind", "branch", "child", "record", "index", "fixed"):
        as_floats = getattr(tree, name).astype(float)
        assert not tampered(solution, **{name: as_floats}).verify().ok


def test_complex_multipliers_prove_nothing():
    problem = SparseQP(
        np.eye(2), np.ones(2), eta=1.0, sparsity=2, A_eq=[[1.0, -1.0]], b_eq=[0.0]
    )
    proof = DualPoint(np.zeros(0, dtype=int), np.zeros(0), np.array([1e3j]))
    assert Certificate((RootStep(proof),)).lower_bound(problem) == -np.inf


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.INFEASIBLE])
def test_nothing_is_claimed_without_a_certificate(solution, status):
    bare = replace(
        solution, certificate=None, lower_bound=-np.inf, gap=np.inf, status=status
    )
    assert not bare.verify().ok


def test_only_free_problems_can_be_completed():
    for kind in ("rows", "bounds", "penalty"):
        problem = random_problem(kind, 0)
        log = ProofLog(len(problem.rows))
        log.open(1)
        log.record(0, Kind.COMPLETED)
        assert Certificate((), log.tree()).lower_bound(problem) == -np.inf


def test_false_infeasibility_is_refused():
    found = solve(random_problem("infeasible", 0))
    assert found.verify().ok
    empty = replace(found, certificate=Certificate())
    assert "infeasib" in empty.verify().complaints[-1]


@pytest.mark.parametrize(
    "proof",
    [
        DualPoint(np.array([0]), np.array([np.nan]), np.zeros(0)),
        DualPoint(np.array([0]), np.array([1e200]), np.zeros(0)),
        DualPoint(np.array([0]), np.array([1.0]), np.array([np.inf])),
        DualPoint(np.array([99]), np.array([1.0]), np.zeros(0)),
        DualPoint(np.array([0]), np.array([1.0]), np.zeros(3)),
        DualPoint(np.array([0.5]), np.array([1.0]), np.zeros(0)),
        DualPoint(np.array([0, 1]), np.array([1.0]), np.zeros(0)),
    ],
)
def test_dual_points_that_make_no_sense_prove_nothing(solution, proof):
    certificate = Certificate((RootStep(proof),))
    assert certificate.lower_bound(solution.problem) == -np.inf
    assert not replace(solution, certificate=certificate).verify().ok


def test_no_certificate_proves_nothing(solution):
    assert not replace(solution, certificate=Certificate()).verify().ok
    assert not replace(solution, certificate=None).verify().ok


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


@pytest.fixture(scope="module")
def reduced():
    """A solution whose proof narrows the problem and moves a diagonal."""
    data = make_regression(300, 60, sparsity=4, correlation=0.9, snr=1.0, seed=2)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=4)
    found = solve(problem)
    steps = found.certificate.root
    position = next(i for i, step in enumerate(steps) if step.reduction)
    assert steps[position].reduction.diagonal_shift.max() > 0
    return found, position


def with_step(solution, position, **changes):
    steps = list(solution.certificate.root)
    steps[position] = replace(steps[position], **changes)
    certificate = replace(solution.certificate, root=tuple(steps))
    return replace(solution, certificate=certificate)


def test_a_narrowed_proof_replays(reduced):
    solution, _ = reduced
    assert solution.verify().ok


def test_a_wrong_reduction_is_refused(reduced):
    solution, position = reduced
    reduction = solution.certificate.root[position].reduction
    kept, shift = reduction.kept, reduction.diagonal_shift
    wrong = [
        Reduction(kept[:-1], shift[:-1]),  # drops a variable that is not zero
        Reduction(np.append(kept, kept[0]), np.append(shift, shift[0])),
        Reduction(np.append(kept, 10**6), np.append(shift, 0.0)),
        Reduction(kept, shift + 1.0),  # what is left of Q is not convex
        Reduction(kept, shift[:-1]),
        Reduction(kept, shift * np.nan),
    ]
    for forged in wrong:
        assert not with_step(solution, position, reduction=forged).verify().ok


def test_unproved_fixings_at_the_root_are_refused(reduced):
    solution, position = reduced
    step = solution.certificate.root[position]
    member = solution.support[:1]
    for outs in (np.append(step.fixed_out, member), np.append(step.fixed_out, 10**6)):
        assert not with_step(solution, position, fixed_out=outs).verify().ok
    twice = np.append(step.fixed_out, step.fixed_out[:1])
    assert not with_step(solution, position, fixed_out=twice).verify().ok


def test_threads_find_the_same_bound(solution, monkeypatch):
    monkeypatch.setattr(replay, "BATCH", 2)
    alone, together = solution.verify(), solution.verify(threads=3)
    assert alone == together
    assert together.ok
    with pytest.raises(ParameterError, match="`threads`"):
        solution.verify(threads=0)


@pytest.mark.parametrize("kind", ["free", "bounds", "rows", "thresholds"])
def test_children_inherit_what_their_own_side_costs(kind):
    """Split on each variable in turn, decided or not; Theorem 2 knows the floors."""
    problem = random_problem(kind, 3)
    x = solve(problem).x
    bound = tangent_bound(problem, x, np.zeros(len(problem.rows)))
    value, sides = bound.value(problem.root), bound.fixing_bounds(problem.root)
    assert abs(sides[0] - sides[1]).max() > 1e-3 * abs(value)
    index = np.flatnonzero(x)
    for variable in range(problem.n):
        log = ProofLog(len(problem.rows), problem.n)
        log.open(1)
        log.record(
            0,
            Kind.POINT,
            index=index,
            value=x[index],
            beta=np.zeros(len(problem.rows)),
            fixed=np.zeros(0, dtype=int),
        )
        log.split(0, variable)
        found = replay.Replay(log.tree(), problem, problem, problem, problem)
        found.run(problem.root, -np.inf)
        assert [branch.status[variable] for branch in found.open] == [1, -1]
        floors = [max(value, side[variable]) for side in sides]
        np.testing.assert_allclose(
            [b.lower_bound for b in found.open], floors, rtol=1e-9
        )


WITH_MINORANT = Exact(
    SearchSettings(
        root=RootSettings(easy_nodes=0, split_gap=0.002, least_shrinking=1e-9),
        heuristics=HeuristicSettings(max_completion_variables=0),
    )
)
"""A search that never thinks a tree too easy for a sparse minorant, and does not end it
above its leaves."""


@pytest.fixture
def portfolio():
    """A long-only problem with branches."""
    rng = np.random.default_rng(2)
    loadings = 0.5 + rng.standard_normal((12, 40))
    covariance = loadings.T @ loadings / 12 + np.diag(rng.uniform(0.02, 0.2, 40))
    settings = {"A_eq": np.ones((1, 40)), "b_eq": 1.0, "lower": 0.0}
    return SparseQP(covariance, np.zeros(40), eta=1e4, sparsity=5, **settings)


def test_branches_are_proved_with_and_without_the_minorant(portfolio):
    solution = solve(portfolio, method=WITH_MINORANT)
    assert solution.status is Status.OPTIMAL
    kinds = set(solution.certificate.tree.kind.tolist())
    assert {Kind.POINT, Kind.FULL} <= kinds
    assert solution.verify().ok


@pytest.mark.parametrize(
    ("old", "new"), [(Kind.FULL, Kind.POINT), (Kind.POINT, Kind.FULL)]
)
def test_a_point_of_the_wrong_problem_proves_no_more_than_is_true(portfolio, old, new):
    solution = solve(portfolio, method=WITH_MINORANT)
    tree = solution.certificate.tree
    forged = replace(tree, kind=np.where(tree.kind == old, new, tree.kind))
    bound = replace(solution.certificate, tree=forged).lower_bound(portfolio)
    assert bound < solution.lower_bound


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_better_supports_keep_to_what_is_decided(seed):
    data = make_regression(60, 10, sparsity=3, correlation=0.6, seed=seed)
    problem = SparseQP.from_regression(data.X, data.y, eta=10.0, sparsity=3)
    certificate = solve(problem, gap=1e-6).certificate
    values = {
        support: support_optimum(problem, list(support))
        for support in itertools.combinations(range(10), 3)
    }
    root_states = list(certificate.root_states(problem))
    status = list(certificate.decided(problem))
    assert len(status) == len(root_states) == len(certificate.root) + 1
    assert not status[0].any()
    n_better = 0
    for presolved, decided in zip(root_states, status, strict=True):
        for support, value in values.items():
            if value < presolved.pruned_bound:
                n_better += decided.any()
                assert set(np.flatnonzero(decided == 1)) <= set(support)
                assert not set(np.flatnonzero(decided == -1)) & set(support)
    assert n_better > 0


def test_what_is_forced_is_decided_from_the_start():
    problem = SparseQP(
        np.eye(4), -np.ones(4), eta=1.0, sparsity=2, forced_in=[1], forced_out=[3]
    )
    first = next(solve(problem).certificate.decided(problem))
    assert first.tolist() == [0, 1, 0, -1]
