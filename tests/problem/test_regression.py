import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from cardqp import ProblemError, SparseQP
from cardqp.quadratic import Factor


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
