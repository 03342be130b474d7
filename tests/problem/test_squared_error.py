import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cardqp import ProblemError, SparseQP, Status, solve
from cardqp.problem.quadratic import Factor
from tests.streamed import exact


def regression_data(N, n):
    rng = np.random.default_rng(5)
    return rng.standard_normal((N, n)) + 1.0, rng.standard_normal(N)


@pytest.mark.parametrize("shape", [(30, 4), (5, 8)])
@pytest.mark.parametrize("kind", ["numpy", "pandas", "sparse", "float32"])
def test_regression_objective_is_the_penalised_mean_squared_error(shape, kind):
    X, y = regression_data(*shape)
    convert = {
        "numpy": np.asarray,
        "pandas": pd.DataFrame,
        "sparse": scipy.sparse.csr_matrix,
        "float32": lambda X: X.astype(np.float32),
    }[kind]
    problem = SparseQP.from_regression(convert(X), y, eta=3.0, sparsity=2)
    x = np.random.default_rng(1).standard_normal(shape[1])
    expected = np.mean((y - X @ x) ** 2) + x @ x / 3.0
    tolerance = 1e-6 if kind == "float32" else 1e-12
    assert problem.objective(x) == pytest.approx(expected, rel=tolerance)
    assert isinstance(problem.quadratic, Factor) == (shape[1] > shape[0])


def test_regression_keeps_column_names():
    X, y = regression_data(20, 3)
    frame = pd.DataFrame(X, columns=["age", "bmi", "bp"])
    problem = SparseQP.from_regression(frame, pd.Series(y), eta=1.0, sparsity=1)
    assert problem.names == ("age", "bmi", "bp")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((3, 2)), np.ones(4), "`X` and `y` must have the same number of rows"),
        (np.ones((0, 2)), np.ones(0), "at least one"),
        (np.ones((3, 0)), np.ones(3), "`X` must have columns"),
        (np.full((3, 2), np.nan), np.ones(3), r"`X` must be finite: X\[0, 0\]"),
        (np.ones((3, 2)), [1.0, np.nan, 1.0], r"`y` must be finite: y\[1\]"),
        (pd.DataFrame({"a": ["u", "v", "w"]}), np.ones(3), "`X` must hold numbers"),
    ],
)
def test_bad_regression_data(X, y, message):
    with pytest.raises(ProblemError, match=message):
        SparseQP.from_regression(X, y, eta=1.0, sparsity=1)


def test_bad_sparse_regression_data():
    X = scipy.sparse.csr_matrix(np.diag([1.0, np.nan]))
    with pytest.raises(ProblemError, match="`X` must be finite"):
        SparseQP.from_regression(X, np.ones(2), eta=1.0, sparsity=1)


MAKERS = [SparseQP.from_regression, SparseQP.from_data]


@pytest.mark.parametrize("make", MAKERS)
def test_data_that_cannot_be_used(make):
    X, y = regression_data(30, 4)
    settings = {"eta": 1.0, "sparsity": 2}
    masked = np.ma.masked_equal(X, X[3, 2])
    for rows in (masked, [*masked]):
        with pytest.raises(ProblemError, match="`X` must not be masked"):
            make(rows, y, **settings)
    with pytest.raises(ProblemError, match="`y` must not be masked"):
        make(X, np.ma.masked_equal(y, y[3]), **settings)
    with pytest.raises(ProblemError, match=r"`y` must be below 1e\+100"):
        make(X, 1e150 * y, **settings)
    with pytest.raises(ProblemError, match=r"`y` must have a mean square below 1e\+10"):
        make(X, 1e90 * y, **settings)


def test_masked_chunks_are_refused():
    X, y = regression_data(30, 4)
    array = pytest.importorskip("dask.array")
    chunks = array.from_array(np.ma.masked_equal(X, X[3, 2]), chunks=(30, 2))
    with pytest.raises(ProblemError, match="`X` must not be masked"):
        SparseQP.from_data(chunks, y, eta=1.0, sparsity=2)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("shape", [(30, 4), (5, 8)])
def test_targets_whose_squares_are_lost_are_refused(make, shape):
    X, y = regression_data(*shape)
    for scale in (1e-145, 1e-200, 1e-310):
        with pytest.raises(ProblemError, match=r"`y` must reach 1e-140 .* rescale it"):
            make(X, scale * y, eta=3.0, sparsity=2)
    assert solve(make(X, 0.0 * y, eta=3.0, sparsity=2)).objective == 0.0


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("shape", [(30, 4), (5, 8)])
@pytest.mark.parametrize("fewest", [0, 4000])
def test_small_targets_have_the_answers_of_large_ones(make, shape, fewest):
    method = exact(min_columns=fewest)
    X, y = regression_data(*shape)
    large = solve(make(X, y, eta=3.0, sparsity=2), method=method)
    small = solve(make(X, 2.0**-460 * y, eta=3.0, sparsity=2), method=method)
    assert small.status is Status.OPTIMAL
    assert small.support.tolist() == large.support.tolist()
    assert small.verify().ok
    for name in ("objective", "lower_bound"):
        expected = 2.0**-920 * getattr(large, name)
        assert getattr(small, name) == pytest.approx(expected, rel=1e-4, abs=0.0)
