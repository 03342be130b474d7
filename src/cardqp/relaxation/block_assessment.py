"""The bound and the fixings that a dual point proves for a node, with blocks."""

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem


def assess_blocks(
    problem: SparseQP,
    status: IntArray,
    points: FloatArray,
    betas: FloatArray,
    cutoff: float,
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """Bound nodes and fix variables, where blocks of variables share a switch.

    Returns what :func:`cardqp.relaxation.assessment.assess` does, for dual points in
    the problem's units.  It is not compiled: relaxations with blocks, by interior
    points, take far longer.
    """
    nodes = [
        _assess_node(problem, *node, cutoff)
        for node in zip(status, points, betas, strict=True)
    ]
    values, least, decided, on, off, costs = (
        np.array(part) for part in zip(*nodes, strict=True)
    )
    return values, least, decided, on, off, costs


def _assess_node(
    problem: SparseQP,
    status: IntArray,
    point: FloatArray,
    beta: FloatArray,
    cutoff: float,
) -> tuple[float, float, IntArray, FloatArray, FloatArray, FloatArray]:
    """The same for one node."""
    subproblem = Subproblem.of_status(status, problem.rule)
    bound = tangent_bound(problem, point, beta)
    value, decided = bound.value(subproblem), status.copy()
    on, off = bound.fixing_bounds(subproblem)
    is_out = subproblem.undecided & (on >= cutoff)
    is_in = subproblem.undecided & (off >= cutoff) & ~is_out
    decided[is_out], decided[is_in] = -1, 1
    closed = np.concatenate([on[is_out], off[is_in]])
    return value, closed.min(initial=np.inf), decided, on, off, bound.costs
