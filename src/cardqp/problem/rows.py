"""Linear rows: A x <= b and A_eq x = b_eq as one block."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """``matrix @ x <= rhs``, with equality where ``is_equality``.

    Multipliers ``beta`` belong to these rows in this order: inequalities first.
    They are nonnegative on inequalities and free on equalities.
    """

    matrix: FloatArray
    rhs: FloatArray
    is_equality: BoolArray

    @classmethod
    def stack(
        cls, A: FloatArray, b: FloatArray, A_eq: FloatArray, b_eq: FloatArray
    ) -> "Rows":
        """Put inequalities on top of equalities."""
        is_equality = np.repeat([False, True], [len(b), len(b_eq)])
        rows = cls(np.vstack([A, A_eq]), np.concatenate([b, b_eq]), is_equality)
        for array in (rows.matrix, rows.rhs, rows.is_equality):
            array.setflags(write=False)
        return rows

    def __len__(self) -> int:
        return len(self.rhs)

    def restrict(self, indices: IntArray) -> "Rows":
        """Rows on some of the variables, all others being zero."""
        return Rows(
            np.ascontiguousarray(self.matrix[:, indices]), self.rhs, self.is_equality
        )

    def with_rhs(self, rhs: FloatArray) -> "Rows":
        """Rows with this matrix and another right-hand side."""
        rhs.setflags(write=False)
        return Rows(self.matrix, rhs, self.is_equality)

    def scaled(self) -> tuple["Rows", FloatArray]:
        """Rows divided by powers of two near their norms, and those powers.

        Powers of two make the scaling exact: multipliers of the scaled rows divided
        by the powers are multipliers of the original rows.
        """
        norms = np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix))
        scale = power_of_two(np.where(norms > 0, norms, 1.0))
        return Rows(
            self.matrix / scale[:, None], self.rhs / scale, self.is_equality
        ), scale

    def violation(self, x: FloatArray) -> FloatArray:
        """The absolute violation of each row at ``x``; 0 where the row holds."""
        excess = self.matrix @ x - self.rhs
        return np.where(self.is_equality, np.abs(excess), np.maximum(excess, 0.0))

    def magnitude(self, x: FloatArray) -> FloatArray:
        """The terms of each row at ``x`` added up: the yardstick for a violation."""
        support = np.flatnonzero(x)
        terms: FloatArray = np.abs(self.matrix[:, support]) @ np.abs(x[support])
        return np.abs(self.rhs) + terms

    def project(self, beta: FloatArray) -> FloatArray:
        """The nearest valid multipliers."""
        return np.where(self.is_equality, beta, np.maximum(beta, 0.0))


def power_of_two(values: FloatArray) -> FloatArray:
    """The power of two below each positive value."""
    exponent = np.frexp(values)[1] - 1
    return np.asarray(np.ldexp(1.0, exponent), dtype=np.float64)
