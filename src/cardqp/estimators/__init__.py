"""Sparse regression for scikit-learn, with a proof of how good the choice is."""

from cardqp.estimators.best_subset import BestSubset
from cardqp.estimators.ridge import SparseRidge
from cardqp.estimators.ridge_cv import SparseRidgeCV
from cardqp.estimators.ridge_path import SparseRidgePath
from cardqp.estimators.stability import StabilitySelection, stability_selection

__all__ = [
    "BestSubset",
    "SparseRidge",
    "SparseRidgeCV",
    "SparseRidgePath",
    "StabilitySelection",
    "stability_selection",
]
