r"""Branches where only points with independent nonzeros count, in parts without others.

Such a point has nonzeros :math:`S` with
:math:`G_{SS} \succeq \tfrac12 10^{-4}\, \mathrm{diag}(g_S)` and :math:`g_S > 0`, where
:math:`g` is the diagonal of :math:`G`.  If a vector :math:`v \ne 0` that vanishes
outside of :math:`C` has :math:`v^\top G v \lt \tfrac12 10^{-4} \sum_j g_j v_j^2`, then
not all of :math:`C` are nonzero.  So a branch is split: the first variable of
:math:`C` is zero, or it is nonzero and the second is zero, and so on; variables that
are nonzero in all of the branch are passed over.  A variable with
:math:`g_j \le 0` is such a set by itself.  Which sets are tried is a guess.
"""

from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from cardqp_check.bordered import Bordered, Form
from cardqp_check.submatrices import FloatArray, IntArray, UndecidedError

INDEPENDENT = "0.5e-4"
"""The least curvature of points that count, relative to the diagonal; in decimal."""

LEAST_PIVOT = 1e-6
"""A column is tried if those before it leave less than this of its square."""

VISIBLE = (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 0.0)
"""Entries of a dependence that are left out, relative to the largest, if what is left
is still a proof: the smaller a set, the fewer parts."""

MOST_PARTS = 2000
"""The most parts of a branch."""


@dataclass(frozen=True)
class Part:
    """Variables that are nonzero in all points of a part, and those that may be."""

    inside: IntArray
    free: IntArray


def independent_parts(
    bordered: Bordered, branch: Part, total: int, may_be_zero: IntArray
) -> list[Part]:
    """Split a branch until no dependent set is found in any part.

    Parameters
    ----------
    bordered : Bordered
        The form, and its matrix in floats.
    branch : Part
        The branch.
    total : int
        The most nonzeros.
    may_be_zero : int array
        Variables that are in the support whether they are zero or not: a dependent set
        with one of these splits nothing.

    Raises
    ------
    UndecidedError
        When there are too many parts, or a dependent set may have zeros.
    """
    waiting, found = [branch], []
    while waiting:
        part = waiting.pop()
        members = dependent_set(bordered, np.concatenate([part.inside, part.free]))
        if members is None:
            found.append(part)
        elif np.isin(members, may_be_zero).any():
            raise UndecidedError
        else:
            waiting += _split(bordered, part, members, total)
        if len(waiting) + len(found) > MOST_PARTS:
            raise UndecidedError
    return found


def _split(bordered: Bordered, part: Part, members: IntArray, total: int) -> list[Part]:
    """Return the parts in which one of a set is zero, and those before it are not.

    What gains least alone comes first.
    """
    members = members[np.isin(members, part.free)]
    diagonal = np.diagonal(bordered.array)[members + 1]
    gains = bordered.half[members] ** 2 / np.where(diagonal > 0, diagonal, np.inf)
    members, parts = members[np.argsort(gains, kind="stable")], []
    for k in range(min(len(members), total - len(part.inside) + 1)):
        inside = np.concatenate([part.inside, members[:k]])
        free = np.setdiff1d(part.free, members[: k + 1])
        parts.append(Part(inside, free))
    return parts


def dependent_set(bordered: Bordered, index: IntArray) -> IntArray | None:
    """Return a set of variables that are not all nonzero; None if none is found."""
    S = bordered.array[np.ix_(index + 1, index + 1)]
    place = _first_dependent(S)
    if place is None:
        return None
    v = np.zeros(len(index))
    v[place] = 1.0
    if S[place, place] > 0:
        v[:place] = -np.linalg.lstsq(S[:place, :place], S[:place, place], rcond=None)[0]
    for least in VISIBLE:
        is_member = np.abs(v) > least * np.abs(v).max()
        members = index[is_member]
        if is_proof(bordered.form, members, v[is_member] * bordered.unit[members]):
            return np.asarray(members)
    return None


def _first_dependent(S: FloatArray) -> int | None:
    """Return the first column of a matrix that seems to depend on those before it."""
    rest, least = S.copy(), LEAST_PIVOT * np.abs(np.diagonal(S))
    for j in range(len(S)):
        if not rest[j, j] > least[j]:
            return j
        rest[j:, j:] -= np.outer(rest[j, j:], rest[j, j:] / rest[j, j])
    return None


def is_proof(form: Form, members: IntArray, v: FloatArray) -> bool:
    """Whether a vector proves that not all of some variables are nonzero."""
    names = [int(j) for j in members]
    with ctx.workprec(form.precision):
        if len(names) == 1 and form.G[names[0], names[0]] <= 0:
            return True
        entries = [arb(float(entry)) for entry in v]
        curvature = sum(
            (
                form.G[i, j] * x * y
                for i, x in zip(names, entries, strict=True)
                for j, y in zip(names, entries, strict=True)
            ),
            arb(0),
        )
        size = sum(
            (form.G[i, i] * x * x for i, x in zip(names, entries, strict=True)), arb(0)
        )
        return bool(curvature < arb(INDEPENDENT) * size)
