"""The few columns that are looked at closely, with their Gram matrix."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.columns import Columns
from cardqp.exact.relaxation import Relaxation
from cardqp.problem import SparseQP
from cardqp.quadratic import Gram


class Sparse(NamedTuple):
    """The nonzeros of a point of a working set, by their places in it."""

    places: IntArray
    values: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> "Sparse":
        """The nonzeros of a dense point."""
        places = np.flatnonzero(x)
        return cls(places, x[places])


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Some columns of a problem.

    Attributes
    ----------
    problem : SparseQP
        The problem with all columns.
    ids : int array
        Which columns these are, in the order in which they came.
    X : (N, m) array
        The columns.
    gram : (m, m) array
        ``X'X / N``.
    """

    problem: SparseQP
    form: Columns
    ids: IntArray
    X: FloatArray
    gram: FloatArray = field(repr=False)

    @classmethod
    def of(cls, problem: SparseQP, form: Columns, ids: IntArray) -> "WorkingSet":
        """The set of some columns."""
        X = form.take(ids)
        return cls(problem, form, ids, X, X.T @ X / form.n_samples)

    def with_more(self, ids: IntArray) -> "WorkingSet":
        """The set with more columns; those in it already stay where they are."""
        new = np.setdiff1d(ids, self.ids)
        if len(new) == 0:
            return self
        more = self.form.take(new)
        across = self.X.T @ more / self.form.n_samples
        gram = np.block([[self.gram, across], [across.T, _gram(more)]])
        X = np.asfortranarray(np.hstack([self.X, more]))
        return WorkingSet(
            self.problem, self.form, np.concatenate([self.ids, new]), X, gram
        )

    def only(self, kept: IntArray) -> "WorkingSet":
        """The set with some of its columns, given by their positions."""
        part = self.gram[np.ix_(kept, kept)]
        X = np.asfortranarray(self.X[:, kept])
        return WorkingSet(self.problem, self.form, self.ids[kept], X, part)

    @cached_property
    def reduced(self) -> SparseQP:
        """The problem on these columns.

        Nothing is proved with it, so that rounding in its matrix does not matter.
        """
        form = Gram(self.gram, np.zeros(len(self.ids)))
        return self.problem.restrict(self.ids, form)

    @cached_property
    def relaxation(self) -> Relaxation:
        """The relaxation on these columns."""
        return Relaxation.prepare(self.reduced)

    @cached_property
    def places(self) -> dict[int, int]:
        """Where each column is."""
        return {int(column): place for place, column in enumerate(self.ids)}

    def place(self, x: FloatArray) -> Sparse:
        """A point of the whole problem, as far as it is in the set."""
        return Sparse.of(x[self.ids])

    def dense(self, point: Sparse) -> FloatArray:
        """A point of this set, or of one that has grown to it."""
        x = np.zeros(len(self.ids))
        x[point.places] = point.values
        return x

    def residual(self, point: Sparse) -> FloatArray:
        """``y - Xx`` for a point of the set."""
        return np.asarray(self.form.target - self.X[:, point.places] @ point.values)


def _gram(X: FloatArray) -> FloatArray:
    return np.asarray(X.T @ X / len(X))
