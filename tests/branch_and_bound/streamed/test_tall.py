"""Many rows: columns are not kept, and blocks are read in pieces."""

import numpy as np
import pytest
import scipy.sparse

from cardqp import SparseQP, Status, solve
from cardqp.branch_and_bound.precompile import load_for
from cardqp.branch_and_bound.streamed import incumbent, size
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS
from cardqp.branch_and_bound.streamed.working_set import SparsePoint, WorkingSet
from cardqp.problem.column_blocks import BlockSizes
from cardqp.problem.streamed_form import StreamedForm
from tests.problems import enumerate_optimum
from tests.streamed import exact, in_blocks

LAYOUTS = {
    "by rows": np.ascontiguousarray,
    "by columns": np.asfortranarray,
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "every second": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "single precision": lambda X: X.astype(np.float32),
    "small integers": lambda X: X.astype(np.int8),
    "CSC": scipy.sparse.csc_array,
    "CSR": scipy.sparse.csr_array,
    "COO": scipy.sparse.coo_array,
}


PIECES = BlockSizes(entries=60, min_width=4)
EXACT = exact(max_dense_bytes=1.0, many_rows=2, initial_columns=6)
"""As with a million rows: nothing is held, and blocks are narrow."""


def whole_numbers(N, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (N, n)).astype(float)
    return X, X[:, 1] - X[:, 4] + X[:, 7] + rng.standard_normal(N)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_do_not_depend_on_the_layout(layout):
    X, y = whole_numbers(41, 9)
    form = StreamedForm.read(LAYOUTS[layout](X), y, PIECES)
    R = np.random.default_rng(1).standard_normal((41, 3))
    left, right = np.array([5, 0, 3]), np.array([2, 8])
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(form.products, X.T @ y, **close)
    np.testing.assert_allclose(form.squares, (X**2).sum(axis=0), **close)
    np.testing.assert_allclose(form.correlate(R), X.T @ R, **close)
    cross = X[:, left].T @ X[:, right] / 41
    np.testing.assert_allclose(form.cross(left, right), cross, **close)
    np.testing.assert_allclose(form.combine(left, R[:3]), X[:, left] @ R[:3], **close)
    np.testing.assert_allclose(
        form.combine(left, R[:3, 0]), X[:, left] @ R[:3, 0], **close
    )


def test_rows_are_read_in_pieces():
    X, y = whole_numbers(41, 9)
    by_columns = StreamedForm.read(np.asfortranarray(X), y, PIECES)
    assert by_columns._block_shape() == (1, 41)
    assert StreamedForm.read(X, y, PIECES)._block_shape() == (4, 15)
    few = StreamedForm.read(np.ascontiguousarray(X[:5]), y[:5], PIECES)
    assert few._block_shape() == (12, 5)


def test_sparse_columns_are_read_many_at_a_time():
    X = scipy.sparse.random(10**5, 400, 1e-3, format="csc", random_state=0)
    width, _ = StreamedForm.read(X, np.zeros(10**5))._block_shape()
    assert width == 50


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("settings", [{}, {"lower": 0.0}, {"penalty": 0.2}])
def test_the_optimum_is_the_same(layout, settings):
    X, y = whole_numbers(41, 9)
    problem = SparseQP.from_data(LAYOUTS[layout](X), y, eta=2.0, sparsity=3, **settings)
    problem = in_blocks(problem, entries=60, min_width=4)
    load_for(problem)
    optimum, _ = enumerate_optimum(
        SparseQP.from_regression(X, y, eta=2.0, sparsity=3, **settings)
    )
    found = solve(problem, method=EXACT)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(optimum, rel=1e-9)
    assert found.verify().ok


@pytest.mark.parametrize("seed", range(10))
def test_harder_ones(seed):
    """Noise, and more rows than ``many_rows``."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 10)), rng.standard_normal(30)
    problem = SparseQP.from_data(X, y, eta=20.0, sparsity=3)
    problem = in_blocks(problem, entries=60, min_width=4)
    optimum, _ = enumerate_optimum(problem)
    found = solve(problem, method=EXACT)
    assert found.status is Status.OPTIMAL
    assert optimum * (1 - 1e-12) <= found.objective <= optimum * (1 + 1e-4)


def test_a_working_set_is_the_same_held_or_not():
    X, y = whole_numbers(41, 9)
    problem = SparseQP.from_data(X, y, eta=2.0, sparsity=3)
    form = problem.quadratic

    def working_sets(max_bytes):
        first = WorkingSet.of(problem, form, np.array([3, 1, 7]), max_bytes)
        more = first.extend(np.array([0, 1, 8]))
        return first, more, more.restrict(np.array([0, 2, 4]))

    sets, others = working_sets(250e6), working_sets(8.0 * 41 * 3)
    assert [part.X is None for part in sets] == [False] * 3
    assert [part.X is None for part in others] == [False, True, False]
    points = [SparsePoint(np.array([k]), np.array([0.5])) for k in (0, 2)]
    for one, other in zip(sets, others, strict=True):
        np.testing.assert_array_equal(one.columns, other.columns)
        np.testing.assert_allclose(one.gram, other.gram, rtol=1e-13)
        np.testing.assert_allclose(
            one.residuals(points), other.residuals(points), rtol=1e-13, atol=1e-13
        )


@pytest.mark.parametrize(
    ("rows", "first", "batch"),
    [(1000, 1000, 32), (50_000, 1000, 32), (200_000, 500, 32), (5_000_000, 100, 6)],
)
def test_how_many(rows, first, batch):
    """Dense copies stay below half a gigabyte."""
    X = np.broadcast_to(np.float32(0.0), (rows, 5000))
    form = StreamedForm(X, np.zeros(0), np.zeros(0), np.zeros(0))
    assert size.scaled_count(form, 1000, DEFAULT_SETTINGS) == first
    assert size.batch_size(form, DEFAULT_SETTINGS) == batch
    most = DEFAULT_SETTINGS.max_dense_bytes
    assert size.fits_dense(form, int(most / 8 / rows), most)
    assert not size.fits_dense(form, int(most / 8 / rows) + 1, most)


def test_some_columns_for_each_nonzero():
    X = np.broadcast_to(np.float32(0.0), (5_000_000, 5000))
    form = StreamedForm(X, np.zeros(0), np.zeros(5000), np.zeros(5000))
    for sparsity, count in ((5, 100), (40, 160), (400, 1000)):
        problem = SparseQP(form, np.zeros(5000), eta=1.0, sparsity=sparsity)
        assert incumbent._initial_count(problem, form, DEFAULT_SETTINGS) == count
    problem = SparseQP(form, np.zeros(5000), eta=1.0, penalty=1.0)
    assert incumbent._initial_count(problem, form, DEFAULT_SETTINGS) == 100
