"""What streamed certificates prove, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from cardqp import ParameterError, ProblemError, Solution, SparseQP, Status, solve
from cardqp.bounds.residual_bound import Residual
from cardqp.certificate import StreamedCertificate
from cardqp.certificate.streamed import ResidualPoints
from cardqp.problem import memory_copy
from cardqp.problem.streamed_form import StreamedForm
from tests.problems import enumerate_optimum
from tests.streamed import exact

EXACT = exact()


@pytest.fixture
def solution():
    rng = np.random.default_rng(11)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    problem = SparseQP.from_data(X, y, eta=10.0, sparsity=3)
    found = solve(problem, method=EXACT)
    assert found.status is Status.OPTIMAL
    assert len(found.certificate.leaves) > 2
    return found


def flipped(array, position, bit):
    damaged = array.copy()
    damaged.view(np.uint8)[position * array.itemsize + bit // 8] ^= 1 << (bit % 8)
    return damaged


@pytest.mark.parametrize("part", ["root", "leaves"])
@pytest.mark.parametrize("name", ["end", "index", "value", "scale"])
def test_a_flipped_bit_in_a_point_is_refused(solution, part, name):
    points = getattr(solution.certificate, part)
    array = getattr(points, name)
    for position in range(len(array)):
        for bit in (0, 17, 40, 63):
            other = replace(points, **{name: flipped(array, position, bit)})
            damaged = replace(solution.certificate, **{part: other})
            assert not replace(solution, certificate=damaged).verify().ok


@pytest.mark.parametrize("name", ["branch", "child", "record"])
def test_a_flipped_bit_in_the_tree_is_refused(solution, name):
    array = getattr(solution.certificate, name)
    for position in range(len(array)):
        for bit in (0, 3, 63):
            changed = {name: flipped(array, position, bit)}
            damaged = replace(solution.certificate, **changed)
            assert not replace(solution, certificate=damaged).verify().ok


def test_forged_certificates_prove_no_more_than_is_true(solution):
    """With a digest that fits, the bound itself is recomputed."""
    problem = solution.problem
    optimum, _ = enumerate_optimum(problem)
    rng, honest = np.random.default_rng(0), solution.certificate
    for _ in range(300):
        name = rng.choice(["branch", "child", "record", "value", "scale", "index"])
        if name in ("branch", "child", "record"):
            array = getattr(honest, name).copy()
            array[rng.integers(len(array))] = rng.integers(-1, len(array))
            forged = replace(honest, **{name: array})
        else:
            array = getattr(honest.leaves, name).copy()
            place = rng.integers(len(array))
            if name == "index":
                array[place] = rng.integers(problem.n)
            else:
                array[place] *= rng.uniform(0.0, 3.0)
            forged = replace(honest, leaves=replace(honest.leaves, **{name: array}))
        assert forged.sealed().lower_bound(problem) <= optimum * (1 + 1e-12)


def test_a_larger_cutoff_proves_nothing_more(solution):
    optimum, _ = enumerate_optimum(solution.problem)
    for cutoff in (-1e9, 0.0, optimum * 2, 1e300, np.inf, np.nan):
        forged = replace(solution.certificate, cutoff=cutoff).sealed()
        assert forged.lower_bound(solution.problem) <= optimum * (1 + 1e-12)


def test_every_leaf_of_a_shared_point_is_checked(solution):
    """The point of the best leaf does not prove the bound of the others."""
    honest, problem = solution.certificate, solution.problem
    optimum, _ = enumerate_optimum(problem)
    leaves = honest.record >= 0
    for record in range(len(honest.leaves)):
        shared = np.where(leaves, record, -1)
        forged = replace(honest, record=shared).sealed()
        assert forged.lower_bound(problem) <= optimum * (1 + 1e-12)
    assert any(
        replace(honest, record=np.where(leaves, k, -1)).sealed().lower_bound(problem)
        < solution.lower_bound - 1e-6
        for k in range(len(honest.leaves))
    )


def test_children_with_two_parents_are_refused(solution):
    honest = solution.certificate
    splits = np.flatnonzero(honest.branch >= 0)
    child = honest.child.copy()
    child[splits[0]] = child[splits[-1]]
    forged = replace(honest, child=child).sealed()
    assert forged.lower_bound(solution.problem) == -np.inf


def test_leaf_that_is_left_out(solution):
    """A tree with one leaf less is no partition: its last node has no sibling."""
    honest = solution.certificate
    arrays = {n: getattr(honest, n)[:-1] for n in ("branch", "child", "record")}
    forged = replace(honest, **arrays).sealed()
    assert forged.lower_bound(solution.problem) == -np.inf


def test_open_leaves_have_the_bound_of_the_root(solution):
    honest = solution.certificate
    opened = replace(honest, record=np.full_like(honest.record, -1)).sealed()
    nothing = ResidualPoints.stack([], [])
    root = StreamedCertificate(
        honest.root, 1e300, *(np.array([v]) for v in (-1, 0, -1)), nothing
    ).sealed()
    bound = opened.lower_bound(solution.problem)
    assert bound == pytest.approx(root.lower_bound(solution.problem), rel=1e-12)
    assert bound < solution.lower_bound


def test_certificate_of_another_problem(solution):
    rng = np.random.default_rng(12)
    X, y = rng.standard_normal((15, 12)), rng.standard_normal(15)
    other = SparseQP.from_data(X, y, eta=10.0, sparsity=3)
    optimum, _ = enumerate_optimum(other)
    assert solution.certificate.lower_bound(other) <= optimum
    plain = SparseQP.from_regression(X, y, eta=10.0, sparsity=3)
    assert solution.certificate.lower_bound(plain) == -np.inf


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
    nothing = ResidualPoints.stack([(np.zeros(0, dtype=int), np.zeros(0))], [1e154])
    arrays = (np.array([value]) for value in (-1, 0, -1))
    forged = StreamedCertificate(
        nothing, 1e300, *arrays, ResidualPoints.stack([], [])
    ).sealed()
    assert forged.lower_bound(problem) <= problem.objective([0.0])


def test_blocks_are_not_for_this_certificate(solution):
    X, y = solution.problem.quadratic.X, solution.problem.quadratic.target
    blocks = np.repeat(np.arange(6), 2)
    other = SparseQP.from_data(X, y, eta=10.0, sparsity=3, blocks=blocks)
    assert solution.certificate.lower_bound(other) == -np.inf


def test_children_beyond_all_numbers(solution):
    child = solution.certificate.child.copy()
    child[0] = np.iinfo(np.int64).max
    forged = replace(solution.certificate, child=child).sealed()
    assert forged.lower_bound(solution.problem) == -np.inf


def test_resume_is_refused(solution):
    with pytest.raises(ParameterError, match="`resume` is not for problems that were"):
        solve(solution.problem, resume=solution)


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
    assert not isinstance(found.certificate, StreamedCertificate)


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
    points = ResidualPoints.stack([(np.array([0]), np.array([value]))], [scale])
    arrays = (np.array([number]) for number in (-1, 0, -1))
    forged = StreamedCertificate(
        points, 1e300, *arrays, ResidualPoints.stack([], [])
    ).sealed()
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
    assert isinstance(whole.certificate, StreamedCertificate)
    assert whole.certificate.lower_bound(data) > 0
    assert whole.certificate.lower_bound(other) == -np.inf
    found, (optimum, _) = solve(other, method=EXACT), enumerate_optimum(other)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-4)
    assert not isinstance(found.certificate, StreamedCertificate)
    assert found.verify().ok
