"""The steps of a proof at the root: dual points, and changes of view."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.bounds.tangent_bound import SeparableBound, tangent_bound
from cardqp.problem import SparseQP


def is_array(value: Any, kind: str, ndim: int) -> bool:
    """Whether something is an array of signed integers ("i") or floats ("f")."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == kind
        and value.ndim == ndim
    )


@dataclass(frozen=True, slots=True)
class DualProof:
    """A dual point: tangent point of the form (sparse) and row multipliers."""

    index: IntArray
    value: FloatArray
    beta: FloatArray

    @classmethod
    def at(cls, tangent_point: FloatArray, beta: FloatArray) -> "DualProof":
        """The proof by Theorem 1 at a tangent point."""
        index = np.flatnonzero(tangent_point)
        return cls(index, tangent_point[index], beta)

    def bound(self, problem: SparseQP) -> SeparableBound:
        """Theorem 1 at this point; a point that makes no sense proves nothing."""
        if not self._fits(problem):
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
        )


@dataclass(frozen=True, slots=True)
class Reduction:
    """From here on only some variables count, and Q is split in another way.

    Attributes
    ----------
    kept : int array
        The variables that are not switched off; from here on they are numbered in this
        order.
    moved : (len(kept),) array or None
        A diagonal of Q that joins the ridge.
    minorant : (len(kept), len(kept)) array or None
        A matrix that takes the place of Q, less what is moved, in the problem as given:
        see :mod:`cardqp.bounds.sparse_minorant`.
    """

    kept: IntArray
    diagonal_shift: FloatArray | None = None
    minorant: FloatArray | None = None

    def is_sound(self) -> bool:
        """Whether the arrays are arrays of the right kind."""
        return (
            is_array(self.kept, "i", 1)
            and (self.diagonal_shift is None or is_array(self.diagonal_shift, "f", 1))
            and (self.minorant is None or is_array(self.minorant, "f", 2))
        )

    def apply(self, problem: SparseQP, original: SparseQP) -> SparseQP:
        """The problem as seen from here on, from how it was seen and how it was given.

        A minorant starts anew from the problem as given: nothing else is left of how it
        was seen before.
        """
        fewer = (problem if self.minorant is None else original).restrict(self.kept)
        if self.diagonal_shift is not None:
            fewer = fewer.move_to_ridge(self.diagonal_shift)
        if self.minorant is not None:
            fewer = sparse_minorant(fewer, self.minorant)
        return fewer
