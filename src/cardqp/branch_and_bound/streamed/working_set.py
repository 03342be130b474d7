"""The few columns that are looked at closely, with their Gram matrix."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.streamed.size import holds
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram
from cardqp.problem.streamed_form import StreamedForm
from cardqp.relaxation.relaxation import Relaxation


class SparsePoint(NamedTuple):
    """The nonzeros of a point of a working set, by their places in it."""

    places: IntArray
    values: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> "SparsePoint":
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
    X : (N, m) array or None
        The columns; none if they would take too much memory.
    gram : (m, m) array
        ``X'X / N``.
    """

    problem: SparseQP
    form: StreamedForm
    ids: IntArray
    X: FloatArray | None
    gram: FloatArray = field(repr=False)

    @classmethod
    def of(cls, problem: SparseQP, form: StreamedForm, ids: IntArray) -> "WorkingSet":
        """The set of some columns."""
        if not holds(form, len(ids)):
            return cls(problem, form, ids, None, form.cross(ids, ids))
        X = form.take(ids)
        return cls(problem, form, ids, X, X.T @ X / form.n_samples)

    def with_more(self, ids: IntArray) -> "WorkingSet":
        """The set with more columns; those in it already stay where they are."""
        new = np.setdiff1d(ids, self.ids)
        if len(new) == 0:
            return self
        X, across = self._joined(new)
        m = len(self.ids)
        gram = np.block([[self.gram, across[:m]], [across[:m].T, across[m:]]])
        return replace(self, ids=np.concatenate([self.ids, new]), X=X, gram=gram)

    def _joined(self, new: IntArray) -> tuple[FloatArray | None, FloatArray]:
        """The columns with new ones, and the products of all with the new ones."""
        together = np.concatenate([self.ids, new])
        if self.X is None or not holds(self.form, len(together)):
            return None, self.form.cross(together, new)
        more = self.form.take(new)
        X = np.asfortranarray(np.hstack([self.X, more]))
        return X, X.T @ more / self.form.n_samples

    def only(self, kept: IntArray) -> "WorkingSet":
        """The set with some of its columns, given by their positions."""
        ids, part = self.ids[kept], self.gram[np.ix_(kept, kept)]
        X = None if self.X is None else np.asfortranarray(self.X[:, kept])
        if X is None and holds(self.form, len(ids)):
            X = self.form.take(ids)
        return replace(self, ids=ids, X=X, gram=part)

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

    def place(self, x: FloatArray) -> SparsePoint:
        """A point of the whole problem, as far as it is in the set."""
        return SparsePoint.of(x[self.ids])

    def dense(self, point: SparsePoint) -> FloatArray:
        """A point of this set, or of one that has grown to it."""
        x = np.zeros(len(self.ids))
        x[point.places] = point.values
        return x

    def residuals(self, points: Sequence[SparsePoint]) -> FloatArray:
        """``y - Xx`` for points of the set, one in each column."""
        support = np.unique(np.concatenate([point.places for point in points]))
        weights = np.zeros((len(support), len(points)))
        for k, point in enumerate(points):
            weights[np.searchsorted(support, point.places), k] = point.values
        if self.X is None:
            fitted = self.form.combine(self.ids[support], weights)
        else:
            fitted = self.X[:, support] @ weights
        return np.asfortranarray(self.form.target[:, None] - fitted)
