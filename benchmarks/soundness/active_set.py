"""A strictly convex quadratic program by the dual method of Goldfarb and Idnani (1983).

Written for numbers of any type.  With fractions it ends after finitely many steps at
the optimum, or at a combination of rows that is impossible; both are checked by
:func:`benchmarks.soundness.scaled.confirm`, so that no mistake here can pass for truth.
With floats it guesses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Number: TypeAlias = Any
"""A float or a fraction."""

Numbers: TypeAlias = Sequence[Number]
Rows: TypeAlias = Sequence[Numbers]

MOST_STEPS = 400
"""Steps after which floats are going in circles."""

DEPENDENT = 1e-11
"""With floats, a row is dependent on others if less than this share of it is left."""


class LostError(Exception):
    """Floats led nowhere, or a matrix is not positive definite."""


@dataclass(frozen=True)
class Answer:
    """The optimum, or a proof that there is no point.

    Attributes
    ----------
    x : list or None
        The optimum; None if there is none.
    multipliers : dict
        Nonzero multipliers by row: of the optimum; or of an impossible combination,
        ``sum_i m_i a_i = 0`` and ``sum_i m_i b_i < 0``.
    active : list of int
        Rows that hold with equality, with independent normals.
    """

    x: list[Number] | None
    multipliers: dict[int, Number]
    active: list[int]


@dataclass
class Program:
    """Minimise ``c'x + x'Gx`` subject to ``rows x <= rhs``, the first with equality.

    Parameters
    ----------
    inverse : list of lists
        The inverse of ``2 G``.
    n_equal : int
        How many rows are equalities.
    tolerance : float
        0 for fractions.
    """

    inverse: Rows
    c: Numbers
    rows: Rows
    rhs: Numbers
    n_equal: int
    tolerance: float = 0
    _images: dict[int, list[Number]] = field(default_factory=dict)

    def solve(self) -> Answer:
        """Add violated rows one after the other."""
        state = _State(self, [-v for v in times(self.inverse, self.c)])
        for i in range(self.n_equal):
            if not state.add_equality(i):
                return Answer(None, state.ray, [])
        for _ in range(MOST_STEPS):
            i = state.most_violated()
            if i is None:
                return Answer(state.x, state.signed(), [k for k, _ in state.active])
            if not state.add_inequality(i):
                return Answer(None, state.ray, [])
        raise LostError("too many steps")

    def solve_active(self, active: Sequence[int]) -> Answer | None:
        """The optimum if these rows, with independent normals, are the active ones."""
        x = [-v for v in times(self.inverse, self.c)]
        images = [self.image(i) for i in active]
        M = [[dot(self.rows[i], image) for image in images] for i in active]
        try:
            u = solve(M, [dot(self.rows[i], x) - self.rhs[i] for i in active])
        except ZeroDivisionError:
            return None
        for m, image in zip(u, images, strict=True):
            x = [a - m * b for a, b in zip(x, image, strict=True)]
        multipliers = {i: m for i, m in zip(active, u, strict=True) if m}
        if any(m < 0 and i >= self.n_equal for i, m in multipliers.items()):
            return None
        excess = [dot(row, x) - b for row, b in zip(self.rows, self.rhs, strict=True)]
        if any(excess[: self.n_equal]) or any(e > 0 for e in excess):
            return None
        return Answer(x, multipliers, list(active))

    def image(self, i: int) -> list[Number]:
        """The inverse of ``2 G`` times row ``i``."""
        if i not in self._images:
            self._images[i] = times(self.inverse, self.rows[i])
        return self._images[i]


class _State:
    """A point, the rows that are active at it with their signs, and multipliers."""

    def __init__(self, program: Program, x: list[Number]) -> None:
        self.program = program
        self.x = x
        self.active: list[tuple[int, int]] = []
        self.u: list[Number] = []
        self.ray: dict[int, Number] = {}

    def signed(self) -> dict[int, Number]:
        """Nonzero multipliers by row."""
        pairs = zip(self.active, self.u, strict=True)
        return {i: sign * u for (i, sign), u in pairs if u}

    def excess(self, i: int) -> Number:
        """How far a row is from holding."""
        return dot(self.program.rows[i], self.x) - self.program.rhs[i]

    def most_violated(self) -> int | None:
        """The inequality that is violated most; rows are scaled alike."""
        program, worst, found = self.program, self.program.tolerance, None
        for i in range(program.n_equal, len(program.rhs)):
            if (excess := self.excess(i)) > worst:
                worst, found = excess, i
        return found

    def add_equality(self, i: int) -> bool:
        """Make an equality active; whether that is possible."""
        excess = self.excess(i)
        sign = 1 if excess >= 0 else -1
        z, r, slope = self._direction(i, sign)
        if slope == 0:
            if abs(excess) <= self.program.tolerance:
                return True
            self._set_ray(i, sign, r)
            return False
        self._move(z, r, abs(excess) / slope)
        self.active.append((i, sign))
        self.u.append(abs(excess) / slope)
        return True

    def add_inequality(self, i: int) -> bool:
        """Make a violated row active, letting others go; whether that is possible."""
        own = 0 * self.x[0]
        for _ in range(MOST_STEPS):
            z, r, slope = self._direction(i, 1)
            blocking, limit = self._limit(r)
            full = None if slope == 0 else self.excess(i) / slope
            if full is None and blocking is None:
                self._set_ray(i, 1, r)
                return False
            is_full = full is not None and (blocking is None or full <= limit)
            t = full if is_full else limit
            self._move(z if slope != 0 else None, r, t)
            own += t
            if is_full:
                self.active.append((i, 1))
                self.u.append(own)
                return True
            del self.active[blocking], self.u[blocking]
        raise LostError("too many steps")

    def _direction(
        self, i: int, sign: int
    ) -> tuple[list[Number], list[Number], Number]:
        """How the point and the multipliers move, and how fast the row is mended."""
        program = self.program
        image = [sign * v for v in program.image(i)]
        images = [[s * v for v in program.image(k)] for k, s in self.active]
        M = [[s * dot(program.rows[k], h) for h in images] for k, s in self.active]
        r = solve(M, [s * dot(program.rows[k], image) for k, s in self.active])
        z = image
        for factor, h in zip(r, images, strict=True):
            z = [a - factor * b for a, b in zip(z, h, strict=True)]
        slope = sign * dot(program.rows[i], z)
        unit = sign * dot(program.rows[i], image)
        if program.tolerance and slope <= DEPENDENT * unit:
            slope = 0.0
        return z, r, slope

    def _limit(self, r: Numbers) -> tuple[int | None, Number | None]:
        """Which multiplier is the first to become zero, and after how long a step."""
        found, limit = None, None
        for k, rate in enumerate(r):
            if rate > 0 and self.active[k][0] >= self.program.n_equal:
                step = self.u[k] / rate
                if limit is None or step < limit:
                    found, limit = k, step
        return found, limit

    def _move(self, z: Numbers | None, r: Numbers, t: Number) -> None:
        if z is not None:
            self.x = [a - t * b for a, b in zip(self.x, z, strict=True)]
        self.u = [a - t * b for a, b in zip(self.u, r, strict=True)]

    def _set_ray(self, i: int, sign: int, r: Numbers) -> None:
        pairs = zip(self.active, r, strict=True)
        self.ray = {k: -s * rate for (k, s), rate in pairs if rate}
        self.ray[i] = sign + 0 * self.x[0]


def dot(u: Numbers, v: Numbers) -> Number:
    """The inner product; zeros are skipped, of which there are many."""
    total = 0
    for a, b in zip(u, v, strict=True):
        if a and b:
            total += a * b
    return total


def times(matrix: Rows, v: Numbers) -> list[Number]:
    """Matrix times vector."""
    return [dot(row, v) for row in matrix]


def solve(matrix: Rows, rhs: Numbers) -> list[Number]:
    """The solution of a positive definite system; ZeroDivisionError if it is not."""
    n = len(rhs)
    rows = [[*row, b] for row, b in zip(matrix, rhs, strict=True)]
    for k in range(n):
        pivot = rows[k]
        for i in range(k + 1, n):
            if rows[i][k]:
                factor = rows[i][k] / pivot[k]
                for j in range(k, n + 1):
                    rows[i][j] -= factor * pivot[j]
    x = [0] * n
    for k in reversed(range(n)):
        known = sum(rows[k][j] * x[j] for j in range(k + 1, n))
        x[k] = (rows[k][n] - known) / rows[k][k]
    return x


def inverse(matrix: Rows) -> list[list[Number]]:
    """The inverse of a positive definite matrix.

    Raises
    ------
    LostError
        If a pivot is not positive, which proves that the matrix is not definite.
    """
    n = len(matrix)
    rows = [
        [*row, *(matrix[0][0] * 0 + (i == j) for j in range(n))]
        for i, row in enumerate(matrix)
    ]
    for k in range(n):
        if not rows[k][k] > 0:
            raise LostError("not positive definite")
        scale = rows[k][k]
        rows[k] = [v / scale if v else v for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [
                    a - factor * b if b else a
                    for a, b in zip(rows[i], rows[k], strict=True)
                ]
    return [row[n:] for row in rows]
