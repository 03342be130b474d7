"""Data for examples and experiments."""

from cardqp.datasets.synthetic import SyntheticRegression, make_regression
from cardqp.datasets.tables import Split, Table
from cardqp.datasets.uci import UCI_NAMES, load_uci

__all__ = [
    "UCI_NAMES",
    "Split",
    "SyntheticRegression",
    "Table",
    "load_uci",
    "make_regression",
]
