"""What a way to fit is worth on rows that it has not seen, the choice included."""

from collections.abc import Callable, Sequence

import numpy as np

from cardqp._typing import FloatArray
from cardqp.gram import Moments, mean_squared_error, merge
from cardqp.heuristics.local_search import grow_greedily, improve
from cardqp.regression.design import Design, ScaledProblem
from cardqp.subproblems.support_qp import fit_support

Fit = Callable[[Moments], Sequence[FloatArray]]
"""Coefficients on some rows; several, if there is a setting to be compared."""

WEAKEST = 1e6
"""The inverse of the weakest ridge to choose by: it keeps dependent features apart."""


def out_of_sample_errors(parts: Sequence[Moments], fit: Fit) -> FloatArray:
    """Mean squared errors on each part of models that are fitted to all others.

    Parameters
    ----------
    parts : sequence of Moments
        The folds, at least two.
    fit : callable
        Fits models to the moments of some rows, as many each time.

    Returns
    -------
    (models,) array
        Means over the rows, by their weights.
    """
    errors = []
    for k, part in enumerate(parts):
        others = merge([each for i, each in enumerate(parts) if i != k])
        errors.append(
            [
                mean_squared_error(
                    part, coef, others.target_mean - float(others.mean @ coef)
                )
                for coef in fit(others)
            ]
        )
    weights = [part.weight for part in parts]
    return np.asarray(np.average(np.array(errors), axis=0, weights=weights))


def choose_quickly(
    design: Design, rows: Moments, eta: float, size: int, *, refit: bool
) -> FloatArray:
    """Coefficients of a good choice of features: forward selection, then exchanges.

    Nothing is proved, which takes the time; folds are to judge models, not to prove
    them.
    """
    scaled = design.scaled(rows, min(eta, WEAKEST), size)
    x = _good_point(scaled)
    if refit or eta > WEAKEST:
        return design.refitted(rows, scaled.chosen(x))
    return scaled.coefficients(x)


def _good_point(scaled: ScaledProblem) -> FloatArray:
    problem = scaled.problem
    support = grow_greedily(problem, problem.forced_in)
    found = improve(problem, fit_support(problem, support))
    return np.zeros(problem.n) if found.x is None else found.x
