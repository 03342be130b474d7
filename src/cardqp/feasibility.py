"""How far a point is from being feasible."""

from dataclasses import dataclass

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation, relative to the terms of its row, of a point called feasible."""


@dataclass(frozen=True, slots=True)
class Feasibility:
    """How far a point is from meeting each kind of constraint; 0 means it does.

    Attributes
    ----------
    rows, equalities : float
        Largest violation of ``A x <= b`` and ``A_eq x = b_eq``, relative to the
        larger of ``|b_i|`` and ``max_j |a_ij| max_j |x_j|``.
    bounds : float
        Largest violation of the bounds, relative to ``|x_j|``.
    cardinality : int
        Nonzeros in excess of the sparsity.
    """

    rows: float
    equalities: float
    bounds: float
    cardinality: int

    @property
    def worst(self) -> float:
        """The largest of the relative violations of rows and bounds."""
        return max(self.rows, self.equalities, self.bounds)

    def holds(self, tolerance: float = FEASIBILITY_TOLERANCE) -> bool:
        """Whether the point is feasible to a relative tolerance."""
        return self.cardinality == 0 and self.worst <= tolerance
