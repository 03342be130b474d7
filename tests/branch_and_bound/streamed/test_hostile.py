"""Awkward data just beyond the size from which they are streamed, against memory."""

import numpy as np
import pytest
import scipy.sparse

from cardqp import SparseQP, Status, solve
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS

N, COUNT = 40, DEFAULT_SETTINGS.min_columns + 100


def draw():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, COUNT))
    return X, 3.0 * X[:, 5] - 3.0 * X[:, 4001] + 0.2 * rng.standard_normal(N)


def doubled():
    X, y = draw()
    X[:, 1::2] = X[:, ::2]
    return X, y


def constant():
    X, y = draw()
    X[:, 10:2000] = 3.0
    return X, y + 1.0


def mostly_zero():
    X, y = draw()
    X[:, 10:4000] = 0.0
    return X, y


def orthogonal():
    X, _ = draw()
    X[-1] = 0.0
    return X, np.eye(N)[-1]


def scaled():
    X, y = draw()
    return X * np.where(np.arange(COUNT) % 2, 1e-6, 1.0), y


DATA = {
    "equal columns": lambda: (np.tile(draw()[0][:, :1], COUNT), draw()[1]),
    "pairs": doubled,
    "constant": constant,
    "zeros": mostly_zero,
    "all zeros": lambda: (np.zeros((N, COUNT)), draw()[1]),
    "orthogonal": orthogonal,
    "scales": scaled,
    "no target": lambda: (draw()[0], np.zeros(N)),
    "one row": lambda: (draw()[0][:1], draw()[1][:1]),
    "two rows": lambda: (draw()[0][:2], draw()[1][:2]),
}

SETTINGS = {
    "one": {"sparsity": 1},
    "none": {"sparsity": 0},
    "price": {"penalty": 0.5},
    "large price": {"penalty": 1e6},
    "bounds": {"sparsity": 2, "lower": -0.5, "upper": 0.5},
    "nothing but zero": {"sparsity": 2, "lower": 0.0, "upper": 0.0},
    "all places taken": {"sparsity": 2, "forced_in": [1, 4099]},
    "few are left": {"sparsity": 2, "forced_out": range(5, COUNT)},
    "one is left": {"sparsity": 2, "forced_out": range(1, COUNT)},
}

TYPES = {
    "half": lambda X: X.astype(np.float16),
    "big-endian": lambda X: X.astype(">f8"),
    "truth": lambda X: X > 0.5,
    "bytes": lambda X: np.round(20 * X).astype(np.int8),
    "backwards": lambda X: X[::-1, ::-1],
    "slices": lambda X: np.repeat(X, 2, axis=0)[::2],
    "shared": lambda X: np.broadcast_to(X[:, 5:6], X.shape),
    "COO": lambda X: scipy.sparse.coo_array(np.where(X > 1.0, X, 0.0)),
    "LIL": lambda X: scipy.sparse.lil_array(np.where(X > 1.0, X, 0.0)),
    "empty": lambda X: scipy.sparse.csr_array(X.shape),
}


def compare(X, y, **settings):
    settings = {"eta": 1.0, "sparsity": 2} | settings
    found = solve(SparseQP.from_data(X, y, **settings))
    dense = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
    other = solve(SparseQP.from_regression(dense.astype(float), y, **settings))
    assert found.certificate.is_streamed(found.problem)
    assert found.status is other.status is Status.OPTIMAL
    assert found.objective == pytest.approx(other.objective, rel=1e-4)
    assert found.lower_bound <= other.objective * (1 + 1e-12)
    assert found.verify().ok


@pytest.mark.parametrize("name", DATA)
def test_data(name):
    X, y = DATA[name]()
    compare(X, y, eta=0.2 if len(y) > 2 else 1.0)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name):
    compare(*draw(), **{"sparsity": None} | SETTINGS[name])


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    X, y = draw()
    compare(TYPES[name](X), y, eta=0.2)


def test_as_many_nonzeros_as_columns():
    """Not sparse at all, but it ends."""
    X, y = draw()
    problem = SparseQP.from_data(X, y, eta=1e-3, sparsity=COUNT)
    found = solve(problem, time_limit=0.0)
    assert 0.0 < found.lower_bound <= found.objective < y @ y / N
    assert found.verify().ok
