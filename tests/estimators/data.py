"""Data that estimators are tried on."""

import numpy as np


def regression(n_samples=80, n=12, seed=0):
    """Three of the columns matter; columns have different means and sizes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n)) * rng.uniform(0.5, 3.0, n) + 4.0
    y = X[:, [1, 4, 7]] @ [3.0, -1.0, 1.5] + rng.standard_normal(n_samples) + 3.0
    return X, y
