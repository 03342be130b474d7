"""Points with independent nonzeros, where only these count."""

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import SupportFit, fit_support


def thinned(problem: SparseQP, fit: SupportFit) -> SupportFit:
    """The fit, or one on fewer variables if its nonzeros are dependent.

    Along a dependence the objective is flat: it is followed until a nonzero vanishes,
    which costs nothing (docs/theory.md#no-ridge), and what is left is fitted again.
    """
    while fit.x is not None and not problem.is_independent(fit.x):
        nonzeros = np.flatnonzero(fit.x)
        G = problem.quadratic.block(nonzeros) + np.diag(problem.ridge[nonzeros])
        leaving = first_to_vanish(G, fit.x[nonzeros])
        fit = fit_support(problem, np.delete(nonzeros, leaving))
    return fit


def first_to_vanish(G: FloatArray, x: FloatArray) -> int:
    """The first entry to vanish along the direction in which a form curves least.

    Examples
    --------
    >>> first_to_vanish(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([3.0, 1.0]))
    1
    """
    curvature = G.diagonal()
    unit = 1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    _, vectors = scipy.linalg.eigh(
        unit[:, None] * G * unit, subset_by_index=[0, 0], check_finite=False
    )
    # It is the one that changes most for its size: it vanishes in one of the two
    # directions, and no other one before it.
    return int(np.abs(unit * vectors[:, 0] / x).argmax())
