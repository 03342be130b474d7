"""Data for examples and experiments."""

from cardqp.datasets.synthetic import SyntheticRegression, make_regression

__all__ = ["SyntheticRegression", "make_regression"]
