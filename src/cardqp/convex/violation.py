"""The least violation of the rows, and the multipliers that prove it.

Elastic rows always have a solution: minimise the total violation.  If the minimum is
positive, its dual solution is a Farkas ray of the original rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.problem import SparseQP
from cardqp.rows import Rows
from cardqp.sparsity import Choice

LP_TOLERANCE = 1e-7
"""Feasibility tolerance of the linear programming solver."""


@dataclass(frozen=True, slots=True)
class Violation:
    """How far the rows are from being satisfiable in a branch.

    Attributes
    ----------
    total : float
        The least total violation of the rows, each scaled to unit length and all to
        right-hand sides of at most one.
    ray : (m,) array
        Multipliers of the rows that prove it, in the rows' own units.
    switches : (n,) array
        How much each variable is switched on at the point of least violation; those
        without bounds count as switched on where they are not zero.
    """

    total: float
    ray: FloatArray
    switches: FloatArray


def least_violation(problem: SparseQP, choice: Choice) -> Violation:
    """How far the rows are from being satisfiable in a branch.

    Parameters
    ----------
    problem : SparseQP
        The problem.
    choice : Choice
        The branch; its limit is relaxed to fractional switches.

    """
    allowed = np.flatnonzero(~choice.outside if choice.slots > 0 else choice.inside)
    rows, scale = problem.rows.restrict(allowed).scaled()
    size = float(np.abs(rows.rhs).max(initial=0.0)) or 1.0
    rows = Rows(rows.matrix, rows.rhs / size, rows.is_equality)
    lower, upper = problem.lower[allowed] / size, problem.upper[allowed] / size
    is_switched = choice.free[allowed] & (np.isfinite(lower) | np.isfinite(upper))
    owners = _owners(choice.narrow(allowed), is_switched)
    links, link_rhs = _switch_rows(lower, upper, is_switched, owners, choice.slots)
    inequality = ~rows.is_equality
    m, e = int(inequality.sum()), int(rows.is_equality.sum())
    p = int(owners.max(initial=-1)) + 1
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
    switches = np.zeros(problem.n)
    if result.status != 0:
        return Violation(0.0, np.zeros(len(rows)), switches)
    switches[allowed] = np.abs(result.x[: len(allowed)]) > LP_TOLERANCE
    switches[allowed[is_switched]] = result.x[len(allowed) :][owners]
    ray = np.empty(len(rows))
    ray[inequality] = -result.ineqlin.marginals[:m]
    ray[~inequality] = -result.eqlin.marginals
    ray = _polish(ray, rows, lower, upper) / scale
    return Violation(float(result.fun), ray, switches)


def _polish(
    ray: FloatArray, rows: Rows, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Remove what rounding has left of the ray on unbounded variables.

    There the combined rows must vanish; the least change of the multipliers in use
    that makes them do so is of the order of the rounding errors.
    """
    slope = rows.matrix.T @ ray
    open_side = np.where(slope > 0, np.isinf(lower), np.isinf(upper))
    columns = rows.matrix[:, open_side]
    used = np.abs(ray) > LP_TOLERANCE
    if not columns.size or not used.any():
        return ray
    change = np.linalg.lstsq(columns[used].T, slope[open_side], rcond=None)[0]
    polished = np.where(used, ray, 0.0)
    polished[used] -= change
    return polished


def _owners(choice: Choice, is_switched: BoolArray) -> IntArray:
    """The number of the switch of each variable that has one; blocks share theirs."""
    labels = np.flatnonzero(is_switched)
    if choice.blocks is not None:
        labels = choice.blocks.labels[is_switched]
    return np.unique(labels, return_inverse=True)[1]


def _switch_rows(
    lower: FloatArray,
    upper: FloatArray,
    is_switched: BoolArray,
    owners: IntArray,
    slots: int,
) -> tuple[Any, FloatArray]:
    """Rows ``lower z <= x <= upper z`` of bounded variables and ``sum z <= slots``."""
    count, width = len(owners), int(owners.max(initial=-1)) + 1
    places = np.arange(count), owners
    own = scipy.sparse.csr_matrix((np.ones(count), places), shape=(count, width))
    pick = scipy.sparse.eye(len(lower), format="csr")[np.flatnonzero(is_switched)]
    low, high = lower[is_switched], upper[is_switched]
    above, below = np.isfinite(high), np.isfinite(low)
    rows = scipy.sparse.bmat(
        [
            [
                pick[above],
                -scipy.sparse.diags(np.where(above, high, 0.0)).tocsr()[above] @ own,
            ],
            [
                -pick[below],
                scipy.sparse.diags(np.where(below, low, 0.0)).tocsr()[below] @ own,
            ],
            [
                scipy.sparse.csr_matrix((1, len(lower))),
                scipy.sparse.csr_matrix(np.ones((1, own.shape[1]))),
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
