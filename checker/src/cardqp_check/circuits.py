r"""Branches where only points with independent nonzeros count, in parts without others.

Such a point has nonzeros :math:`S` with
:math:`G_{SS} \succeq \tau\, \mathrm{diag}(g_S)` and :math:`g_S > 0`, where :math:`g` is
the diagonal of :math:`G`.  If a vector :math:`v \ne 0` that vanishes outside of
:math:`C` has :math:`v^\top G v \lt \tau \sum_j g_j v_j^2`, then not all of :math:`C`
are nonzero.  So a branch is split: the first variable of
:math:`C` is zero, or it is nonzero and the second is zero, and so on; variables that
are nonzero in all of the branch are passed over.  A variable with
:math:`g_j \le 0` is such a set by itself.  Which sets are tried is a guess.
"""

from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from cardqp_check.bordered import Bordered
from cardqp_check.submatrices import FloatArray, IntArray, UndecidedError

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

    @property
    def index(self) -> IntArray:
        """All of its variables."""
        return np.concatenate([self.inside, self.free])


@dataclass(frozen=True)
class Circuits:
    """Sets of variables that are not all nonzero at a point that counts.

    Attributes
    ----------
    bordered : Bordered
        The form, and its matrix in floats.
    total : int
        The most nonzeros.
    share : float
        The least curvature of points that count, relative to the diagonal.
    may_be_zero : int array
        Variables that are in whether they are zero or not: a set with one of these
        splits nothing.
    """

    bordered: Bordered
    total: int
    share: float
    may_be_zero: IntArray

    def independent_parts(self, branch: Part) -> list[Part]:
        """Split a branch until no dependent set is found in any part.

        Raises
        ------
        UndecidedError
            When there are too many parts, or a dependent set may have zeros.
        """
        found: list[Part] = []
        waiting = [branch]
        while waiting:
            part = waiting.pop()
            members = self.find(part.index)
            if members is None:
                found.append(part)
            elif np.isin(members, self.may_be_zero).any():
                raise UndecidedError
            else:
                waiting += self._split(part, members)
            if len(waiting) + len(found) > MOST_PARTS:
                raise UndecidedError
        return found

    def _split(self, part: Part, members: IntArray) -> list[Part]:
        """Return the parts in which one of a set is zero, and those before it are not.

        What gains least alone comes first.
        """
        members = members[np.isin(members, part.free)]
        diagonal = np.diagonal(self.bordered.array)[members + 1]
        gains = self.bordered.half[members] ** 2 / np.maximum(diagonal, 1e-300)
        members, parts = members[np.argsort(gains, kind="stable")], []
        for k in range(min(len(members), self.total - len(part.inside) + 1)):
            inside = np.concatenate([part.inside, members[:k]])
            parts.append(Part(inside, np.setdiff1d(part.free, members[: k + 1])))
        return parts

    def find(self, index: IntArray) -> IntArray | None:
        """Return some variables that are not all nonzero; None if none are found."""
        S = self.bordered.array[np.ix_(index + 1, index + 1)]
        place = _first_dependent(S)
        if place is None:
            return None
        v = np.zeros(len(index))
        v[place] = 1.0
        if S[place, place] > 0:
            before = S[:place, :place], S[:place, place]
            v[:place] = -np.linalg.lstsq(*before, rcond=None)[0]
        for least in VISIBLE:
            is_member = np.abs(v) > least * np.abs(v).max()
            members = index[is_member]
            if self.is_proof(members, v[is_member] * self.bordered.unit[members]):
                return np.asarray(members)
        return None

    def is_proof(self, members: IntArray, v: FloatArray) -> bool:
        """Whether a vector proves that some variables are not all nonzero."""
        form, names = self.bordered.form, [int(j) for j in members]
        with ctx.workprec(form.precision):
            if len(names) == 1 and form.G[names[0], names[0]] <= 0:
                return True
            pairs = [(j, arb(float(x))) for j, x in zip(names, v, strict=True)]
            curvature, size = arb(0), arb(0)
            for i, x in pairs:
                size += form.G[i, i] * x * x
                for j, y in pairs:
                    curvature += form.G[i, j] * x * y
            # The share may be a decimal fraction that was rounded up to a float.
            return bool(curvature < arb(self.share) * (1 - arb(2) ** -50) * size)


def _first_dependent(S: FloatArray) -> int | None:
    """Return the first column of a matrix that seems to depend on those before it."""
    rest, least = S.copy(), LEAST_PIVOT * np.abs(np.diagonal(S))
    for j in range(len(S)):
        if not rest[j, j] > least[j]:
            return j
        rest[j:, j:] -= np.outer(rest[j, j:], rest[j, j:] / rest[j, j])
    return None
