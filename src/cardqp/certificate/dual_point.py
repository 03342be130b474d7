"""The parts of a step in a proof: a dual point, and a reduction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import projection_unit
from cardqp.bounds.node_ridges import MinorantRest
from cardqp.bounds.residual_bound import Residual
from cardqp.bounds.row_shift import shift_by_row
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.bounds.tangent_bound import SeparableBound, tangent_bound
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem.streamed_form import StreamedForm

MAX_ENTRIES = 2**25
"""The most numbers, in residuals or in their products with all columns, that a pass
over streamed data holds at a time: 256 MB."""


def is_array(value: Any, kind: str, ndim: int) -> bool:
    """Return whether a value is an array of signed integers ("i") or floats ("f")."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == kind
        and value.ndim == ndim
    )


@dataclass(frozen=True, slots=True)
class DualPoint:
    """A dual point: a sparse tangent point of the form, and row multipliers.

    Attributes
    ----------
    index, value : arrays
        The nonzeros of the tangent point.
    beta : (m,) array
        Multipliers of the rows.
    scale : float
        The factor ``t`` of the residual of the point, for streamed data; it is 1 where
        the form is in memory.
    """

    index: IntArray
    value: FloatArray
    beta: FloatArray
    scale: float = 1.0

    @classmethod
    def at(cls, tangent_point: FloatArray, beta: FloatArray) -> "DualPoint":
        """Store a dense tangent point and multipliers."""
        index = np.flatnonzero(tangent_point)
        return cls(index, tangent_point[index], beta)

    def bound(self, problem: SparseQP) -> SeparableBound:
        """Evaluate Theorem 1 (docs/theory.md#theorem-1) at this dual point.

        A point that does not fit the problem gives the bound ``-inf``.
        """
        if not (self._fits(problem) and self.scale == 1.0):
            return SeparableBound(-np.inf, np.zeros(problem.n))
        tangent_point = np.zeros(problem.n)
        tangent_point[self.index] = self.value
        return tangent_bound(problem, tangent_point, self.beta)

    def _fits(self, problem: SparseQP) -> bool:
        return (
            is_array(self.index, "i", 1)
            and is_array(self.value, "f", 1)
            and is_array(self.beta, "f", 1)
            and len(self.index) == len(self.value)
            and bool(((self.index >= 0) & (self.index < problem.n)).all())
            and len(self.beta) == len(problem.rows)
            and bool(np.isfinite(self.value).all() and np.isfinite(self.beta).all())
            and 0.0 <= self.scale < np.inf
        )

    def residual(self, problem: SparseQP, form: StreamedForm) -> Residual:
        """Return the residual of the point, computed from the data.

        What is told from it is so for the exact residual, too.  That of a point that
        does not fit the problem is infinite, which proves nothing.
        """
        if not self._fits(problem):
            return Residual.of(form, np.full(form.n_samples, np.inf))
        lengths = np.sqrt(form.squares[self.index])
        size = float(np.abs(self.value) @ lengths) + float(np.linalg.norm(form.target))
        error = projection_unit(len(self.index)) * size
        vector = form.target - form.combine(self.index, self.value)
        return Residual.of(form, vector, error)


def points_in_pass(form: StreamedForm) -> int:
    """Return how many dual points a pass over the data serves."""
    return max(MAX_ENTRIES // max(form.n, 2 * form.n_samples), 1)


def residual_bounds(
    problem: SparseQP, form: StreamedForm, points: Sequence[DualPoint]
) -> Iterator[SeparableBound]:
    """Yield the bounds of Theorem 3 (docs/theory.md#theorem-3) at dual points.

    One pass over the data serves as many points as memory allows.  Raises
    ``ProblemError`` if the theorem is not about the problem: it is about single
    columns, and the squared error of the target.
    """
    is_plain = problem.groups is None and problem.blocks is None
    is_plain = is_plain and len(problem.rows) == 0
    if not (is_plain and form.is_regression(problem.c, problem.constant)):
        raise ProblemError("Residuals prove nothing about this problem.")
    batch = points_in_pass(form)
    for first in range(0, len(points), batch):
        some = points[first : first + batch]
        # Overflow ends in a bound of -inf, which is no reason to warn.
        with np.errstate(over="ignore", invalid="ignore"):
            residuals = [point.residual(problem, form) for point in some]
            R = np.column_stack([residual.finite_vector for residual in residuals])
            products = form.correlate(R)
        for column, (point, residual) in enumerate(zip(some, residuals, strict=True)):
            with np.errstate(over="ignore", invalid="ignore"):
                bound = residual.bound(problem, form, products[:, column], point.scale)
            yield bound


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reformulation at the root: fewer variables, or another split of Q.

    Attributes
    ----------
    kept : int array
        The variables that remain, which later steps number in this order.  All others
        must be fixed at zero.
    diagonal_shift : (len(kept),) array or None
        A diagonal that is moved from Q to the ridge (docs/theory.md#moved-diagonal).
    minorant : (len(kept), len(kept)) array or None
        A matrix that replaces Q less the diagonal shift, in the problem as given, in
        single or double precision: see :mod:`cardqp.bounds.sparse_minorant`.
    weights : (len(kept),) array or None
        Positive weights of the variables in the minorant; None if all are equal.
    drops_bounds : bool
        Whether bounds of variables are ignored from here on
        (docs/theory.md#dropped-bounds).
    row_shift : (len(kept),) array or None
        A vector by which the form is shifted along an equality row before the minorant
        replaces it (docs/theory.md#row-shift).
    """

    kept: IntArray
    diagonal_shift: FloatArray | None = None
    minorant: NDArray[np.floating[Any]] | None = None
    weights: FloatArray | None = None
    drops_bounds: bool = False
    row_shift: FloatArray | None = None

    def is_sound(self) -> bool:
        """Return whether the arrays have the right types and dimensions."""
        return (
            is_array(self.kept, "i", 1)
            and (self.diagonal_shift is None or is_array(self.diagonal_shift, "f", 1))
            and (self.minorant is None or is_array(self.minorant, "f", 2))
            and self._is_for_minorant(self.weights)
            and self._is_for_minorant(self.row_shift)
        )

    def _is_for_minorant(self, value: FloatArray | None) -> bool:
        """Return whether a vector comes with a minorant, or is not there."""
        return value is None or (self.minorant is not None and is_array(value, "f", 1))

    def apply(self, problem: SparseQP, original: SparseQP) -> SparseQP:
        """Return the problem that later dual points are evaluated at.

        The ``problem`` is that after the steps before this one, ``original`` the one
        that was given, on the same variables.
        """
        # A minorant brings its own split of Q, which replaces that of earlier steps, so
        # that it starts from the problem as given.
        base = self._base(problem if self.minorant is None else original)
        if self.minorant is None:
            return base
        return sparse_minorant(base, self.minorant, self.weights)

    def rest(self, original: SparseQP, minorant: SparseQP) -> MinorantRest | None:
        """Return what the minorant leaves of the form, by which nodes raise its ridge.

        The ``minorant`` is what :meth:`apply` returned.
        """
        return MinorantRest.of(self._base(original), minorant, self.weights)

    def _base(self, problem: SparseQP) -> SparseQP:
        """Return the problem before its form is replaced by a minorant."""
        fewer = problem.restrict(self.kept)
        if self.row_shift is not None:
            fewer = shift_by_row(fewer, self.row_shift)
        if self.diagonal_shift is not None:
            fewer = fewer.move_to_ridge(self.diagonal_shift)
        return fewer
