"""The streamed search against enumeration, on problems small enough for it."""

import numpy as np
import pytest
import scipy.sparse

from cardqp import SparseQP, Status, solve
from cardqp._iterate import Stop, Watch, iterate
from cardqp.branch_and_bound.precompile import load_for
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from tests.problems import enumerate_optimum
from tests.streamed import exact, in_blocks, search_settings

SMALL = {
    "initial_columns": 4,
    "steepest_columns": 1,
    "replacements": 1,
    "single_columns": 1,
    "derivative_columns": 1,
    "root_columns": 1,
    "leaf_columns": 1,
    "batch_size": 2,
}
"""Nine columns would all be in the working set otherwise."""

EXACT = exact(**SMALL)

KINDS = {
    "free": {},
    "nonnegative": {"lower": 0.0},
    "bounds": {"lower": -0.4, "upper": 0.3},
    "one bound": {"upper": 0.25},
    "price": {"penalty": 0.05, "sparsity": None},
    "price and limit": {"penalty": 0.02},
    "price and bounds": {"penalty": 0.02, "lower": 0.0, "upper": 0.6},
    "forced": {"forced_in": [2], "forced_out": [0, 5]},
    "ridges": {"eta": np.linspace(0.5, 20.0, 9)},
    "weak ridge": {"eta": 500.0},
}


def random_problem(kind, seed):
    """Few rows or many, columns of different sizes, some equal."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    N, n = int(rng.choice([5, 12, 40])), 9
    X = rng.standard_normal((N, n)) * rng.uniform(0.3, 3.0, n)
    X += rng.uniform(0, 2) * rng.standard_normal((N, 1))
    if seed % 5 == 0:
        X[:, 3] = X[:, 4]
    y = X @ (rng.standard_normal(n) * (rng.uniform(size=n) < 0.4))
    y += rng.uniform(0.1, 2.0) * rng.standard_normal(N)
    limits = {"eta": 4.0, "sparsity": int(rng.integers(1, 5))} | KINDS[kind]
    return in_blocks(SparseQP.from_data(X, y, **limits), entries=50)


def run(problem, **options):
    load_for(problem)
    with Watch(20.0, None) as watch:
        method = StreamedSearch(settings=search_settings(**SMALL), **options)
        return iterate(method, method.initial_tree(problem), watch)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", KINDS)
def test_optimum_is_found_and_proved(kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    tree, stop = run(problem)
    assert stop is Stop.GAP
    unit = max(abs(optimum), 1e-9)
    # The optimum comes from another order of sums.
    assert optimum - 1e-9 * unit <= tree.best.objective <= optimum + 1.01e-4 * unit
    proved = tree.certificate.lower_bound(problem)
    assert proved <= optimum + 1e-12 * unit
    assert proved == pytest.approx(tree.lower_bound, rel=1e-9)
    assert proved >= tree.best.objective - 1.01e-4 * unit


@pytest.mark.parametrize("seed", range(6))
def test_a_price_that_no_column_is_worth(seed):
    """The tree is then about no column at all."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((8, 6)), rng.standard_normal(8)
    price = rng.uniform(0.8, 3.0) * float(y @ y) / 8
    eta = rng.uniform(1e5, 4e5, 6)
    problem = SparseQP.from_data(X, y, eta=eta, sparsity=3, penalty=price)
    optimum, _ = enumerate_optimum(problem)
    solution = solve(problem, method=EXACT)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(optimum)
    assert solution.verify().ok


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_valid_at_every_step(kind):
    problem = random_problem(kind, 7)
    optimum, _ = enumerate_optimum(problem)
    method = StreamedSearch(settings=search_settings(**SMALL))
    tree = method.initial_tree(problem)
    while method.done(tree) is None:
        method.step(tree, tree)
        assert tree.lower_bound <= optimum * (1 + 1e-12)
        assert tree.certificate.lower_bound(problem) <= optimum * (1 + 1e-12)


@pytest.mark.parametrize(
    "make",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        scipy.sparse.csc_array,
        scipy.sparse.csr_matrix,
    ],
)
def test_types_and_layouts(make):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (20, 30)).astype(float)
    y = X[:, 3] - X[:, 8] + rng.standard_normal(20)
    problem = SparseQP.from_data(make(X), y, eta=5.0, sparsity=3)
    solution = solve(in_blocks(problem, entries=50), method=EXACT)
    plain = solve(SparseQP.from_regression(X, y, eta=5.0, sparsity=3))
    assert solution.support.tolist() == plain.support.tolist()
    assert solution.objective == pytest.approx(plain.objective, rel=1e-12)
    assert solution.certificate.is_streamed(solution.problem)
    assert solution.verify().ok


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.bool_])
def test_whole_numbers(dtype):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (25, 40)).astype(dtype)
    y = X[:, 5].astype(float) - X[:, 11] + 0.1 * rng.standard_normal(25)
    problem = SparseQP.from_data(X, y, eta=5.0, sparsity=2)
    solution = solve(in_blocks(problem, entries=50), method=EXACT)
    assert solution.status is Status.OPTIMAL
    assert solution.support.tolist() == [5, 11]


def test_mapped_from_disk(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((25, 40)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    y = X[:, 5] - X[:, 11] + 0.1 * rng.standard_normal(25)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    problem = SparseQP.from_data(mapped, y, eta=5.0, sparsity=2)
    solution = solve(in_blocks(problem, entries=50), method=EXACT)
    assert solution.support.tolist() == [5, 11]
    assert solution.problem.quadratic.X is mapped


def test_saved_and_loaded(tmp_path):
    problem = random_problem("free", 3)
    solution = solve(problem, method=EXACT)
    solution.save(tmp_path / "solution.npz")
    again = type(solution).load(tmp_path / "solution.npz", problem)
    assert again.verify().ok
    proved = solution.certificate.lower_bound(problem)
    assert again.certificate.lower_bound(problem) == proved


def test_stopped_search_keeps_its_bound():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((20, 60)), rng.standard_normal(20)
    problem = in_blocks(SparseQP.from_data(X, y, eta=20.0, sparsity=4), entries=50)
    calls = []

    def stop(progress):
        calls.append(progress.stage)
        return len(calls) > 9

    solution = solve(problem, method=EXACT, callback=stop)
    assert solution.stop is Stop.CALLBACK
    assert solution.status is Status.FEASIBLE
    assert 0 < solution.lower_bound < solution.objective
    assert solution.verify().ok
    assert calls[0].startswith("pass ")


@pytest.mark.parametrize("gap", [0.0, 1e-15])
def test_what_rounding_leaves_open_ends_the_search(gap):
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((30, 9)), rng.standard_normal(30)
    tree, stop = run(SparseQP.from_data(X, y, eta=5.0, sparsity=3), gap=gap)
    assert stop in (Stop.STALLED, Stop.GAP)
    assert tree.n_passes < 100
    assert tree.lower_bound == pytest.approx(tree.best.objective, rel=1e-9)


def test_nothing_to_choose_from():
    X, y = np.eye(5), np.ones(5)
    problem = SparseQP.from_data(X, y, eta=1.0, sparsity=2, forced_out=range(5))
    found = solve(problem, method=EXACT)
    assert found.objective == pytest.approx(1.0)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_matrix_is_formed_by_blocks_of_rows(make):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((40, 9))
    problem = SparseQP.from_data(make(X), rng.standard_normal(40), eta=1.0, sparsity=2)
    problem = in_blocks(problem, entries=50)
    np.testing.assert_allclose(problem.Q, X.T @ X / 40, rtol=1e-12, atol=1e-14)


def test_a_start_is_used():
    problem = random_problem("free", 4)
    best = solve(problem, method=EXACT)
    again = solve(problem, method=EXACT, start=best.x, node_limit=1)
    assert again.objective <= best.objective * (1 + 1e-12)
