"""Quadratic forms, their tangent planes, and proofs of semidefiniteness (section 3)."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from flint import arb, arb_mat

from cardqp_check.data import BLOCK, Columns
from cardqp_check.refusal import require
from cardqp_check.rounding import (
    Floats,
    Ints,
    add_below,
    down,
    exact,
    matrix_above,
    matrix_below,
    sums_above,
    up,
)

MOST_DENSE = 5000
"""Matrices with more rows are refused: as balls they would take too much memory."""

Point = tuple[Ints, Floats]
"""Indices and values of the entries of a vector that are not zero."""


class Form(Protocol):
    """A quadratic form ``x'Mx``."""

    @property
    def length(self) -> int:
        """How many numbers each dual point needs at a time."""

    @property
    def excess(self) -> Floats:
        """A vector v >= 0 with ``M + diag(v)`` positive semidefinite."""

    def tangents(
        self, points: Sequence[Point]
    ) -> tuple[list[arb], Iterator[tuple[slice, arb_mat]]]:
        """``a'(M + diag(v))a`` and ``2(M + diag(v))a`` for some points a.

        The latter in blocks of variables, one column for each point.
        """

    def restrict(self, kept: Ints) -> "Form":
        """The form on some of the variables, all others being zero."""

    def times(self, share: arb) -> "Form":
        """A positive multiple of the form."""

    def matrix(self) -> arb_mat:
        """The matrix M."""


@dataclass(frozen=True)
class Dense:
    """The form of a matrix.

    Attributes
    ----------
    entries : arb_mat
        M, symmetric.
    is_semidefinite : bool
        Whether it is known to be positive semidefinite, from how it was made.
    """

    entries: arb_mat
    is_semidefinite: bool = False

    @property
    def length(self) -> int:
        """How many numbers each dual point needs at a time."""
        return int(self.entries.nrows())

    @cached_property
    def excess(self) -> Floats:
        """A vector v >= 0 with ``M + diag(v)`` positive semidefinite."""
        if self.is_semidefinite:
            return np.zeros(self.entries.nrows())
        return missing_diagonal(self.entries)

    @cached_property
    def _slopes(self) -> arb_mat:
        """``2(M + diag(v))``."""
        return 2 * (self.entries + diagonal(self.excess))

    def tangents(
        self, points: Sequence[Point]
    ) -> tuple[list[arb], Iterator[tuple[slice, arb_mat]]]:
        """``a'(M + diag(v))a`` and ``2(M + diag(v))a`` for some points a."""
        n = self.entries.nrows()
        slopes = self._slopes * exact(scattered(points, n))
        columns = slopes.transpose().tolist()
        values = [
            dot(value, [column[j] for j in index]) / 2
            for (index, value), column in zip(points, columns, strict=True)
        ]
        return values, iter([(slice(0, n), slopes)])

    def restrict(self, kept: Ints) -> "Dense":
        """The form on some of the variables, all others being zero."""
        return replace(self, entries=part_of(self.entries, kept, kept))

    def times(self, share: arb) -> "Dense":
        """A positive multiple of the form."""
        return replace(self, entries=self.entries * share)

    def matrix(self) -> arb_mat:
        """The matrix M."""
        return self.entries


@dataclass(frozen=True)
class Factor:
    """``multiplier`` times the squared length of a combination of columns."""

    columns: Columns
    multiplier: arb

    @property
    def length(self) -> int:
        """How many numbers each dual point needs at a time."""
        return max(self.columns.n_rows, len(self.columns.index))

    @property
    def excess(self) -> Floats:
        """Zero: a squared length is not negative."""
        return np.zeros(len(self.columns.index))

    def tangents(
        self, points: Sequence[Point]
    ) -> tuple[list[arb], Iterator[tuple[slice, arb_mat]]]:
        """``a'Ma`` and ``2Ma``, by way of the combinations of columns."""
        used = np.unique(np.concatenate([index for index, _ in points]))
        local = [(np.searchsorted(used, index), value) for index, value in points]
        data, coefficients = self.columns.take(used), exact(scattered(local, len(used)))
        parts = [exact(part) * coefficients for part in some_rows(data)]
        entries = [entry for part in parts for entry in part.entries()]
        fitted = arb_mat(len(data), len(points), entries)
        rows = fitted.transpose().tolist()
        values = [self.multiplier * sum((t * t for t in row), arb(0)) for row in rows]
        double = fitted * (2 * self.multiplier)
        slopes = (
            (part, exact(block).transpose() * double)
            for part, block in self.columns.blocks()
        )
        return values, slopes

    def restrict(self, kept: Ints) -> "Factor":
        """The form on some of the variables, all others being zero."""
        return replace(self, columns=self.columns.restrict(kept))

    def times(self, share: arb) -> "Factor":
        """A positive multiple of the form."""
        return replace(self, multiplier=self.multiplier * share)

    def matrix(self) -> arb_mat:
        """The matrix, added up from some rows at a time."""
        n = len(self.columns.index)
        require(n <= MOST_DENSE, f"{n} variables are too many for a matrix")
        total = arb_mat(n, n)
        for part in some_rows(self.columns.take(slice(None))):
            block = exact(part)
            total += block.transpose() * block
        return total * self.multiplier


def some_rows(data: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The rows of a matrix, some at a time."""
    height = max(BLOCK // max(data.shape[1], 1), 1)
    for start in range(0, len(data), height):
        yield data[start : start + height]


def missing_diagonal(M: arb_mat) -> Floats:
    """A small v >= 0 for which ``M + diag(v)`` is positive semidefinite.

    ``LL'`` is semidefinite for any L, here a computed Cholesky factor.  What is left,
    ``E = M - LL'`` in units u of the variables, is so too once ``v_j + E_jj`` is at
    least the sum of the other ``|E_ij|`` of each row.
    """
    n = M.nrows()
    middle = np.array([float(e.mid()) for e in M.entries()]).reshape(n, n)
    size, used = _sizes(middle), middle.any(axis=1)
    # Units are powers of two: to divide by them is exact.
    unit = np.ldexp(1.0, np.frexp(np.sqrt(size))[1])
    scaled, weight = middle / unit / unit[:, None], size / unit / unit
    among = np.ix_(used, used)
    scaled[among] = _near_factor(scaled[among], weight[used])
    factor = exact(scaled * unit[:, None])
    rest = M - factor * factor.transpose()
    low, high = (
        _in_units(matrix_below(rest), unit),
        -_in_units(-matrix_above(rest), unit),
    )
    others = np.maximum(np.abs(low), np.abs(high))
    np.fill_diagonal(others, 0.0)
    missing = np.maximum(-add_below(low.diagonal(), -sums_above(others)), 0.0)
    return np.where(missing > 0, np.asarray(up(missing * unit * unit)), 0.0)


def _sizes(M: Floats) -> Floats:
    """What is missing of each variable is about a share of this: its curvature.

    Variables without any take 1, as if it were the unit of all others, or, if there are
    no others, their largest product.
    """
    size = np.abs(M.diagonal())
    if not size.any():
        size = np.abs(M).max(axis=1, initial=0.0)
    return np.where(size > 0, size, 1.0)


def _in_units(low: Floats, unit: Floats) -> Floats:
    """Lower bounds of entries divided by units; only zeros are certainly exact."""
    return np.where(low == 0, 0.0, down(low / unit / unit[:, None]))


def _near_factor(M: Floats, weight: Floats) -> Floats:
    """L with ``LL'`` near a matrix with entries of about 1, perhaps a little below.

    A matrix that is clearly definite is lowered by more than rounding, so that nothing
    is missing; one that is not is raised by shares of weights until there is a factor.
    """
    for shift in _shifts(M, weight):
        with suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.cholesky(M + np.diag(shift * weight)))
    # What follows holds for any L.
    return np.zeros_like(M)


def _shifts(M: Floats, weight: Floats) -> Iterator[float]:
    """What is tried, the least first: the eigenvalue that the matrix lacks, or more."""
    n = len(M)
    yield -(n**2) * 2.0**-53
    yield 0.0
    root = np.sqrt(weight)
    try:
        eigenvalues = np.linalg.eigvalsh(M / root / root[:, None])
    except np.linalg.LinAlgError:
        return
    lacks, size = max(-float(eigenvalues[0]), 0.0), float(np.abs(eigenvalues).max())
    for k in range(30):
        yield lacks + 2.0 ** (k - 53) * n * size


def dot(x: Floats, y: Sequence[arb]) -> arb:
    """The inner product of two vectors."""
    return (exact(x).transpose() * arb_mat(len(y), 1, y))[0, 0]


def scattered(points: Sequence[Point], n: int) -> Floats:
    """Points as the columns of a matrix with n rows."""
    dense = np.zeros((n, len(points)))
    for place, (index, value) in enumerate(points):
        dense[index, place] = value
    return dense


def part_of(M: arb_mat, rows: Any, columns: Any) -> arb_mat:
    """Some rows and columns of a matrix."""
    table = M.tolist()
    chosen = [table[i][j] for i in rows for j in columns]
    return arb_mat(len(rows), len(columns), chosen)


def diagonal(values: Any) -> arb_mat:
    """A diagonal matrix."""
    result = arb_mat(len(values), len(values))
    for j, value in enumerate(values):
        result[j, j] = arb(value)
    return result
