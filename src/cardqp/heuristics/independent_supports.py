"""Supports with independent columns, where only these count."""

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import SupportFit, fit_support


def thinned(problem: SparseQP, fit: SupportFit) -> SupportFit:
    """The fit, or one on fewer variables if its columns are dependent.

    Columns that others explain are left out: they hardly lower the objective.
    """
    if fit.x is None or problem.is_independent(fit.x):
        return fit
    nonzeros = np.flatnonzero(fit.x)
    G = problem.quadratic.block(nonzeros) + np.diag(problem.ridge[nonzeros])
    kept = nonzeros[independent_columns(G, 2.0 * len(nonzeros) * problem.independence)]
    return fit_support(problem, np.union1d(kept, problem.forced_in))


def independent_columns(G: FloatArray, least: float) -> IntArray:
    """Columns none of which the others explain but for a share of its square.

    By elimination, the column of which most is left always being the next.

    Examples
    --------
    >>> independent_columns(np.array([[1.0, 1.0], [1.0, 1.0]]), 0.1).tolist()
    [0]
    """
    rest, chosen = G.copy(), list[int]()
    curvature = np.where(G.diagonal() > 0, G.diagonal(), 1.0)
    for _ in range(len(G)):
        share = rest.diagonal() / curvature
        share[chosen] = 0.0
        best = int(share.argmax())
        if not share[best] > least:
            break
        chosen.append(best)
        rest = rest - np.outer(rest[:, best], rest[best]) / rest[best, best]
    return np.sort(np.array(chosen, dtype=np.intp))
