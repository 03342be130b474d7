import numpy as np

from cardqp.datasets import make_regression


def test_data_have_the_stated_covariance_and_noise():
    data = make_regression(
        40_000, 6, sparsity=3, correlation=0.6, snr=2.0, seed=1
    )  # fmt: skip
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(
        data.X.T @ data.X / 40_000, 0.6**distance, atol=0.03
    )  # fmt: skip
    signal = data.X @ data.coefficients
    noise = data.y - signal
    assert abs(signal.var() / noise.var() - 2.0) < 0.1
    assert set(data.coefficients[data.support]) <= {-1.0, 1.0}
    assert len(data.support) == 3


def test_seed_decides_everything():
    first, second = (make_regression(5, 4, sparsity=2, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
