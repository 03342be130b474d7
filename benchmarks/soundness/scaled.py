"""The program on a support: guessed in floats, bounded, and solved exactly.

Rational numbers are those of python-flint here, which take a tenth of the time that
fractions take.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq

from benchmarks.soundness.active_set import (
    Answer,
    LostError,
    Number,
    Numbers,
    Program,
    Rows,
    dot,
    inverse,
    times,
)
from benchmarks.soundness.rational import Exact, Vector

Support = tuple[int, ...]

TOLERANCE = 1e-10
"""Of guesses."""

HALF = fmpq(1, 2)


@dataclass(frozen=True)
class Guess:
    """What floats say about a support."""

    support: Support
    value: float
    x: list[float]
    multipliers: dict[int, float]
    active: list[int] | None


@dataclass(frozen=True)
class Solved:
    """The exact optimum on a support."""

    support: Support
    value: Number
    x: Numbers


class Scaled:
    """The problem in units in which floats have a chance; nothing is rounded.

    Attributes
    ----------
    added : list
        What of the ridge the problem itself does not have.
    clear : number
        The share of its curvature that each column must keep, given the others, if
        there is no doubt that a support counts; zero where all do.
    """

    def __init__(self, problem: Exact, units: Vector) -> None:
        self.problem, self.units = problem, units
        self.added: list[Number] = [0] * problem.n
        self.clear: Number = 0
        u = quick(units)
        self.Q = [
            [v * u[i] * u[j] for j, v in enumerate(quick(row))]
            for i, row in enumerate(problem.Q)
        ]
        self.ridge = [v * u[j] ** 2 for j, v in enumerate(quick(problem.ridge))]
        self.c = [v * u[j] for j, v in enumerate(quick(problem.c))]
        self.constant, self.price = quick([problem.constant, problem.price])
        self.rows, self.rhs, self.n_equal = _all_rows(problem, u)
        self.is_definite = is_semidefinite(self.Q)
        self.G = _floats(self.Q) + np.diag([float(v) for v in self.ridge])
        self.linear = np.array([float(v) for v in self.c])
        self._rows = [[float(v) for v in row] for row in self.rows]
        self._rhs = [float(v) for v in self.rhs]

    def fixed(self, support: Support) -> Number:
        """Constant and prices."""
        return self.constant + self.price * self.problem.count(frozenset(support))

    def is_counted(self, support: Support, share: Number) -> bool:
        """Whether each column keeps a share of its curvature, given the others."""
        if not share:
            return True
        rest = [[self.Q[i][j] for j in support] for i in support]
        for k, j in enumerate(support):
            rest[k][k] += self.ridge[j]
            if rest[k][k] <= 0:
                return False
            rest[k][k] *= 1 - share
        return is_semidefinite(rest)

    def kept(self, support: Support) -> list[int]:
        """Rows that concern a support: all but bounds of other variables."""
        n_rows, some = len(self.problem.A), set(support)
        return [
            i
            for i, row in enumerate(self.rows)
            if i < n_rows or any(row[j] for j in some)
        ]

    def guess(self, support: Support) -> Guess:
        """What floats say."""
        nothing = Guess(support, np.inf, [0.0] * len(support), {}, None)
        if not support:
            return Guess(support, float(self.fixed(support)), [], {}, [])
        kept = self.kept(support)
        G = self.G[np.ix_(support, support)]
        try:
            program = Program(
                (np.linalg.inv(G) / 2).tolist(),
                self.linear[list(support)].tolist(),
                [[self._rows[i][j] for j in support] for i in kept],
                [self._rhs[i] for i in kept],
                self.n_equal,
                TOLERANCE,
            )
            answer = program.solve()
        except (LostError, ArithmeticError, np.linalg.LinAlgError):
            return nothing
        multipliers = {kept[i]: m for i, m in answer.multipliers.items()}
        if answer.x is None:
            return Guess(support, np.inf, nothing.x, multipliers, None)
        x = np.array(answer.x)
        value = float(self.fixed(support)) + float(program.c @ x + x @ G @ x)
        if not np.isfinite(value):
            return nothing
        return Guess(support, value, answer.x, multipliers, answer.active)

    def is_no_better(self, guess: Guess, value: Number) -> bool:
        """Whether a dual point proves that no point of a support is better.

        ``x'Qx >= 2 y'Qx - y'Qy`` for any ``y``, as ``Q`` is positive semidefinite; rows
        join with multipliers, and what is left is minimised over each variable alone.
        Multipliers that say that there is no point are tried at several lengths.
        """
        has_ridge = all(self.ridge[j] for j in guess.support)
        if not (self.is_definite and guess.support and has_ridge):
            return False
        lengths = (1,) if np.isfinite(guess.value) else (2**10, 2**30, 2**60)
        return any(self._dual_value(guess, length) >= value for length in lengths)

    def _dual_value(self, guess: Guess, length: int) -> Number:
        support = guess.support
        y = [rational(v) for v in guess.x]
        slope = [2 * dot([self.Q[i][j] for j in support], y) for i in support]
        value = self.fixed(support) - HALF * dot(slope, y)
        slope = [self.c[j] + g for j, g in zip(support, slope, strict=True)]
        for i, m in guess.multipliers.items():
            if i >= self.n_equal and m < 0:
                continue
            weight = length * rational(m)
            value -= weight * self.rhs[i]
            slope = [
                g + weight * self.rows[i][j]
                for j, g in zip(support, slope, strict=True)
            ]
        loss = (g * g / self.ridge[j] for j, g in zip(support, slope, strict=True))
        return value - sum(loss) / 4

    def solve(self, guess: Guess) -> Solved | None:
        """The exact optimum on a support, or None if there is no point."""
        support = guess.support
        if not support:
            is_met = all(b >= 0 for b in self.rhs[: len(self.problem.A)])
            is_met = is_met and not any(self.rhs[: self.n_equal])
            return Solved(support, self.fixed(support), []) if is_met else None
        kept = self.kept(support)
        G = [[self.Q[i][j] for j in support] for i in support]
        for k, j in enumerate(support):
            G[k][k] += self.ridge[j]
        program = Program(
            [[v / 2 for v in row] for row in inverse(G)],
            [self.c[j] for j in support],
            [[self.rows[i][j] for j in support] for i in kept],
            [self.rhs[i] for i in kept],
            self.n_equal,
        )
        answer = None if guess.active is None else program.solve_active(guess.active)
        answer = program.solve() if answer is None else answer
        confirm(G, program, answer)
        if answer.x is None:
            return None
        smooth = dot(program.c, answer.x) + dot(answer.x, times(G, answer.x))
        return Solved(support, self.fixed(support) + smooth, answer.x)


def confirm(G: Rows, program: Program, answer: Answer) -> None:
    """Check that an answer is one: Karush, Kuhn and Tucker, or Farkas."""
    multipliers = answer.multipliers
    is_right = all(m > 0 for i, m in multipliers.items() if i >= program.n_equal)
    total = [0] * len(program.c)
    for i, m in multipliers.items():
        total = [t + m * a for t, a in zip(total, program.rows[i], strict=True)]
    if answer.x is None:
        is_right &= not any(total)
        is_right &= sum((m * program.rhs[i] for i, m in multipliers.items())) < 0
    else:
        gradient = [2 * g for g in times(G, answer.x)]
        is_right &= not any(map(sum, zip(program.c, gradient, total, strict=True)))
        for i, (row, b) in enumerate(zip(program.rows, program.rhs, strict=True)):
            excess = dot(row, answer.x) - b
            must_hold = i < program.n_equal or i in multipliers
            is_right &= excess == 0 if must_hold else excess <= 0
    if not is_right:
        raise AssertionError("the exact method is wrong")


def _all_rows(
    problem: Exact, units: Numbers
) -> tuple[list[list[Number]], list[Number], int]:
    """Equalities, inequalities and bounds, each divided by a power of two."""
    order = sorted(range(len(problem.b)), key=lambda i: not problem.is_equality[i])
    rows = [
        [a * u for a, u in zip(quick(problem.A[i]), units, strict=True)] for i in order
    ]
    rhs = quick([problem.b[i] for i in order])
    for j in range(problem.n):
        unit = [units[j] * (i == j) for i in range(problem.n)]
        if (high := problem.upper[j]) is not None:
            rows.append(unit)
            rhs += quick([high])
        if (low := problem.lower[j]) is not None:
            rows.append([-v for v in unit])
            rhs += quick([-low])
    for i, row in enumerate(rows):
        largest = max(map(abs, row))
        if largest:
            scale = quick([_power_of_two(1 / plain(largest), 1)])[0]
            rows[i] = [scale * v for v in row]
            rhs[i] *= scale
    return rows, rhs, sum(problem.is_equality)


def is_semidefinite(Q: Rows) -> bool:
    """Whether a symmetric matrix is positive semidefinite, exactly."""
    rows = [list(row) for row in Q]
    n = len(rows)
    for k in range(n):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][k:])):
            return False
        for i in range(k + 1, n):
            if rows[i][k]:
                factor = rows[i][k] / pivot
                for j in range(k, n):
                    rows[i][j] -= factor * rows[k][j]
    return True


def rational(value: float) -> Number:
    """The rational number that a float is."""
    return fmpq(*value.as_integer_ratio())


def quick(values: Sequence[Fraction]) -> list[Number]:
    """The same numbers, with which one calculates in less time."""
    return [fmpq(v.numerator, v.denominator) for v in values]


def plain(value: Number) -> Fraction:
    """The same number as a fraction."""
    value = fmpq(value)
    return Fraction(int(value.p), int(value.q))


def _floats(matrix: Rows) -> np.ndarray:
    return np.array([[float(v) for v in row] for row in matrix])


def column_units(problem: Exact) -> Vector:
    """Powers of two in which the curvature of each variable is about one."""
    curvature = [problem.Q[j][j] + problem.ridge[j] for j in range(problem.n)]
    return [_power_of_two(1 / v, 2) if v > 0 else Fraction(1) for v in curvature]


def _power_of_two(value: Fraction, root: int) -> Fraction:
    """A power of two near a root of a positive number."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    return Fraction(2) ** (bits // root)
