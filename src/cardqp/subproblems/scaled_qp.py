"""The quadratic program on a support, in the problem's units and in those of solvers.

Supports are small and there are many of them, so that what surrounds a solver would
take ten times as long as the solver itself: scaling and judging are compiled.
"""

import math
from typing import NamedTuple

import numpy as np

from cardqp._compiled import compiled_brief, inner
from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.problem import SparseQP
from cardqp.problem.rows import Rows
from cardqp.problem.validation import LARGEST

REPAIRS = 3
"""Least-squares corrections that are tried to make a point meet its rows."""

# The code of daqp for rows that are equations; compiled in.
_EQUALITY = 5


class SupportQP(NamedTuple):
    """``min c'x + x'Gx`` with rows and bounds, the variables being those of a support.

    Attributes
    ----------
    G : (k, k) array
        ``Q`` plus the ridge.
    c, lower, upper : (k,) arrays
        The linear cost and the bounds.
    matrix, rhs, is_equality : arrays
        The rows.
    """

    G: FloatArray
    c: FloatArray
    lower: FloatArray
    upper: FloatArray
    matrix: FloatArray
    rhs: FloatArray
    is_equality: BoolArray

    @classmethod
    def of(cls, problem: SparseQP, support: IntArray) -> "SupportQP":
        """Take what belongs to a support, as arrays that may be written to.

        Those that may not would be a type of its own for compiled functions.
        """
        rows = problem.rows
        G = np.ascontiguousarray(problem.quadratic.block(support))
        G.reshape(-1)[:: len(support) + 1] += problem.ridge.take(support)
        return cls(
            G,
            problem.c.take(support),
            problem.lower.take(support),
            problem.upper.take(support),
            rows.matrix.take(support, axis=1),
            rows.rhs.copy(),
            rows.is_equality.copy(),
        )

    def judged(self, part: FloatArray) -> tuple[FloatArray, float, float]:
        """The point within the bounds, its violation of rows, and its value.

        The violation is the largest one, relative to the terms of its row; infinite if
        the point is beyond all bounds.  The value has neither constant nor penalty.
        """
        return judge(*self, part)


class ScaledQP(NamedTuple):
    """``min x'Hx/2 + g'x`` in units in which curvatures, rows and x are about one.

    Variables are scaled to unit curvature and rows to unit length, so that the solvers'
    absolute tolerances mean something.

    Attributes
    ----------
    hessian, slope, matrix : arrays
        The objective and the rows.
    lower, upper : (k + m,) arrays
        Bounds of the variables, then of the rows.
    sense : (k + m,) array of int
        Which of them are equations, in the code of ``daqp``.
    unit, row_unit : arrays
        What variables are multiplied by, and multipliers of rows divided by, to be in
        the problem's units.
    """

    hessian: FloatArray
    slope: FloatArray
    matrix: FloatArray
    lower: FloatArray
    upper: FloatArray
    sense: IntArray
    unit: FloatArray
    row_unit: FloatArray

    @classmethod
    def of(cls, program: SupportQP, *, by_rows: bool) -> "ScaledQP":
        """Scale the program on a support.

        The size of ``x`` is estimated from the right-hand sides of the rows and the
        linear cost, or ``by_rows`` alone.  It never exceeds the bounds of the
        variables.
        """
        return cls(*scale(*program, by_rows))

    @property
    def rows(self) -> Rows:
        """The rows."""
        k = len(self.slope)
        return Rows(self.matrix, self.upper[k:], self.sense[k:] == _EQUALITY)

    @property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """The bounds of the variables."""
        k = len(self.slope)
        return self.lower[:k], self.upper[:k]

    def repaired(self, x: FloatArray) -> FloatArray:
        """Return a point nearby that meets the rows, if active bounds allow it."""
        rows, (lower, upper) = self.rows, self.box
        for _ in range(REPAIRS):
            excess = rows.matrix @ x - rows.rhs
            is_off = rows.is_equality | (excess > 0)
            may_move = (x > lower) & (x < upper)
            step = np.zeros(len(x))
            step[may_move] = np.linalg.lstsq(
                rows.matrix[np.ix_(is_off, may_move)], -excess[is_off], rcond=None
            )[0]
            x = np.clip(x + step, lower, upper)
        return x


@inner
def power_below(value: float) -> float:
    """The power of two below a positive value; see :func:`power_of_two`."""
    return math.ldexp(1.0, math.frexp(value)[1] - 1)


@compiled_brief
def scale(
    G: FloatArray,
    c: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    matrix: FloatArray,
    rhs: FloatArray,
    is_equality: BoolArray,
    by_rows: bool,
) -> tuple[
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
    IntArray,
    FloatArray,
    FloatArray,
]:
    """The fields of a :class:`ScaledQP`.

    Powers of two make the scaling exact: it adds no rounding errors of its own.
    """
    m, k = matrix.shape
    H, g, A = np.empty((k, k)), np.empty(k), np.empty((m, k))
    low, high = np.empty(k + m), np.empty(k + m)
    sense = np.zeros(k + m, dtype=np.int32)
    unit, row_unit = np.empty(k), np.empty(m)
    wanted, allowed = 0.0, 0.0
    for j in range(k):
        unit[j] = 1.0 / power_below(math.sqrt(G[j, j]))
        low[j], high[j] = lower[j] / unit[j], upper[j] / unit[j]
        allowed = max(allowed, abs(low[j]), abs(high[j]))
        if not by_rows:
            wanted = max(wanted, abs(unit[j] * c[j]))
        for i in range(j + 1):
            H[i, j] = 2.0 * unit[i] * G[i, j] * unit[j]
            H[j, i] = 2.0 * unit[j] * G[j, i] * unit[i]
    for i in range(m):
        square = 0.0
        for j in range(k):
            A[i, j] = matrix[i, j] * unit[j]
            square += A[i, j] * A[i, j]
        row_unit[i] = power_below(math.sqrt(square)) if square > 0.0 else 1.0
        high[k + i] = rhs[i] / row_unit[i]
        wanted = max(wanted, abs(high[k + i]))
    size = min(wanted, allowed)
    if size == 0.0:
        size = 1.0
    for i in range(m):
        for j in range(k):
            A[i, j] /= row_unit[i]
        high[k + i] /= size
        low[k + i] = high[k + i] if is_equality[i] else -np.inf
        sense[k + i] = _EQUALITY if is_equality[i] else 0
        row_unit[i] /= size
    for j in range(k):
        g[j] = unit[j] * c[j] / size
        low[j] /= size
        high[j] /= size
        unit[j] *= size
    return H, g, A, low, high, sense, unit, row_unit


@compiled_brief
def judge(
    G: FloatArray,
    c: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    matrix: FloatArray,
    rhs: FloatArray,
    is_equality: BoolArray,
    part: FloatArray,
) -> tuple[FloatArray, float, float]:
    """What :meth:`SupportQP.judged` returns."""
    m, k = matrix.shape
    x, worst, value = np.empty(k), 0.0, 0.0
    for j in range(k):
        x[j] = min(max(part[j], lower[j]), upper[j])
        if not abs(x[j]) < LARGEST:
            worst = np.inf
    for i in range(m):
        excess, terms = -rhs[i], abs(rhs[i])
        for j in range(k):
            term = matrix[i, j] * x[j]
            excess += term
            terms += abs(term)
        if is_equality[i]:
            excess = abs(excess)
        if excess > 0.0:
            worst = max(worst, excess / terms)
    for i in range(k):
        slope = c[i]
        for j in range(k):
            slope += G[i, j] * x[j]
        value += slope * x[i]
    return x, worst, value
