"""The quadratic form x'Qx, given by its matrix or by a factor.

Both forms know how to bound themselves from below by a plane: the tangent at any
point.  That plane, with the rounding errors made in computing it, is all that the
lower bounds of this library need to know about Q.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from cardqp._typing import Float, FloatArray, IntArray
from cardqp.arithmetic.compensated import fitted, products
from cardqp.arithmetic.rounding import (
    SMALLEST_NORMAL,
    factor_product_unit,
    inner_product_unit,
    projection_unit,
    raised,
)

MOST_AT_ONCE = 200
"""The largest support for which all products of a square are held at once."""


@dataclass(frozen=True, slots=True)
class Minorant:
    r"""A proved lower bound of a quadratic form.

    For every ``x``, and some true slope ``g`` with
    ``|g - slope| <= slope_error`` entrywise,

    .. math:: x^\top Q x \ge g^\top x - \text{offset} - \sum_j \text{loss}_j x_j^2 .

    ``offset`` already includes its own rounding error.  Many minorants of one form can
    be held together: ``slope`` and ``slope_error`` then have one row each, ``offset``
    one entry.
    """

    slope: FloatArray
    slope_error: FloatArray
    offset: Float
    loss: FloatArray


class QuadraticForm(Protocol):
    """The interface of a quadratic form ``x'Qx``, however ``Q`` is stored."""

    @property
    def n(self) -> int:
        """Number of variables."""

    @property
    def psd_violation(self) -> FloatArray:
        """A vector with ``Q + diag(psd_violation)`` positive semidefinite."""

    @property
    def formed(self) -> int:
        """Number of roundings that entries of the formed matrix may be off."""

    @property
    def array(self) -> FloatArray:
        """The stored array: the matrix ``Q`` or the factor ``F``."""

    @property
    def diagonal(self) -> FloatArray:
        """The diagonal of ``Q``."""

    def value(self, x: FloatArray) -> float:
        """``x'Qx``."""

    def terms(self, x: FloatArray) -> FloatArray:
        """Numbers whose sum is ``x'Qx``, without the rounding errors of products."""

    def apply(self, x: FloatArray) -> FloatArray:
        """``Q @ x`` for a vector or a matrix ``x``."""

    def block(self, support: IntArray) -> FloatArray:
        """The square block of ``Q`` on a support."""

    def columns(self, support: IntArray) -> FloatArray:
        """The columns of ``Q`` on a support, as an ``(n, len(support))`` array."""

    def dense(self) -> FloatArray:
        """``Q`` itself; formed when only a factor is known."""

    def restrict(self, indices: IntArray) -> "QuadraticForm":
        """The form on the given variables, all others being zero."""

    def squared_norm(self) -> float:
        """The squared Frobenius norm of ``Q``."""

    def tangent(self, x: FloatArray) -> Minorant:
        """The minorant that touches the form at ``x``; one for each row of a matrix."""


@dataclass(frozen=True, eq=False)
class Gram:
    """``x'Qx`` with the matrix ``Q`` at hand.

    Parameters
    ----------
    array : (n, n) array
        The symmetric matrix ``Q``.
    psd_violation : (n,) array
        A diagonal that makes ``Q`` positive semidefinite when added, and covers its
        distance from the matrix that it stands for.
    formed : int
        By how many roundings an entry may be off, relative to the roots of its
        diagonal entries, where ``Q`` stands for a product of other data; 0 if its
        entries count as they are.
    """

    array: FloatArray
    psd_violation: FloatArray
    formed: int = 0

    @property
    def n(self) -> int:
        return len(self.array)

    @cached_property
    def diagonal(self) -> FloatArray:
        return self.array.diagonal().copy()

    def value(self, x: FloatArray) -> float:
        return float(x @ self.apply(x))

    def terms(self, x: FloatArray) -> FloatArray:
        support = np.flatnonzero(x)
        part, block = x[support], self.block(support)
        if len(support) > MOST_AT_ONCE:
            whole, rest = fitted(block, part)
            return np.concatenate([products(whole, part), rest * part])
        left, right = np.repeat(part, len(part)), np.tile(part, len(part))
        return products(block, left, right)

    def apply(self, x: FloatArray) -> FloatArray:
        if x.ndim == 1:
            support = np.flatnonzero(x)
            if 4 * len(support) < self.n:
                return x[support] @ self.array[support]
        return self.array @ x

    def block(self, support: IntArray) -> FloatArray:
        return self.array.take(support, axis=0).take(support, axis=1)

    def columns(self, support: IntArray) -> FloatArray:
        return self.array[support].T

    def dense(self) -> FloatArray:
        return self.array

    def restrict(self, indices: IntArray) -> "Gram":
        if len(indices) == self.n and (indices == np.arange(self.n)).all():
            return self
        return Gram(self.block(indices), self.psd_violation[indices], self.formed)

    def squared_norm(self) -> float:
        return float(np.vdot(self.array, self.array))

    def tangent(self, x: FloatArray) -> Minorant:
        # (x - a)'Q(x - a) >= -v'(x - a)^2 >= -2 v'(x^2 + a^2), v being psd_violation.
        # |Q_ij| <= r_i r_j with r the roots of the diagonal, so the rounding error of
        # each inner product needs no second pass over Q.
        slope = 2 * (self.apply(x) if x.ndim == 1 else x @ self.array)
        roots = np.sqrt(self.diagonal + self.psd_violation)
        count = np.asarray(np.count_nonzero(x, axis=-1))
        unit, size = inner_product_unit(count), np.abs(x)
        rounding = 2 * unit * (size @ roots)
        slope_error = np.multiply.outer(rounding, roots)
        noise = slope_error + unit[..., None] * np.abs(slope)
        offset = 0.5 * (slope * x).sum(axis=-1)
        offset_error = 0.5 * (noise * size).sum(axis=-1)
        # Squares, their sum, and two more sums: the offset is their last.
        touching = 2 * ((x * x) @ self.psd_violation) * raised(count + 3)
        return Minorant(
            slope, slope_error, offset + offset_error + touching, 2 * self.psd_violation
        )


@dataclass(frozen=True, eq=False)
class Factor:
    """``x'Qx = |Fx|^2`` with the factor ``F`` at hand; ``Q`` is not formed.

    Entries of ``F`` may be off by two roundings, as those of data divided by a root
    are: all bounds allow for it.

    Parameters
    ----------
    array : (k, n) array
        The factor ``F``.
    """

    array: FloatArray

    @property
    def formed(self) -> int:
        """Number of roundings that entries of ``F'F`` may be off; see :class:`Gram`."""
        return len(self.array) + 6

    @property
    def n(self) -> int:
        return int(self.array.shape[1])

    @property
    def psd_violation(self) -> FloatArray:
        return np.zeros(self.n)

    @cached_property
    def diagonal(self) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->j", self.array, self.array))

    def value(self, x: FloatArray) -> float:
        return float(x @ self.apply(x))

    def terms(self, x: FloatArray) -> FloatArray:
        support = np.flatnonzero(x)
        whole, rest = fitted(self.array[:, support], x[support])
        return np.concatenate([products(whole, whole), 2.0 * whole * rest])

    def apply(self, x: FloatArray) -> FloatArray:
        return self.array.T @ self._project(x)

    def _project(self, x: FloatArray) -> FloatArray:
        if x.ndim == 1:
            support = np.flatnonzero(x)
            if 4 * len(support) < self.n:
                return self.array[:, support] @ x[support]
        return self.array @ x

    def block(self, support: IntArray) -> FloatArray:
        part = self.array[:, support]
        return part.T @ part

    def columns(self, support: IntArray) -> FloatArray:
        return self.array.T @ self.array[:, support]

    def dense(self) -> FloatArray:
        return self.array.T @ self.array

    def restrict(self, indices: IntArray) -> "Factor":
        return Factor(self.array[:, indices])

    def squared_norm(self) -> float:
        rows, columns = self.array.shape
        small = self.array @ self.array.T if rows <= columns else self.dense()
        return float(np.vdot(small, small))

    def tangent(self, x: FloatArray) -> Minorant:
        # The plane is that of x, of which a certificate tells, and not only that of the
        # alpha that was computed, which would do for a bound.
        alpha = self._project(x) if x.ndim == 1 else x @ self.array.T
        error = projection_error(x, np.sqrt(self.diagonal))
        return plane(self.array, 2 * alpha, self.diagonal, alpha_error=2 * error)


def projection_error(x: FloatArray, lengths: FloatArray) -> Float:
    """How far, in norm, a computed ``Fx`` may be off, by the lengths of columns."""
    count = np.asarray(np.count_nonzero(x, axis=-1))
    return np.asarray(projection_unit(count) * (np.abs(x) @ lengths))


def plane(
    factor: FloatArray,
    alpha: FloatArray,
    squared_columns: FloatArray,
    loss: FloatArray | None = None,
    alpha_error: Float = 0.0,
) -> Minorant:
    r"""The minorant :math:`|Fx|^2 \ge \alpha^\top F x - |\alpha|^2/4`, for any alpha.

    Here ``Q + diag(loss) - F'F`` is positive semidefinite.  There may be many alphas,
    one in each row of a matrix, and rounding in them does no harm.  ``alpha_error``
    says how far, in norm, another one may be for which the plane is to stand as well.
    """
    count = alpha.shape[-1]
    size = (alpha * alpha).sum(axis=-1)
    norm = np.sqrt(size + SMALLEST_NORMAL)
    rounding = factor_product_unit(count) * norm + alpha_error
    slope_error = np.multiply.outer(rounding, np.sqrt(squared_columns))
    # |alpha + e|^2 / 4 <= |alpha|^2 / 4 + |e| (|alpha| + |e|) / 2.
    touching = 0.25 * size + 0.5 * alpha_error * (norm + alpha_error)
    return Minorant(
        slope=alpha @ factor,
        slope_error=slope_error * raised(count),
        offset=touching * raised(count + 2),
        loss=np.zeros(len(squared_columns)) if loss is None else loss,
    )
