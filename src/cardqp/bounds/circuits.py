"""Branches without dependent columns, for problems without a ridge that have some.

Where only points with independent nonzeros count, none has all of a dependent set of
columns among them.  Such a set, a circuit, splits a branch: its first variable is zero,
or that is nonzero and the second one is zero, and so on.  What is left in the end is
well conditioned, and no ridge is needed (docs/theory.md#circuits).
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import circuit_unit
from cardqp.bounds.dependence import unit_curvature
from cardqp.problem import SparseQP

LEAST_PIVOT = 1e-6
"""A column is taken for dependent on those before it if less than this share of its
square is left.  What is above it can be searched without a loss by rounding."""

VISIBLE = (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 0.0)
"""Entries of a dependence that are left out, relative to the largest, if what is left
is a proof: the smaller a circuit, the fewer parts."""

MOST_PARTS = 600
"""The most parts of a branch, which are searched one by one."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a branch: variables that are nonzero in all its points, or may be."""

    fixed_in: IntArray
    free: IntArray

    @property
    def index(self) -> IntArray:
        """All of its variables, those first that are nonzero."""
        return np.concatenate([self.fixed_in, self.free])


def independent_parts(
    problem: SparseQP, fixed_in: IntArray, free: IntArray
) -> list[Part] | None:
    """Split a branch until the columns of each part are independent.

    Every point of the branch that counts is in one of the parts.  A branch of a problem
    where all points count is its own only part.  None if there are too many, or
    dependent columns are forced in and may be zero.  The problem is that as given, not
    a minorant with a tiny ridge.

    Examples
    --------
    >>> problem = SparseQP(np.ones((2, 2)), -np.ones(2), eta=None, sparsity=2)
    >>> parts = independent_parts(
    ...     problem.with_independence(1e-4), np.arange(0), np.arange(2)
    ... )
    >>> [(part.fixed_in.tolist(), part.free.tolist()) for part in parts]
    [([], [1]), ([0], [])]
    """
    branch = Part(fixed_in, free)
    if problem.independence == 0.0:
        return [branch]
    circuits, found, waiting = Circuits.of(problem), [], [branch]
    is_forced = np.zeros(problem.n, dtype=bool)
    is_forced[problem.forced_in] = True
    while waiting:
        part = waiting.pop()
        circuit = circuits.find(part.index)
        if circuit is None:
            found.append(part)
        elif is_forced[circuit].any():
            return None
        else:
            waiting += circuits.split(part, circuit)
        if len(found) + len(waiting) > MOST_PARTS:
            return None
    # Those with the most freedom first: the best support is likely to be there.
    return sorted(found, key=lambda part: len(part.fixed_in))


@dataclass(frozen=True, slots=True)
class Circuits:
    """Dependent sets of columns, which no point that counts has among its nonzeros.

    Attributes
    ----------
    scaled : (n, n) array
        ``Q + diag(ridge)``, scaled to unit diagonal.
    gain : (n,) array
        What each variable gains alone.
    most : float
        A unit vector with less curvature than this proves that its columns depend.
    limit : int
        The most nonzeros.
    """

    scaled: FloatArray
    gain: FloatArray
    most: float
    limit: int

    @classmethod
    def of(cls, problem: SparseQP) -> "Circuits":
        """Prepare a problem without a ridge."""
        unit, form = unit_curvature(problem), problem.quadratic
        scaled = unit[:, None] * (form.dense() + np.diag(problem.ridge)) * unit
        # The rule is tested in floats: points count if half of it holds, for sure.
        most = 0.5 * problem.independence - circuit_unit(problem.n, form.formed)
        return cls(scaled, (unit * problem.c) ** 2, most, problem.rule.limit)

    def find(self, index: IntArray) -> IntArray | None:
        """A circuit among some variables; None if there is none.

        Or if none can be proved: what is made of the part must be checked.
        """
        S = self.scaled[index[:, None], index]
        place = first_dependent(S)
        if place is None:
            return None
        v = np.zeros(len(index))
        v[place] = 1.0
        if place > 0 and S[place, place] > 0:
            v[:place] = -np.linalg.solve(S[:place, :place], S[:place, place])
        for least in VISIBLE:
            is_member = np.abs(v) > least * np.abs(v).max()
            if self.is_proof(S[is_member][:, is_member], v[is_member]):
                return np.asarray(index[is_member])
        return None

    def is_proof(self, S: FloatArray, v: FloatArray) -> bool:
        """Whether a vector proves that columns are too dependent to count together."""
        if not (S.diagonal() > 0).all():
            return True  # a column without curvature, which no point makes use of
        return bool(v @ S @ v < self.most * (v @ v))

    def split(self, part: Part, circuit: IntArray) -> list[Part]:
        """The parts of a part in which one of a circuit is zero, those before are not.

        What gains least alone comes first: little is lost without it, and a slot is
        wasted with it.
        """
        is_free = np.zeros(len(self.gain), dtype=bool)
        is_free[part.free] = True
        members = circuit[is_free[circuit]]
        members = members[np.argsort(self.gain[members], kind="stable")]
        parts, most = [], self.limit - len(part.fixed_in)
        for k, member in enumerate(members[: most + 1]):
            is_free[member] = False
            fixed_in = np.concatenate([part.fixed_in, members[:k]])
            parts.append(Part(fixed_in, np.flatnonzero(is_free)))
        return parts


def first_dependent(S: FloatArray) -> int | None:
    """The first column of a matrix that depends on those before it; None if none does.

    This is a guess, which a vector has to prove.
    """
    factor, failed = scipy.linalg.lapack.dpotrf(S.T, lower=1, clean=0)
    # It fails at a column from which nothing is left, counted from one; 0 if at none.
    n_done = failed - 1 if failed > 0 else len(S)
    is_small = ~(factor.diagonal()[:n_done] ** 2 > LEAST_PIVOT)
    if is_small.any():
        return int(is_small.argmax())
    return n_done if failed > 0 else None
