import numpy as np
import pytest

from cardqp.exceptions import ParameterError
from experiments.datasets import Table


def table(rows=11):
    rng = np.random.default_rng(3)
    X = rng.normal(5.0, [1e-3, 1.0, 1e4], (rows, 3))
    return Table("t", X, rng.normal(-2.0, 7.0, rows), ("a", "b", "c"), "y", "made up")


def test_split_is_the_papers():
    data = table()
    split = data.split(seed=4)
    scaled = (data.X - data.X.min(0)) / (data.X.max(0) - data.X.min(0))
    target = (data.y - data.y.min()) / (data.y.max() - data.y.min())
    rows = np.random.default_rng(4).permutation(11)
    np.testing.assert_array_equal(split.X_train, scaled[rows[:7]])
    np.testing.assert_array_equal(split.y_train, target[rows[:7]])
    np.testing.assert_array_equal(split.X_test, scaled[rows[7:]])
    np.testing.assert_array_equal(split.y_test, target[rows[7:]])


def test_extremes_are_over_all_rows():
    split = table().split(seed=0)
    X = np.vstack([split.X_train, split.X_test])
    np.testing.assert_array_equal(X.min(axis=0), 0.0)
    np.testing.assert_array_equal(X.max(axis=0), 1.0)


def test_seed_decides():
    data = table(50)
    first, again, other = (data.split(seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.X_train, other.X_train)


def test_constant_columns_become_zero():
    data = Table("t", np.full((4, 1), 3.0), np.arange(4.0), ("a",), "y", "made up")
    np.testing.assert_array_equal(data.split(0).X_train, 0.0)


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_seed_must_be_a_whole_number(seed):
    with pytest.raises(ParameterError, match="`seed` must be an integer"):
        table().split(seed)
