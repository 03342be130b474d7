"""A certified diagonal below ``Q`` and the ridge together, which need no ridge at all.

What divides by the least curvature of ``G = Q + diag(ridge)`` may use any ``w > 0``
with ``G >= diag(w)`` in the order of forms.  The ridge is one, but a weak one makes too
much of rounding; part of the diagonal of ``Q`` can be moved to it first
(docs/theory.md#moved-diagonal).
"""

import math

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.arithmetic.rounding import eigenvalue_margin
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP

ENOUGH = 1e4
"""The ridge is taken as it is if curvatures exceed it by no more than this factor:
rounding is then far below every gap that is asked for."""

MOST_DECOMPOSED = 1000
"""The most variables for which an eigenvalue is computed: a fraction of a
second."""

SHARE = 0.9
"""The share of the least eigenvalue that is moved; what is left is clearly definite."""


def definite_diagonal(problem: SparseQP) -> FloatArray | None:
    """Return a ``w > 0`` with ``Q + diag(ridge) >= diag(w)``, in spite of rounding.

    Of two such diagonals, the ridge and what it becomes once a share of the diagonal of
    ``Q`` is moved to it, the one that is larger relative to the curvatures; None if
    neither is positive.  Rows and bounds play no part.

    Examples
    --------
    >>> Q = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> problem = SparseQP(Q, np.ones(2), eta=1e12, sparsity=1)
    >>> definite_diagonal(problem).round(3)
    array([0.9, 0.9])
    """
    own = problem.ridge - problem.quadratic.psd_violation
    if condition(problem, own) <= ENOUGH or problem.n > MOST_DECOMPOSED:
        best = own
    else:
        moved = _moved(problem)
        is_better = condition(problem, moved) < condition(problem, own)
        best = moved if is_better else own
    return best if (best > 0).all() else None


def condition(problem: SparseQP, diagonal: FloatArray | None) -> float:
    """Return the largest curvature relative to a diagonal; infinite if one is not > 0.

    The curvatures are the diagonal of ``Q`` with the ridge.
    """
    if diagonal is None or not (diagonal > 0).all():
        return np.inf
    curvature = np.abs(problem.quadratic.diagonal) + problem.ridge
    return float((curvature / diagonal).max(initial=1.0))


def shifted(problem: SparseQP) -> SparseQP | None:
    """Return the equal problem with a share of an eigenvalue shift moved to the ridge.

    None if ``Q`` is not certainly positive definite.
    """
    form = problem.quadratic
    curvature = np.abs(form.diagonal)
    unit = 1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    scaled = unit[:, None] * form.dense() * unit
    extremes = scipy.linalg.eigvalsh(scaled, check_finite=False)[[0, -1]]
    least = float(extremes[0] - eigenvalue_margin(problem.n) * extremes[1])
    if not least > 0:
        return None
    try:
        # This is the proof: a factorisation of what is left of Q.
        return problem.move_to_ridge(SHARE * _few_digits(least) * curvature)
    except ProblemError:
        return None


def _few_digits(value: float) -> float:
    """A positive number rounded down to twelve binary digits.

    The last digits of an eigenvalue differ from machine to machine; what is proved with
    it must not.
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(4096.0 * mantissa), exponent - 12)


def _moved(problem: SparseQP) -> FloatArray:
    """The ridge with a share of the diagonal of ``Q``, less what rounding may cost."""
    moved = shifted(problem)
    if moved is None:
        return np.zeros(problem.n)
    return np.asarray(moved.ridge - moved.quadratic.psd_violation)
