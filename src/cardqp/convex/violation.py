"""The least violation of the rows, and the multipliers that prove it.

Elastic rows always have a solution: minimise the total violation.  If the minimum is
positive, its dual solution is a Farkas ray of the original rows.
"""

from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

from cardqp._typing import BoolArray, FloatArray
from cardqp.problem import SparseQP
from cardqp.sparsity import Choice


def least_violation(problem: SparseQP, choice: Choice) -> tuple[float, FloatArray]:
    """How far the rows are from being satisfiable in a branch, and a ray.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    choice : Choice
        The branch; its limit is relaxed to fractional switches.

    Returns
    -------
    violation : float
        The least total violation of the rows, each scaled to unit length.
    ray : (m,) array
        Multipliers of the rows, in the rows' own units.
    """
    allowed = np.flatnonzero(~choice.outside if choice.slots > 0 else choice.inside)
    rows, scale = problem.rows.restrict(allowed).scaled()
    lower, upper = problem.lower[allowed], problem.upper[allowed]
    is_switched = choice.free[allowed] & (np.isfinite(lower) | np.isfinite(upper))
    links, link_rhs = _switch_rows(lower, upper, is_switched, choice.slots)
    inequality = ~rows.is_equality
    m, e = int(inequality.sum()), int(rows.is_equality.sum())
    p = int(is_switched.sum())
    # Variables: x, z, excess of inequalities (m), excess of equalities (e, e).
    above = _block([rows.matrix[inequality], p, -scipy.sparse.eye(m), 2 * e])
    equal = _block(
        [rows.matrix[~inequality], p + m, -scipy.sparse.eye(e), scipy.sparse.eye(e)]
    )
    linked = _block([links, m + 2 * e])
    low = np.concatenate(
        [np.where(is_switched, -np.inf, lower), np.zeros(p + m + 2 * e)]
    )
    high = np.concatenate(
        [np.where(is_switched, np.inf, upper), np.ones(p), np.full(m + 2 * e, np.inf)]
    )
    result = scipy.optimize.linprog(
        np.repeat([0.0, 1.0], [len(allowed) + p, m + 2 * e]),
        A_ub=scipy.sparse.vstack([above, linked]),
        b_ub=np.concatenate([rows.rhs[inequality], link_rhs]),
        A_eq=equal,
        b_eq=rows.rhs[~inequality],
        bounds=np.column_stack([low, high]),
        method="highs",
    )
    if result.status != 0:
        return 0.0, np.zeros(len(rows))
    ray = np.empty(len(rows))
    ray[inequality] = -result.ineqlin.marginals[:m]
    ray[~inequality] = -result.eqlin.marginals
    return float(result.fun), ray / scale


def _switch_rows(
    lower: FloatArray, upper: FloatArray, is_switched: BoolArray, slots: int
) -> tuple[Any, FloatArray]:
    """Rows ``lower z <= x <= upper z`` of bounded variables and ``sum z <= slots``."""
    pick = scipy.sparse.eye(len(lower), format="csr")[np.flatnonzero(is_switched)]
    low, high = lower[is_switched], upper[is_switched]
    above, below = np.isfinite(high), np.isfinite(low)
    rows = scipy.sparse.bmat(
        [
            [
                pick[above],
                -scipy.sparse.diags(np.where(above, high, 0.0)).tocsr()[above],
            ],
            [
                -pick[below],
                scipy.sparse.diags(np.where(below, low, 0.0)).tocsr()[below],
            ],
            [
                scipy.sparse.csr_matrix((1, len(lower))),
                scipy.sparse.csr_matrix(np.ones((1, len(low)))),
            ],
        ]
    )
    return rows, np.append(np.zeros(int(above.sum() + below.sum())), max(slots, 0))


def _block(row: list[Any]) -> Any:
    """A sparse block row; an integer stands for that many zero columns."""
    height = next(block.shape[0] for block in row if not isinstance(block, int))
    return scipy.sparse.hstack(
        [
            scipy.sparse.csr_matrix((height, block))
            if isinstance(block, int)
            else scipy.sparse.csr_matrix(block)
            for block in row
        ]
    )
