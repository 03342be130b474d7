"""What certificates about streamed data prove, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from cardqp import ProblemError, Solution, SparseQP, Status, solve
from cardqp.bounds.residual_bound import Residual
from cardqp.certificate import (
    Certificate,
    DualPoint,
    Kind,
    ProofLog,
    Reduction,
    RootStep,
    dual_point,
)
from cardqp.problem import memory_copy
from cardqp.problem.streamed_form import StreamedForm
from tests.problems import enumerate_optimum
from tests.streamed import exact

EXACT = exact()
NOTHING = np.zeros(0, dtype=int), np.zeros(0), np.zeros(0)


@pytest.fixture
def solution():
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    problem = SparseQP.from_data(X, y, eta=10.0, sparsity=3)
    found = solve(problem, method=EXACT)
    assert found.status is Status.OPTIMAL
    kinds = found.certificate.tree.kind
    assert np.count_nonzero(kinds == Kind.POINT) > 2
    assert (kinds == Kind.INHERITED).any()
    return found


def with_tree(certificate, **changes):
    return replace(certificate, tree=replace(certificate.tree, **changes))


def with_steps(certificate, **changes):
    steps = tuple(replace(step, **changes) for step in certificate.root)
    return replace(certificate, root=steps)


def flipped(array, position, bit):
    damaged = array.copy()
    damaged.view(np.uint8)[position * array.itemsize + bit // 8] ^= 1 << (bit % 8)
    return damaged


def largest(certificates, problem):
    """The largest bound that some certificates prove; what is odd proves nothing."""
    return max(certificate.lower_bound(problem) for certificate in certificates)


NAMES = ["kind", "branch", "child", "record", "point_end", "index", "value", "scale"]


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_proves_no_more_than_is_true(solution, name):
    array = getattr(solution.certificate.tree, name)
    optimum, _ = enumerate_optimum(solution.problem)
    damaged = (
        with_tree(solution.certificate, **{name: flipped(array, position, bit)})
        for position in range(len(array))
        for bit in {b % (8 * array.itemsize) for b in (0, 3, 17, 40, 51, 62, 63)}
    )
    assert largest(damaged, solution.problem) <= optimum * (1 + 1e-12)


def test_forged_certificates_prove_no_more_than_is_true(solution):
    problem, tree = solution.problem, solution.certificate.tree
    optimum, _ = enumerate_optimum(problem)
    rng, forged = np.random.default_rng(0), []
    for _ in range(300):
        name = rng.choice(["branch", "child", "record", "value", "scale", "index"])
        array = getattr(tree, name).copy()
        place = rng.integers(len(array))
        if name in ("value", "scale"):
            array[place] *= rng.uniform(0.0, 3.0)
        else:
            array[place] = rng.integers(-1, problem.n if name == "index" else len(tree))
        forged.append(with_tree(solution.certificate, **{name: array}))
    assert largest(forged, problem) <= optimum * (1 + 1e-12)


def test_any_cutoff_proves_no_more_than_is_true(solution):
    """What is fixed at a low cutoff is excluded at no more than that."""
    problem, honest = solution.problem, solution.certificate
    optimum, _ = enumerate_optimum(problem)
    root = replace(honest, tree=ProofLog(0).tree()).lower_bound(problem)
    for cutoff in (-1e9, 0.0, 0.3 * optimum, 0.9 * optimum, 2 * optimum, 1e300):
        forged = with_steps(honest, cutoff=cutoff)
        assert forged.lower_bound(problem) <= optimum * (1 + 1e-12)
    for share in (1e-6, 1e-3, 0.01):
        low = with_steps(honest, cutoff=root + share)
        *_, left = low.root_states(problem)
        assert (~left.subproblem.undecided).any()
        assert low.lower_bound(problem) <= root + share
    for cutoff in (np.inf, -np.inf, np.nan):
        assert with_steps(honest, cutoff=cutoff).lower_bound(problem) == -np.inf


def test_a_step_with_a_cutoff_lists_nothing(solution):
    both = with_steps(solution.certificate, fixed_out=np.array([0]))
    assert both.lower_bound(solution.problem) == -np.inf


def test_a_point_has_the_scale_of_its_record(solution):
    """Bounds are those at the scale: another one proves less, none of them too much."""
    problem, honest = solution.problem, solution.certificate
    optimum, _ = enumerate_optimum(problem)
    proved, scale = honest.lower_bound(problem), honest.tree.scale
    for factor in (0.0, 0.5, 0.99, 1.01, 3.0, 1e200):
        bound = with_tree(honest, scale=factor * scale).lower_bound(problem)
        assert bound < proved <= optimum
    for wrong in (-scale, scale * np.nan, scale * np.inf):
        assert with_tree(honest, scale=wrong).lower_bound(problem) == -np.inf


def test_scales_are_for_residuals_only():
    """In memory there is no residual that they could be the scale of."""
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    problem = SparseQP.from_regression(X, y, eta=10.0, sparsity=3)
    honest = solve(problem, gap=1e-9).certificate
    assert np.isfinite(honest.lower_bound(problem))
    halved = with_tree(honest, scale=0.5 * honest.tree.scale)
    if len(honest.tree) > 0:
        assert halved.lower_bound(problem) == -np.inf
    step = replace(honest.root[0].point, scale=0.5)
    assert Certificate((RootStep(step),)).lower_bound(problem) == -np.inf


def test_inner_nodes_may_have_points_and_fixings(solution):
    """As in memory: the bound of a node holds for its children, and fixes variables."""
    problem, honest = solution.problem, solution.certificate
    optimum, _ = enumerate_optimum(problem)
    point = honest.root[0].point
    for j in range(problem.n):
        for sign in (-1, 1):
            log = ProofLog(0, problem.n)
            log.open(1)
            log.split(0, -1)
            log.record_point(0, Kind.POINT, point)
            tree = replace(
                log.tree(), fixed=np.array([sign * (j + 1)]), fixed_end=np.array([1])
            )
            fixing = replace(honest, tree=tree)
            assert fixing.lower_bound(problem) <= optimum * (1 + 1e-12)
    root = replace(honest, tree=ProofLog(0).tree())
    assert fixing.lower_bound(problem) <= root.lower_bound(problem)


def below(tree, branch):
    """A tree that is split on a variable first, and goes on as before without it."""
    own = np.array([Kind.INHERITED, Kind.INHERITED], dtype=np.int8)
    return replace(
        tree,
        kind=np.concatenate([own, tree.kind]),
        branch=np.concatenate([[branch, -1], tree.branch]),
        child=np.concatenate([[1, 0], np.where(tree.child > 0, tree.child + 2, 0)]),
        record=np.concatenate([[-1, -1], tree.record]),
    )


def test_what_a_cutoff_has_fixed_is_not_decided_again(solution):
    """A branch on a variable that is out is empty; the other one is the branch."""
    problem, honest = solution.problem, solution.certificate
    root = replace(honest, tree=ProofLog(0).tree()).lower_bound(problem)
    cutoff = root + 0.01
    honest = with_steps(honest, cutoff=cutoff)
    *_, left = honest.root_states(problem)
    out = np.flatnonzero(left.subproblem.fixed_out)
    free = np.flatnonzero(left.subproblem.undecided)
    bounds = {
        j: replace(honest, tree=below(honest.tree, j)).lower_bound(problem)
        for j in (out[0], free[0])
    }
    assert root < honest.lower_bound(problem) == cutoff == bounds[out[0]]
    assert bounds[free[0]] == pytest.approx(root, rel=1e-12)


def test_other_kinds_of_nodes_and_reductions_are_for_matrices_in_memory(solution):
    problem, honest = solution.problem, solution.certificate
    for kind in set(Kind) - {Kind.INHERITED, Kind.POINT}:
        changed = np.where(honest.tree.kind == Kind.POINT, kind, honest.tree.kind)
        forged = with_tree(honest, kind=changed.astype(np.int8))
        assert forged.lower_bound(problem) == -np.inf
    reduced = with_steps(honest, reduction=Reduction(np.arange(problem.n)))
    assert reduced.lower_bound(problem) == -np.inf


def test_every_leaf_of_a_shared_point_is_checked(solution):
    """The point of the best leaf does not prove the bound of the others."""
    honest, problem = solution.certificate, solution.problem
    optimum, _ = enumerate_optimum(problem)
    record = honest.tree.record
    bounds = [
        with_tree(honest, record=np.where(record >= 0, k, -1)).lower_bound(problem)
        for k in range(len(honest.tree.scale))
    ]
    assert max(bounds) <= optimum * (1 + 1e-12)
    assert min(bounds) < solution.lower_bound - 1e-6


def test_children_with_two_parents_prove_less(solution):
    tree = solution.certificate.tree
    splits = np.flatnonzero(tree.branch >= 0)
    child = tree.child.copy()
    child[splits[0]] = child[splits[-1]]
    forged = with_tree(solution.certificate, child=child)
    assert forged.lower_bound(solution.problem) < solution.lower_bound - 1e-6


def test_leaf_that_is_left_out(solution):
    """A tree with one leaf less is no partition: its last node has no sibling."""
    tree = solution.certificate.tree
    names = ("kind", "branch", "child", "record")
    shorter = {name: getattr(tree, name)[:-1] for name in names}
    forged = with_tree(solution.certificate, **shorter)
    assert forged.lower_bound(solution.problem) == -np.inf


def test_open_leaves_have_the_bound_of_the_root(solution):
    honest = solution.certificate
    opened = with_tree(honest, kind=np.zeros_like(honest.tree.kind))
    root = replace(honest, tree=ProofLog(0).tree())
    bound = opened.lower_bound(solution.problem)
    assert bound == pytest.approx(root.lower_bound(solution.problem), rel=1e-12)
    assert bound < solution.lower_bound


@pytest.mark.parametrize("entries", [12, 30, 60, 10**6])
def test_passes_over_the_data_are_as_few_as_memory_allows(
    solution, entries, monkeypatch
):
    """A pass for so many points of the root, and one for so many leaves."""
    problem, honest, passes = solution.problem, solution.certificate, []
    form = type(problem.quadratic)
    correlate = form.correlate

    def counted(self, R):
        passes.append(R.shape[1])
        return correlate(self, R)

    expected = honest.lower_bound(problem)
    monkeypatch.setattr(form, "correlate", counted)
    monkeypatch.setattr(dual_point, "MAX_ENTRIES", entries)
    assert honest.lower_bound(problem) == expected
    most = max(entries // 30, 1)
    n_leaves = np.count_nonzero(honest.tree.kind == Kind.POINT)
    assert len(passes) == -(-len(honest.root) // most) + -(-n_leaves // most)
    assert max(passes) <= most


def test_certificate_of_another_problem(solution, tmp_path):
    rng = np.random.default_rng(12)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    other = SparseQP.from_data(X, y, eta=10.0, sparsity=3)
    optimum, _ = enumerate_optimum(other)
    assert solution.certificate.lower_bound(other) <= optimum
    plain = SparseQP.from_regression(X, y, eta=10.0, sparsity=3)
    assert solution.certificate.lower_bound(plain) <= optimum
    solution.save(tmp_path / "run.npz")
    with pytest.raises(ProblemError, match="`problem` must be the one that was solved"):
        Solution.load(tmp_path / "run.npz", other)


@pytest.mark.parametrize("settings", [{}, {"lower": 0.0}, {"penalty": 0.1}])
def test_any_residual_gives_a_bound(settings):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 6)), rng.standard_normal(8)
    problem = SparseQP.from_data(X, y, eta=3.0, sparsity=2, **settings)
    optimum, _ = enumerate_optimum(problem)
    form = problem.quadratic
    assert isinstance(form, StreamedForm)
    for _ in range(50):
        residual = Residual.of(form, rng.standard_normal(8) * rng.uniform(0, 2))
        products = form.correlate(residual.vector[:, None])[:, 0]
        scale = rng.uniform(0.0, 2.0)
        bound = residual.bound(problem, form, products, scale)
        assert bound.value(problem.root) <= optimum


def test_the_best_scale_is_the_best():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((8, 6)), rng.standard_normal(8)
    problem = SparseQP.from_data(X, y, eta=3.0, sparsity=2)
    form, root = problem.quadratic, problem.root
    residual = Residual.of(form, y)
    products = form.correlate(y[:, None])[:, 0]
    best = residual.best_scale(root.total(residual.costs(problem, form, products, 1.0)))
    values = [
        residual.bound(problem, form, products, t).value(root)
        for t in (0.9 * best, best, 1.1 * best)
    ]
    assert values[1] == max(values)


def test_rounding_of_products_is_paid_for():
    """A bound from products that are as wrong as rounding can make them is valid."""
    rng = np.random.default_rng(5)
    X, y = 1e6 * rng.standard_normal((50, 3)), rng.standard_normal(50)
    problem = SparseQP.from_data(X, y, eta=1.0, sparsity=1)
    form = problem.quadratic
    residual = Residual.of(form, y)
    exact = np.array([sum(map(float, X[:, j] * y)) for j in range(3)])
    computed = form.correlate(y[:, None])[:, 0]
    reach = residual.product_error * np.linalg.norm(X, axis=0)
    assert (np.abs(exact - computed) <= reach).all()
    shifted = residual.costs(problem, form, computed - np.sign(computed) * reach, 1.0)
    true = -((2.0 * exact / 50) ** 2) / 4.0
    assert (shifted <= true).all()


def test_tiny_numbers_prove_nothing_that_is_wrong():
    """Squares of what is seen here are rounded to nothing."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((20, 30))
    X, y = 1e-43 * Z, 1e-120 * Z[:, -1]
    found = solve(SparseQP.from_data(X, y, eta=1e90, sparsity=1), method=EXACT)
    best = np.zeros(30)
    best[-1] = 1e-77
    assert found.lower_bound <= found.problem.objective(best)


def test_a_forged_scale_at_tiny_numbers():
    form = StreamedForm.read(np.array([[1e-30]]), np.array([1e-147]))
    error = {"c": -2.0 * form.products, "constant": 1e-294}
    problem = SparseQP(form, **error, eta=1e-90, sparsity=1)
    forged = Certificate((RootStep(DualPoint(*NOTHING, 1e154), cutoff=1e300),))
    assert forged.lower_bound(problem) <= problem.objective([0.0])


def test_blocks_are_not_for_this_certificate(solution):
    X, y = solution.problem.quadratic.X, solution.problem.quadratic.target
    blocks = np.repeat(np.arange(6), 2)
    other = SparseQP.from_data(X, y, eta=10.0, sparsity=3, blocks=blocks)
    assert solution.certificate.lower_bound(other) == -np.inf


def test_children_beyond_all_numbers(solution):
    child = solution.certificate.tree.child.copy()
    child[0] = np.iinfo(child.dtype).max
    forged = with_tree(solution.certificate, child=child)
    assert forged.lower_bound(solution.problem) == -np.inf


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"A": np.ones((1, 12)), "b": [1.0]}, {}),
        ({"groups": [0] * 12, "group_sparsity": 1}, {}),
        ({"lower": 0.1}, {}),
        ({}, {"method": "warm-start"}),
    ],
)
def test_what_cannot_be_streamed_is_solved_in_memory(settings, options):
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    problem = SparseQP.from_data(X, y, eta=10.0, sparsity=3, **settings)
    found = solve(problem, **{"method": EXACT} | options)
    optimum, _ = enumerate_optimum(problem)
    assert found.objective == pytest.approx(optimum, rel=1e-4)
    assert found.verify().ok
    assert not found.certificate.is_streamed(problem)


def test_too_large_for_memory(monkeypatch):
    monkeypatch.setattr(memory_copy, "MOST_BYTES", 100)
    X, y = np.ones((5, 6)), np.ones(5)
    problem = SparseQP.from_data(X, y, eta=1.0, sparsity=1, lower=0.1)
    with pytest.raises(ProblemError, match="`X` must fit into memory for this"):
        solve(problem, method=EXACT)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((3, 2)), np.ones(4), "`X` must have columns, and as many rows"),
        (np.ones((3, 0)), np.ones(3), "`X` must have columns, and as many rows"),
        (np.ones(3), np.ones(3), "`X` must be a matrix of real numbers"),
        (np.ones((3, 2), dtype=complex), np.ones(3), "`X` must be a matrix of real"),
        (csr_array(np.ones((3, 2)) * 1j), np.ones(3), "`X` must be a matrix of real"),
        ([[1.0, np.nan]], [1.0], "`X` must hold finite numbers, of moderate size: col"),
        ([[1.0, 1e200]], [1.0], "`X` must hold finite numbers, of moderate size: col"),
        (np.ones((2, 2)), [1.0, np.inf], "`y` must"),
    ],
)
def test_messages(X, y, message):
    with pytest.raises(ProblemError, match=message):
        SparseQP.from_data(X, y, eta=1.0, sparsity=1)


def test_what_belongs_to_the_data_stays(solution):
    with pytest.raises(ProblemError, match="`c` and `constant` belong to the data"):
        solution.problem.with_linear(c=np.zeros(12))


def test_files_of_problem_and_solution_are_enough(solution, tmp_path):
    solution.problem.save(tmp_path / "problem.npz")
    solution.save(tmp_path / "solution.npz")
    again = SparseQP.load(tmp_path / "problem.npz")
    assert Solution.load(tmp_path / "solution.npz", again).verify().ok


@pytest.mark.parametrize("value", [1e200, -1e308])
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1.0, 1e300])
def test_points_that_are_too_large_for_numbers(value, scale):
    """Not even where a variable must not be zero, so that costs may be infinite."""
    X = np.ones((3, 2))
    problem = SparseQP.from_data(
        X, np.ones(3), eta=1.0, sparsity=1, lower=-2.0, upper=-1.0, forced_in=[0]
    )
    point = DualPoint(np.array([0]), np.array([value]), np.zeros(0), scale)
    forged = Certificate((RootStep(point, cutoff=1e300),))
    assert forged.lower_bound(problem) <= problem.objective([-1.0, 0.0])


@pytest.mark.parametrize("change", [{"c": np.full(12, 3.0)}, {"constant": -1.0}])
def test_another_cost_on_the_same_columns(change):
    """Residuals know the data alone: what is not their error is solved in memory."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 12)), rng.standard_normal(6)
    data = SparseQP.from_data(X, y, eta=1.0, sparsity=2)
    whole = solve(data, method=EXACT)
    same = {"c": data.c, "constant": data.constant}
    other = SparseQP(data.quadratic, eta=1.0, sparsity=2, **same | change)
    assert whole.certificate.is_streamed(data)
    assert whole.certificate.lower_bound(data) > 0
    assert whole.certificate.lower_bound(other) == -np.inf
    found, (optimum, _) = solve(other, method=EXACT), enumerate_optimum(other)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-4)
    assert not found.certificate.is_streamed(other)
    assert found.verify().ok
