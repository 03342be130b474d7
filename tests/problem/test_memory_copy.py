"""Data that are kept as they are, solved in memory: claims are about the data."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from cardqp import ProblemError, Solution, SparseQP, solve
from cardqp.arithmetic.rounding import UNIT_ROUNDOFF
from cardqp.problem import in_memory
from cardqp.problem.column_blocks import ROWS_PER_SUM
from cardqp.problem.quadratic import Factor, Gram
from cardqp.problem.streamed_form import StreamedForm
from tests.problems import enumerate_optimum

FORMATS = {
    "array": np.asarray,
    "single": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "sparse": scipy.sparse.csr_array,
}

SETTINGS = {
    "free": {},
    "price": {"penalty": 0.01},
    "bounds": {"lower": -0.7, "upper": 1.5},
    "rows": {"A": np.ones((1, 7)), "b": [0.5]},
    "thresholds": {"lower": 0.05, "upper": 3.0},
    "groups": {"groups": [0, 0, 1, 1, 1, -1, -1], "group_sparsity": 1},
    "blocks": {"blocks": [0, 0, 1, 1, 2, 3, 4]},
}


def draw(seed, n_samples, n=7):
    """Columns far from zero, which nearly explain the target: objectives cancel."""
    rng = np.random.default_rng(seed)
    X = 20.0 + rng.standard_normal((n_samples, n))
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + 1e-3 * rng.standard_normal(n_samples)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("n_samples", [1, 4, 30])
def test_solutions_hold_for_the_data_they_are_of(settings, form, n_samples, tmp_path):
    X, y = draw(n_samples, n_samples)

    def make():
        data = FORMATS[form](X)
        return SparseQP.from_data(data, y, eta=1e3, sparsity=3, **SETTINGS[settings])

    problem = make()
    solution = solve(problem)
    assert solution.problem is problem
    solution.save(tmp_path / "s.npz")
    found = Solution.load(tmp_path / "s.npz", make()).verify()
    assert found.complaints == ()
    assert found.lower_bound >= solution.lower_bound
    optimum, _ = enumerate_optimum(problem)
    assert solution.lower_bound <= optimum + 1e-9 * problem.constant


def test_a_search_goes_on_from_the_data(tmp_path):
    X, y = draw(0, 30)
    problem = SparseQP.from_data(X, y, eta=1e3, sparsity=3, lower=0.0)
    start = solve(problem, node_limit=1, gap=0.0)
    start.save(tmp_path / "s.npz")
    again = SparseQP.from_data(X, y, eta=1e3, sparsity=3, lower=0.0)
    done = solve(again, resume=Solution.load(tmp_path / "s.npz", again))
    assert done.verify().ok
    assert done.problem is again


def exact_gram(X):
    rows = [[Fraction(float(v)) for v in row] for row in X]
    n = X.shape[1]
    return [
        [sum(r[i] * r[j] for r in rows) / len(rows) for j in range(n)] for i in range(n)
    ]


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csc_array])
@pytest.mark.parametrize("n_samples", [3, ROWS_PER_SUM + 7, 20 * ROWS_PER_SUM])
def test_the_matrix_knows_how_far_it_is_off(make, n_samples):
    X = np.full((n_samples, 3), 0.1)
    X[:, 1] += np.arange(n_samples) % 7
    X[::2, 2] = -0.3
    form = StreamedForm.read(make(X), np.ones(n_samples)).in_memory
    assert isinstance(form, Gram)
    exact = exact_gram(X)
    for i in range(3):
        for j in range(3):
            off = abs(Fraction(form.array[i, j]) - exact[i][j])
            unit = np.sqrt(form.diagonal[i] * form.diagonal[j])
            assert off <= form.formed * UNIT_ROUNDOFF * unit
    least = 3 * form.formed * UNIT_ROUNDOFF * form.diagonal
    assert (form.psd_violation >= least).all()
    assert form.restrict(np.array([0, 2])).formed == form.formed


def test_many_equal_rows_do_not_wear_a_bound_off():
    """Sums of many equal terms are rounded in the same direction again and again."""
    n_samples = 400_000
    X, y = np.full((n_samples, 1), 1.9), np.full(n_samples, 1.9)
    problem = SparseQP.from_data(X, y, eta=1e9, sparsity=1)
    solution = solve(problem, gap=0.0)
    square = Fraction(1.9) ** 2
    ridge = Fraction(float(problem.ridge[0]))
    slope = Fraction(float(problem.c[0]))
    optimum = Fraction(problem.constant) - slope**2 / (4 * (square + ridge))
    assert Fraction(solution.lower_bound) <= optimum


def test_a_wide_table_becomes_a_factor_once():
    X, y = draw(0, 4)
    problem = SparseQP.from_data(X, y, eta=1.0, sparsity=2)
    form = in_memory(problem).quadratic
    assert isinstance(form, Factor)
    assert in_memory(problem.with_limits(sparsity=1)).quadratic is form
    assert in_memory(in_memory(problem)).quadratic is form


@pytest.mark.parametrize("n_samples", [4, 30])
def test_tangents_at_many_points_are_those_at_each(n_samples):
    X, y = draw(1, n_samples)
    form = StreamedForm.read(X, y)
    points = np.random.default_rng(2).standard_normal((3, 7))
    together = form.tangent(points)
    for i, point in enumerate(points):
        one = form.tangent(point)
        np.testing.assert_allclose(together.slope[i], one.slope, rtol=1e-12)
        np.testing.assert_allclose(together.slope_error[i], one.slope_error)
        assert together.offset[i] == pytest.approx(one.offset)
        least = one.slope @ point - one.slope_error @ np.abs(point) - one.offset
        assert least <= form.value(point)


def test_a_diagonal_taken_out_of_data_pays_for_the_product():
    X, y = draw(0, 3000)
    problem = SparseQP.from_data(X, y, eta=1.0, sparsity=2)
    moved = problem.move_to_ridge(np.full(7, 0.01)).quadratic
    assert (moved.psd_violation >= 7 * 3000 * UNIT_ROUNDOFF * moved.diagonal).all()


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_the_matrix_is_symmetric(make):
    X, y = draw(3, 999)
    Q = in_memory(SparseQP.from_data(make(X), y, eta=1.0, sparsity=2)).Q
    np.testing.assert_array_equal(Q, Q.T)
    assert not Q.flags.writeable


def test_matrices_that_are_too_large_for_numbers():
    X, y = draw(0, 30)
    problem = SparseQP.from_data(1e60 * X, y, eta=1.0, sparsity=2)
    with pytest.raises(ProblemError, match=r"`X` must have mean squares below 1e\+100"):
        solve(problem)
