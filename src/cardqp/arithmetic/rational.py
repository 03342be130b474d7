"""Linear algebra in rational numbers: floats are such, and nothing is rounded."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from cardqp._typing import FloatArray

Vector = list[Fraction]


def solve_exactly(matrix: FloatArray, rhs: FloatArray) -> Vector:
    """Solve a square system in rationals, by elimination without fractions (Bareiss).

    Raises ``ZeroDivisionError`` if the matrix is singular.
    """
    n = len(matrix)
    table = np.array(list(_whole_rows(np.column_stack([matrix, rhs]))), dtype=object)
    last = 1
    for k in range(n):
        pivot = next((i for i in range(k, n) if table[i, k]), None)
        if pivot is None:
            raise ZeroDivisionError("the matrix of a system is singular")
        table[[k, pivot]] = table[[pivot, k]]
        table, last = _eliminated(table, k, last), table[k, k]
    return [Fraction(row[n], row[i]) for i, row in enumerate(table)]


def is_positive_definite(matrix: FloatArray) -> bool:
    """Whether a symmetric matrix of floats is positive definite, without rounding."""
    table = np.array(list(_whole_rows(matrix)), dtype=object)
    last = 1
    for k in range(len(table)):
        # Each pivot is a leading minor, scaled by what its rows were scaled by.
        if table[k, k] <= 0:
            return False
        table, last = _eliminated(table, k, last), table[k, k]
    return True


def _eliminated(table: Any, k: int, last: int) -> Any:
    """Eliminate an unknown from all rows but its own; all entries stay whole."""
    own = table[k].copy()
    table = (table * own[k] - np.multiply.outer(table[:, k], own)) // last
    table[k] = own
    return table


def _whole_rows(table: FloatArray) -> Iterator[list[int]]:
    """The rows of a table of floats, each scaled by a power of two to whole numbers."""
    for row in table:
        ratios = [float(entry).as_integer_ratio() for entry in row]
        common = max(denominator for _, denominator in ratios)
        yield [top * (common // denominator) for top, denominator in ratios]


def rounded(vector: Vector) -> FloatArray:
    """The nearest floats; infinite beyond the largest."""
    return np.array([_nearest(entry) for entry in vector], dtype=np.float64)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def product(normal: FloatArray, x: Vector) -> Fraction:
    """The inner product of floats with rationals."""
    terms = zip(normal.tolist(), x, strict=True)
    return sum((Fraction(a) * value for a, value in terms if a), Fraction(0))


def cancelling(matrix: FloatArray, weights: FloatArray) -> Vector | None:
    """Weights near given ones with which the rows of a matrix cancel exactly.

    Those given, none of them zero, do so up to rounding.  None if only zeros do.
    """
    start = [Fraction(weight) for weight in weights.tolist()]
    reduced: dict[int, Vector] = {}  # equations by the weight that each determines
    while len(reduced) < len(start):
        result = _solved(reduced, start)
        column = next((a for a in matrix.T if product(a, result)), None)
        if column is None:
            return result
        equation = [Fraction(entry) for entry in column.tolist()]
        for pivot, known in reduced.items():
            equation = _without(equation, known, pivot)
        share = [abs(e * weight) for e, weight in zip(equation, start, strict=True)]
        pivot = share.index(max(share))
        equation = [entry / equation[pivot] for entry in equation]
        reduced = {at: _without(e, equation, pivot) for at, e in reduced.items()}
        reduced[pivot] = equation
    return None


def _solved(reduced: dict[int, Vector], start: Vector) -> Vector:
    """Weights that solve reduced equations; those not determined are as they were."""
    is_kept = [at not in reduced for at in range(len(start))]
    kept = [w if keep else Fraction(0) for w, keep in zip(start, is_kept, strict=True)]
    result = kept.copy()
    for pivot, equation in reduced.items():
        terms = (e * weight for e, weight in zip(equation, kept, strict=True))
        result[pivot] = -sum(terms, Fraction(0))
    return result


def _without(equation: Vector, known: Vector, pivot: int) -> Vector:
    """An equation with one unknown eliminated by another one."""
    factor = equation[pivot]
    if not factor:
        return equation
    return [a - factor * b for a, b in zip(equation, known, strict=True)]
