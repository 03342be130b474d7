"""From rows to the ridge that they choose, and to the one solve that follows."""

from dataclasses import replace
from typing import Any

import numpy as np

from cardqp._iterate import Watch
from cardqp.estimators.linear_model import Sample
from cardqp.gram import Moments, merge
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP
from cardqp.regression.automatic_ridge import automatic_eta, ridge_folds
from cardqp.solution import Solution


def chosen_ridge(
    sample: Sample, sparsities: tuple[int, ...], watch: Watch
) -> tuple[Moments, float]:
    """The moments of all rows, and the ridge for models of some sizes."""
    weights = np.ones(len(sample.y)) if sample.weights is None else sample.weights
    folds = [rows for rows in ridge_folds(sample.X, sample.y) if weights[rows].any()]
    if not folds:
        return sample.moments(), np.inf
    parts = sample.parts(folds)
    return merge(parts), automatic_eta(parts, sample.design, sparsities, watch)


def solve_within(watch: Watch, problem: SparseQP, **settings: Any) -> Solution:
    """The solution of a problem in what a clock has left.

    Whoever stopped that clock stopped the solution.
    """
    callback = None if watch.callback is None else watch.relay
    limit = watch.seconds_left
    solution = solve(problem, time_limit=limit, callback=callback, **settings)
    if watch.is_unwanted and watch.stopped is not None:
        return replace(solution, stop=watch.stopped)
    return solution
