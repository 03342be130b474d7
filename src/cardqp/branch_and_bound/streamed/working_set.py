"""The working set: the few columns that relaxations know of, with their Gram matrix.

Relaxing on a few columns, pricing all others in a pass over the data and adding those
with the best costs is column generation (Lübbecke and Desrosiers, Operations Research
53, 2005); solvers of the lasso call the columns a working set.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.streamed.size import fits_dense
from cardqp.certificate import DualPoint
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram
from cardqp.problem.sparsity import Subproblem
from cardqp.problem.streamed_form import StreamedForm
from cardqp.relaxation.relaxation import Effort, Relaxation, Relaxed


class SparsePoint(NamedTuple):
    """The nonzeros of a point on a working set, by their positions in it."""

    positions: IntArray
    values: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> "SparsePoint":
        """The nonzeros of a dense point."""
        positions = np.flatnonzero(x)
        return cls(positions, x[positions])


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Some columns of a problem, and the problem on them.

    Attributes
    ----------
    problem, form
        The problem with all columns, and its data.
    columns : int array
        The columns, in the order in which they joined: positions of points stay valid
        when more columns join.
    X : (N, m) array or None
        Their entries; None if these would take too much memory.
    gram : (m, m) array
        ``X'X / N``.
    max_dense_bytes : float
        The most bytes that ``X`` may take.
    """

    problem: SparseQP
    form: StreamedForm
    columns: IntArray
    X: FloatArray | None
    gram: FloatArray = field(repr=False)
    max_dense_bytes: float

    @classmethod
    def of(
        cls,
        problem: SparseQP,
        form: StreamedForm,
        columns: IntArray,
        max_dense_bytes: float,
    ) -> "WorkingSet":
        """Read some columns and form their Gram matrix."""
        if not fits_dense(form, len(columns), max_dense_bytes):
            gram = form.cross(columns, columns)
            return cls(problem, form, columns, None, gram, max_dense_bytes)
        X = form.take(columns)
        gram = X.T @ X / form.n_samples
        return cls(problem, form, columns, X, gram, max_dense_bytes)

    def extend(self, columns: IntArray) -> "WorkingSet":
        """The set with more columns, after those that are in it already."""
        new = np.setdiff1d(columns, self.columns)
        if len(new) == 0:
            return self
        X, across = self._with_new(new)
        m = len(self.columns)
        gram = np.block([[self.gram, across[:m]], [across[:m].T, across[m:]]])
        joined = np.concatenate([self.columns, new])
        return replace(self, columns=joined, X=X, gram=gram)

    def _with_new(self, new: IntArray) -> tuple[FloatArray | None, FloatArray]:
        """The entries with new columns, and the products of all with the new ones."""
        joined = np.concatenate([self.columns, new])
        if self.X is None or not self._fits(len(joined)):
            return None, self.form.cross(joined, new)
        more = self.form.take(new)
        # Residuals take a few columns at a time, which are contiguous in this order.
        X = np.asfortranarray(np.hstack([self.X, more]))
        return X, X.T @ more / self.form.n_samples

    def restrict(self, positions: IntArray) -> "WorkingSet":
        """The set with some of its columns, given by their positions."""
        columns, gram = self.columns[positions], self.gram[np.ix_(positions, positions)]
        X = None if self.X is None else np.asfortranarray(self.X[:, positions])
        if X is None and self._fits(len(columns)):
            X = self.form.take(columns)
        return replace(self, columns=columns, X=X, gram=gram)

    def _fits(self, count: int) -> bool:
        return fits_dense(self.form, count, self.max_dense_bytes)

    @cached_property
    def reduced(self) -> SparseQP:
        """The problem on these columns, all other variables being zero."""
        # Relaxations only suggest dual points, and bounds are computed from the data:
        # rounding in this matrix need not be accounted for.
        form = Gram(self.gram, np.zeros(len(self.columns)))
        return self.problem.restrict(self.columns, form)

    @cached_property
    def relaxation(self) -> Relaxation:
        """The relaxation of the reduced problem."""
        return Relaxation.prepare(self.reduced)

    def prepared(self) -> "WorkingSet":
        """The set itself, with its relaxation at hand, which threads share."""
        _ = self.relaxation
        return self

    @cached_property
    def position_of(self) -> dict[int, int]:
        """The position of each column."""
        return {int(column): position for position, column in enumerate(self.columns)}

    def relax(
        self, subproblem: Subproblem, start: SparsePoint, effort: Effort
    ) -> tuple[Relaxed, float]:
        """Relax a subproblem, and bound it on these columns.

        The bound is an estimate of that over all columns.
        """
        x = self.dense(start)
        x[subproblem.fixed_out] = 0.0
        relaxation = self.relaxation
        relaxed = relaxation.solve(subproblem, x / relaxation.unit, np.zeros(0), effort)
        proof = DualPoint.at(relaxed.tangent_point, relaxed.beta)
        return relaxed, proof.bound(self.reduced).value(subproblem)

    def dense(self, point: SparsePoint) -> FloatArray:
        """A point of this set, or of one that it was extended from, as a vector."""
        x = np.zeros(len(self.columns))
        x[point.positions] = point.values
        return x

    def residuals(self, points: Sequence[SparsePoint]) -> FloatArray:
        """``y - Xx`` for points on the set, one in each column."""
        support = np.unique(np.concatenate([point.positions for point in points]))
        weights = np.zeros((len(support), len(points)))
        for k, point in enumerate(points):
            weights[np.searchsorted(support, point.positions), k] = point.values
        if self.X is None:
            fitted = self.form.combine(self.columns[support], weights)
        else:
            fitted = self.X[:, support] @ weights
        return np.asfortranarray(self.form.target[:, None] - fitted)
