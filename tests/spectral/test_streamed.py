"""Components of streamed data: near the exact ones, and valid in any case."""

from fractions import Fraction

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse

from cardqp import (
    ParameterError,
    SparseQP,
    best_response,
    dual_program,
    hierarchy,
    spectrum,
)
from cardqp.problem.column_blocks import BlockSizes
from cardqp.problem.streamed_form import StreamedForm
from cardqp.spectral import streamed
from tests.problems import enumerate_optimum
from tests.streamed import in_blocks


@pytest.fixture(params=["exact", "range"])
def route(request, monkeypatch):
    """Both ways to find components, whatever the number of rows."""
    if request.param == "range":
        monkeypatch.setattr(streamed, "_is_exact", lambda *_: False)


def data(N=12, n=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, n)) * np.geomspace(3.0, 0.1, n)
    return X, X[:, 2] - X[:, 4] + 0.3 * rng.standard_normal(N)


def both(X, y, **settings):
    settings = {"eta": 5.0, "sparsity": 2} | settings
    return (
        in_blocks(SparseQP.from_data(X, y, **settings), entries=50),
        SparseQP.from_regression(X, y, **settings),
    )


@pytest.mark.parametrize("shape", [(12, 40), (40, 12), (15, 15)])
def test_components_are_those_of_the_matrix(shape):
    lazy, plain = map(spectrum, both(*data(*shape)))
    assert len(lazy) == len(plain) == min(shape)
    np.testing.assert_allclose(lazy.eigenvalues, plain.eigenvalues, atol=1e-12)
    signs = np.sign(np.sum(lazy.eigenvectors * plain.eigenvectors, axis=0))
    np.testing.assert_allclose(lazy.eigenvectors * signs, plain.eigenvectors, atol=1e-9)
    np.testing.assert_allclose(
        lazy.truncation_error(), plain.truncation_error(), atol=1e-6
    )
    assert lazy.k_hat() == plain.k_hat()
    assert lazy.default_level() == plain.default_level()


@pytest.mark.parametrize(
    "make",
    [
        np.asfortranarray,
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.float32),
        scipy.sparse.csr_matrix,
        lambda X: da.from_array(X, chunks=(5, 9)),
    ],
)
@pytest.mark.usefixtures("route")
def test_types_and_layouts(make):
    rng = np.random.default_rng(3)
    X = rng.integers(-5, 6, (20, 60)) + rng.integers(-9, 10, (20, 1))
    y = X[:, 3] + rng.standard_normal(20)
    with dask.config.set(scheduler="synchronous"):
        problem = SparseQP.from_data(make(X), y, eta=1.0, sparsity=1)
        problem = in_blocks(problem, entries=50)
        found = spectrum(problem, 2).level(2)
    expected = spectrum(both(X.astype(float), y)[1], 2).level(2)
    product = expected.factor @ found.factor.T
    assert abs(product[0, 0]) == pytest.approx(np.sum(expected.factor[0] ** 2))


def exact_gap(problem, level, x):
    """``x'Qx + sum defect x^2 - |Fx|^2`` in rational arithmetic."""

    def squared_length(matrix, x):
        rows = [[Fraction(float(a)) for a in row] for row in matrix]
        return sum(sum(a * b for a, b in zip(r, x, strict=True)) ** 2 for r in rows)

    x = [Fraction(float(value)) for value in x]
    psd_violation = sum(
        Fraction(float(d)) * v**2 for d, v in zip(level.psd_violation, x, strict=True)
    )
    whole = squared_length(problem.quadratic.X, x) / problem.quadratic.n_samples
    return whole + psd_violation - squared_length(level.factor, x)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(12, 20), (20, 12)])
@pytest.mark.usefixtures("route")
def test_levels_lie_below_the_form(shape, seed, monkeypatch):
    monkeypatch.setattr(streamed, "POWER_STEPS", 1)
    rng = np.random.default_rng(seed)
    problem, _ = both(*data(*shape, seed))
    found = spectrum(problem, 5)
    assert len(found) == 5
    for k in (1, 3, 5):
        level = found.level(k)
        assert level.k == k
        assert 0 < level.psd_violation.max() < 1e-15
        gap = problem.Q + np.diag(level.psd_violation) - level.factor.T @ level.factor
        worst = np.linalg.eigh(gap)[1][:, 0]
        for x in (worst, level.factor[0], rng.standard_normal(problem.n)):
            assert exact_gap(problem, level, x) >= 0


def test_rounding_is_paid_for_where_columns_cancel():
    """Where ``Qx`` is exactly zero, the factor's rounding is all there is."""
    rng = np.random.default_rng(1)
    first = rng.integers(-1000, 1000, (9, 6)).astype(float)
    problem, _ = both(np.hstack([first, 3 * first]), first[:, 0])
    level = spectrum(problem).level(6)
    sticks_out = []
    for j in range(6):
        x = np.zeros(12)
        x[j], x[6 + j] = 3.0, -1.0
        gap = exact_gap(problem, level, x)
        assert gap >= 0
        sticks_out.append(gap < Fraction(float(level.psd_violation[0])) * 10)
    assert any(sticks_out)


@pytest.mark.parametrize("noise", [1e-3, 0.1])
def test_levels_of_a_skew_basis_pay_for_it(noise, monkeypatch):
    problem, _ = both(*data(12, 20))

    def skew(form, count):
        wrong = np.random.default_rng(0).standard_normal((form.n_samples, count))
        return np.linalg.eigh(form.outer)[1][:, -count:] * (1 + noise) + noise * wrong

    monkeypatch.setattr(streamed, "_basis", skew)
    level = spectrum(problem, 4).level(4)
    gap = problem.Q + np.diag(level.psd_violation) - level.factor.T @ level.factor
    assert np.linalg.eigvalsh(gap)[0] >= -1e-15


def test_a_range_holds_components_that_stand_out(monkeypatch):
    monkeypatch.setattr(streamed, "MAX_EXACT_ROWS", 0)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 700))
    X += 0.1 * rng.standard_normal((500, 700))
    lazy, plain = both(X, X[:, 0])
    found, expected = spectrum(lazy, 3), spectrum(plain, 3)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-9)
    np.testing.assert_array_equal(found.eigenvectors, spectrum(lazy, 3).eigenvectors)
    assert "outer" not in lazy.quadratic.__dict__


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("screen", [best_response, dual_program])
def test_screening_is_that_of_the_matrix_and_its_bounds_hold(screen, seed):
    lazy, plain = both(*data(12, 9, seed))
    optimum, _ = enumerate_optimum(plain)
    for level in (1, 4, 9):
        found, expected = screen(lazy, level), screen(plain, level)
        np.testing.assert_array_equal(found.candidates, expected.candidates)
        assert found.lower_bound <= optimum
        # What levels give up is a share of the objective's terms.
        allowed = 10 * streamed.SHRINK * plain.constant
        assert found.lower_bound == pytest.approx(expected.lower_bound, abs=allowed)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.usefixtures("route")
def test_bounds_hold_whatever_the_components(seed, monkeypatch):
    monkeypatch.setattr(streamed, "POWER_STEPS", 0)
    problem, plain = both(*data(12, 20, seed))
    optimum, _ = enumerate_optimum(plain)
    for level in (1, 3, 6):
        for screen in (best_response, dual_program):
            assert screen(problem, level).lower_bound <= optimum


def test_a_hierarchy_of_columns():
    lazy, plain = both(*data(12, 20))
    found, expected = hierarchy(lazy, [1, 3, 9]), hierarchy(plain, [1, 3, 9])
    for one, other in zip(found.levels, expected.levels, strict=True):
        assert one.objective == pytest.approx(other.objective)
        assert one.n_candidates == other.n_candidates


def test_columns_of_zeros_and_tiny_numbers():
    y = np.arange(3.0)
    nothing = SparseQP.from_data(np.zeros((3, 4)), y, eta=1.0, sparsity=1)
    assert not spectrum(nothing, 2).level(2).factor.any()
    assert best_response(nothing, 2).lower_bound == pytest.approx(5 / 3)
    tiny = SparseQP.from_data(np.full((3, 4), 1e-142), y, eta=1.0, sparsity=1)
    assert not spectrum(tiny, 2).level(1).factor.any()


def test_a_level_that_does_not_fit_into_memory(monkeypatch):
    problem, _ = both(*data(12, 40))
    monkeypatch.setattr(streamed, "MAX_BYTES", 8.0 * 52 * 5)
    assert len(spectrum(problem, 5)) == 5
    for level in (6, None):
        with pytest.raises(ParameterError, match="`level` must be at most 5 for so"):
            best_response(problem, level)


def test_rows_of_tall_data_are_not_torn_apart():
    """Row by row data are read in pieces of rows; products with ``X`` need all."""
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((90, 20)), rng.standard_normal((90, 3))
    sizes = BlockSizes(entries=300, min_width=8)
    form = StreamedForm.read(X, rng.standard_normal(90), sizes)
    assert form._block_shape()[1] < 90
    np.testing.assert_allclose(form.outer, X @ X.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(form.apply_outer(R), X @ (X.T @ R), rtol=1e-11)
    np.testing.assert_allclose(form.correlate(R), X.T @ R, rtol=1e-11, atol=1e-12)
