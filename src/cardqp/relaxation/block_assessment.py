"""What a dual point proves about a branch of a problem with blocks."""

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Choice


def assess_blocks(
    problem: SparseQP,
    status: IntArray,
    anchor: FloatArray,
    beta: FloatArray,
    cutoff: float,
) -> tuple[float, float, IntArray, FloatArray, FloatArray, FloatArray]:
    """The same as ``assessment.assess``, for blocks and in the problem's units."""
    choice = Choice.of_status(status, problem.rule)
    bound = tangent_bound(problem, anchor, beta)
    value, decided = bound.value(choice), status.copy()
    on, off = bound.fixing_bounds(choice)
    is_out = choice.free & (on >= cutoff)
    is_in = choice.free & (off >= cutoff) & ~is_out
    decided[is_out], decided[is_in] = -1, 1
    closed = np.concatenate([on[is_out], off[is_in]])
    return value, closed.min(initial=np.inf), decided, on, off, bound.costs
