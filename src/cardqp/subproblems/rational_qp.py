r"""A small convex quadratic program in rational arithmetic: slow, and never wrong.

The dual active-set method of Goldfarb and Idnani (1983) starts from the minimiser
without constraints and adds violated ones one by one.  Every system is solved in
integers, so that neither units nor conditioning matter, and a program without a
feasible point ends with a Farkas ray: see Theorem 8 (docs/theory.md#theorem-8).

References
----------
Goldfarb and Idnani, "A numerically stable dual method for solving strictly convex
quadratic programs", Mathematical Programming 27 (1983) 1-33.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.arithmetic.rational import Vector, product, rounded, solve_exactly


@dataclass(frozen=True, slots=True)
class ExactQP:
    """``min x'Hx/2 + g'x`` with ``normals x <= rhs``, some rows being equalities.

    Attributes
    ----------
    hessian : (k, k) array
        Symmetric and positive definite.
    slope : (k,) array
        The vector ``g``.
    normals, rhs, is_equality : arrays
        The constraints, one in each row.
    """

    hessian: FloatArray
    slope: FloatArray
    normals: FloatArray
    rhs: FloatArray
    is_equality: BoolArray

    def solve(self) -> tuple[FloatArray | None, FloatArray]:
        """Return the minimiser and the multipliers, rounded to floats.

        Without a feasible point, return None and a Farkas ray.  Raises
        ``ZeroDivisionError`` if the Hessian is singular.
        """
        state = _State(self, solve_exactly(self.hessian, -self.slope))
        while (violated := state.most_violated()) is not None:
            if not state.add(*violated):
                return None, state.rounded_multipliers()
        return rounded(state.x), state.rounded_multipliers()


@dataclass(slots=True)
class _State:
    """A point that minimises the objective over the active set.

    ``used`` is the active set, whose normals are linearly independent, and
    ``multipliers`` are those of its constraints.
    """

    program: ExactQP
    x: Vector
    used: list[int] = field(default_factory=list)
    multipliers: Vector = field(default_factory=list)

    def most_violated(self) -> tuple[int, int] | None:
        """Return the constraint that is violated most, and the sign of its excess.

        Excesses are relative to the largest entry of the normal.  None if all hold.
        """
        program, worst, found = self.program, Fraction(0), None
        for i, normal in enumerate(program.normals):
            excess = product(normal, self.x) - Fraction(program.rhs[i])
            if i in self.used or (excess < 0 and not program.is_equality[i]):
                continue
            size = Fraction(float(np.abs(normal).max(initial=0.0))) or Fraction(1)
            if abs(excess) > worst * size:
                worst, found = abs(excess) / size, (i, 1 if excess > 0 else -1)
        return found

    def add(self, new: int, sign: int) -> bool:
        """Move until a constraint holds and add it to the active set.

        Returns False if it cannot hold; the multipliers are then a Farkas ray.
        """
        normal = sign * self.program.normals[new]
        own = Fraction(0)
        while True:
            way, change = self._direction(normal)
            slope = product(normal, way)
            excess = product(normal, self.x) - sign * Fraction(self.program.rhs[new])
            blocking, length = self._first_to_leave(change)
            # The normal depends on active ones and no multiplier bounds the step: the
            # dual objective grows without limit along this direction.
            if slope == 0 and blocking is None:
                self.used.append(new)
                self.multipliers = [*change, Fraction(sign)]
                return False
            if slope != 0 and (blocking is None or excess <= -slope * length):
                blocking, length = None, excess / -slope
            self.x = _moved(self.x, way, length)
            self.multipliers = _moved(self.multipliers, change, length)
            own += length
            if blocking is None:
                self.used.append(new)
                self.multipliers.append(sign * own)
                return True
            del self.used[blocking], self.multipliers[blocking]

    def _direction(self, normal: FloatArray) -> tuple[Vector, Vector]:
        """Return how point and multipliers move per unit of a new multiplier."""
        hessian, normals = self.program.hessian, self.program.normals[self.used]
        corner = np.zeros((len(normals), len(normals)))
        system = np.block([[hessian, normals.T], [normals, corner]])
        rhs = np.concatenate([-normal, np.zeros(len(normals))])
        answer = solve_exactly(system, rhs)
        return answer[: len(hessian)], answer[len(hessian) :]

    def _first_to_leave(self, change: Vector) -> tuple[int | None, Fraction]:
        """Return the active inequality whose multiplier vanishes first, and when."""
        first, least = None, Fraction(0)
        for at, (i, rate) in enumerate(zip(self.used, change, strict=True)):
            if rate < 0 and not self.program.is_equality[i]:
                when = self.multipliers[at] / -rate
                if first is None or when < least:
                    first, least = at, when
        return first, least

    def rounded_multipliers(self) -> FloatArray:
        """Return the multipliers of all constraints as floats."""
        result = np.zeros(len(self.program.rhs))
        result[self.used] = rounded(self.multipliers)
        return result


def _moved(start: Vector, way: Vector, length: Fraction) -> Vector:
    return [a + length * b for a, b in zip(start, way, strict=True)]
