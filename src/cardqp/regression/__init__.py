"""Sparse linear models on moments of the data: fit, compare, choose, explain."""

from cardqp.regression.criteria import CRITERIA, criterion
from cardqp.regression.cross_validation import CrossValidation, cross_validate
from cardqp.regression.design import Design, ScaledProblem
from cardqp.regression.error_bound import about_error
from cardqp.regression.fold_models import compare_models
from cardqp.regression.least_squares import least_squares
from cardqp.regression.summary import Summary, summarise

__all__ = [
    "CRITERIA",
    "CrossValidation",
    "Design",
    "ScaledProblem",
    "Summary",
    "about_error",
    "compare_models",
    "criterion",
    "cross_validate",
    "least_squares",
    "summarise",
]
