"""What a way to fit is worth on rows that it has not seen, the choice included."""

from collections.abc import Callable, Sequence

import numpy as np

from cardqp._typing import FloatArray
from cardqp.gram import Moments, mean_squared_error, merge
from cardqp.heuristics.support_path import point_path
from cardqp.regression.design import Design

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
    """Coefficients of a good choice of features, without a proof.

    Folds are to judge models, not to prove them.
    """
    scaled = design.scaled(rows, min(eta, WEAKEST), size)
    points = point_path(scaled.problem, size, smallest=size)
    # Features that depend on those inside are not chosen: fewer must do then.
    x = points[max(points)] if points else np.zeros(scaled.problem.n)
    if refit or eta > WEAKEST:
        return design.refitted(rows, scaled.chosen(x))
    return scaled.coefficients(x)
