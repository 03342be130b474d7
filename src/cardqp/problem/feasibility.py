"""Violations of the constraints at a point."""

from dataclasses import dataclass

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation, relative to the terms of its row, of a point called feasible."""

SOLVED_TOLERANCE = 1e-9
"""Largest violation aimed at for points that are computed here; and how far beyond it
rows must contradict each other for a problem to be called infeasible."""


@dataclass(frozen=True, slots=True)
class Feasibility:
    """The largest violation of each kind of constraint at a point; 0 where it holds.

    Attributes
    ----------
    rows, equalities : float
        Largest violation of ``A x <= b`` and ``A_eq x = b_eq``, relative to the terms
        of the row, ``sum_j |a_ij x_j| + |b_i|``.
    bounds : float
        Largest violation of the bounds, relative to ``|x_j|``.
    cardinality : int
        Nonzeros in excess of the sparsity.
    is_independent : bool
        Whether the columns of the nonzeros are independent, where that matters: see
        :func:`cardqp.bounds.positive_ridge.counted`.
    """

    rows: float
    equalities: float
    bounds: float
    cardinality: int
    is_independent: bool = True

    @property
    def worst(self) -> float:
        """The largest of the relative violations of rows and bounds."""
        return max(self.rows, self.equalities, self.bounds)

    def holds(self, tolerance: float = FEASIBILITY_TOLERANCE) -> bool:
        """Whether the point is feasible to a relative tolerance."""
        is_allowed = self.cardinality == 0 and self.is_independent
        return is_allowed and self.worst <= tolerance
