"""Problems with rows and bounds as mixed-integer programs, the same for every solver.

Each variable gets a binary switch ``z_j``, and bounds become ``l_j z_j <= x_j <= u_j
z_j``; bounds that are missing are derived from the rows.  The three forms differ in how
they write the objective:

- :func:`big_m`: one quadratic form, ridge included;
- :func:`perspective`: the ridge, which the least eigenvalue of the form has joined, is
  carried by ``ridge_j x_j^2 <= t_j z_j``;
- :func:`separable`: as before, and what is left of the form becomes a sum of squares,
  ``loss_i >= (F x)_i^2``, for solvers whose objective is linear.

Objectives are scaled to be about ``UNIT``, to keep absolute tolerances harmless.
"""

from dataclasses import dataclass, replace

import numpy as np

UNIT = 1000.0
"""The best known objective in a program's units."""

INFINITE = 1e20
"""What every solver takes for infinity."""

SHARE = 0.999
"""How much of the least eigenvalue joins the ridge; the form stays convex."""


class NoBoundsError(ValueError):
    """A variable has no bounds to switch off."""


@dataclass(frozen=True)
class Problem:
    """A problem as :meth:`cardqp.SparseQP.save` writes it, and how far to solve it."""

    Q: np.ndarray
    c: np.ndarray
    ridge: np.ndarray
    sparsity: int
    A: np.ndarray
    b: np.ndarray
    A_eq: np.ndarray
    b_eq: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    constant: float
    objective: float
    """The best one known, which scales the program; it is no incumbent."""
    tolerance: float
    time_limit: float

    @classmethod
    def load(cls, path: str) -> "Problem":
        """Read a problem."""
        with np.load(path) as file:
            data = dict(file)
        Q = data["F"].T @ data["F"] if "F" in data else data["Q"]
        numbers = ("constant", "objective", "tolerance", "time_limit")
        arrays = ("c", "A", "b", "A_eq", "b_eq", "lower", "upper")
        return cls(
            Q=Q,
            ridge=np.broadcast_to(1.0 / data["eta"], len(Q)),
            sparsity=int(data["sparsity"]),
            **{name: data[name] for name in arrays},
            **{name: float(data[name]) for name in numbers},
        )

    @property
    def unit(self) -> float:
        """By how much the objective is scaled."""
        is_known = np.isfinite(self.objective) and self.objective
        return UNIT / abs(self.objective) if is_known else 1.0


@dataclass(frozen=True)
class Row:
    """``coefficients'v[columns] <= rhs``, or with equality."""

    columns: np.ndarray
    coefficients: np.ndarray
    rhs: float
    is_equality: bool = False


@dataclass(frozen=True)
class Cone:
    """``weight v[base]^2 <= v[height] v[switch]``; no switch stands for one."""

    weight: float
    base: int
    height: int
    switch: int | None = None


@dataclass(frozen=True)
class Program:
    """Minimise ``slope'v + x'form x + constant`` subject to bounds, rows and cones.

    The columns ``v`` begin with ``x`` and with the binary ``z``.
    """

    problem: Problem
    form: np.ndarray
    slope: np.ndarray
    constant: float
    lower: np.ndarray
    upper: np.ndarray
    rows: tuple[Row, ...]
    cones: tuple[Cone, ...] = ()

    @property
    def is_binary(self) -> np.ndarray:
        """Which columns are switches."""
        n, columns = len(self.problem.c), np.arange(len(self.slope))
        return (columns >= n) & (columns < 2 * n)

    @property
    def products(self) -> list[tuple[int, int, float]]:
        """The terms ``factor x_i x_j`` of the form with ``i <= j``."""
        both = np.triu(self.form) + np.triu(self.form, 1)
        return [
            (int(i), int(j), float(both[i, j]))
            for i, j in zip(*np.nonzero(both), strict=True)
        ]

    def point(self, values: np.ndarray) -> np.ndarray:
        """The ``x`` of a solver's columns, zero where it is switched off."""
        n = len(self.problem.c)
        return np.where(values[n : 2 * n] > 0.5, values[:n], 0.0)

    def with_columns(self, count: int, cost: float, lower: float) -> "Program":
        """The program with columns added at the end."""
        return replace(
            self,
            slope=np.append(self.slope, np.full(count, cost)),
            lower=np.append(self.lower, np.full(count, lower)),
            upper=np.append(self.upper, np.full(count, INFINITE)),
        )

    def with_plain_cones(self) -> "Program":
        """The program with the weights of cones in the costs of their heights.

        Some solvers do better with it, others lose digits.
        """
        slope = self.slope.copy()
        slope[[cone.height for cone in self.cones]] *= [c.weight for c in self.cones]
        cones = tuple(replace(cone, weight=1.0) for cone in self.cones)
        return replace(self, slope=slope, cones=cones)


def big_m(problem: Problem) -> Program:
    """The form with the ridge in it, and switches that act on bounds alone."""
    program = _switched(problem, problem.Q + np.diag(problem.ridge))
    if max(-program.lower.min(), program.upper.max()) >= INFINITE:
        raise NoBoundsError("Some variable has no bounds, and rows imply none.")
    return program


def perspective(problem: Problem) -> Program:
    """The form less its least eigenvalue, which cones carry with the ridge."""
    n = len(problem.c)
    spare = max(SHARE * float(np.linalg.eigvalsh(problem.Q)[0]), 0.0)
    weights = problem.unit * (problem.ridge + spare)
    program = _switched(problem, problem.Q - spare * np.eye(n))
    cones = (Cone(weights[j], j, 2 * n + j, n + j) for j in range(n))
    return replace(program.with_columns(n, 1.0, 0.0), cones=tuple(cones))


def separable(problem: Problem) -> Program:
    """As :func:`perspective`, with a sum of squares in place of the form."""
    program = perspective(problem)
    factor = factorise(program.form)
    n, count, first = len(problem.c), len(factor), len(program.slope)
    parts = np.arange(first, first + count)
    rows = (
        Row(np.append(np.arange(n), part), np.append(row, -1.0), 0.0, is_equality=True)
        for part, row in zip(parts, factor, strict=True)
    )
    cones = (Cone(1.0, int(part), int(part) + count) for part in parts)
    wider = program.with_columns(count, 0.0, -INFINITE).with_columns(count, 1.0, 0.0)
    return replace(
        wider,
        form=np.zeros((n, n)),
        rows=(*program.rows, *rows),
        cones=(*program.cones, *cones),
    )


def factorise(Q: np.ndarray) -> np.ndarray:
    """``F`` with ``F'F = Q``, without the rows that vanish."""
    values, vectors = np.linalg.eigh(Q)
    kept = values > 1e-12 * values[-1]
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T


def _switched(problem: Problem, Q: np.ndarray) -> Program:
    """Everything but the ridge's cones."""
    n, unit = len(problem.c), problem.unit
    lower, upper = bounds(problem)
    rows = [*_plain(problem.A, problem.b), *_plain(problem.A_eq, problem.b_eq, True)]
    rows += _links(upper, 1.0) + _links(-lower, -1.0)
    rows.append(Row(np.arange(n, 2 * n), np.ones(n), float(problem.sparsity)))
    return Program(
        problem=problem,
        form=unit * Q,
        slope=np.append(unit * problem.c, np.zeros(n)),
        constant=unit * problem.constant,
        lower=np.append(np.maximum(np.minimum(lower, 0.0), -INFINITE), np.zeros(n)),
        upper=np.append(np.minimum(np.maximum(upper, 0.0), INFINITE), np.ones(n)),
        rows=tuple(rows),
    )


def _plain(matrix: np.ndarray, rhs: np.ndarray, is_equality: bool = False) -> list[Row]:
    """The problem's own rows."""
    used = [np.flatnonzero(row) for row in matrix]
    return [
        Row(columns, row[columns], float(value), is_equality)
        for row, columns, value in zip(matrix, used, rhs, strict=True)
    ]


def _links(limits: np.ndarray, sign: float) -> list[Row]:
    """``sign x_j <= limit_j z_j``, without those that bounds of columns say already."""
    n = len(limits)
    return [
        Row(np.array([j, n + j]), np.array([sign, -limits[j]]), 0.0)
        for j in range(n)
        if np.isfinite(limits[j]) and limits[j] != 0
    ]


def bounds(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of nonzeros; those that are missing are derived from single rows."""
    rows = np.vstack([problem.A, problem.A_eq, -problem.A_eq])
    rhs = np.concatenate([problem.b, problem.b_eq, -problem.b_eq])
    lower, upper = problem.lower, problem.upper
    low, high = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
    with np.errstate(invalid="ignore"):
        ends = np.where(rows > 0, rows * low, rows * high)
    ends[rows == 0] = 0.0
    for row, value, end in zip(rows, rhs, ends, strict=True):
        limits = _limits(row, value, end)
        upper = np.where(np.isinf(upper) & (row > 0), limits, upper)
        lower = np.where(np.isinf(lower) & (row < 0), limits, lower)
    return lower, upper


def _limits(row: np.ndarray, rhs: float, ends: np.ndarray) -> np.ndarray:
    """How far each variable can go when the others are at their ends."""
    is_open = np.isinf(ends)
    closed = np.where(is_open, 0.0, ends)
    rest = np.where(is_open.sum() - is_open > 0, -np.inf, closed.sum() - closed)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((rhs - rest) / row)
