"""The problem as the steps at the root leave it, by the search's own account.

The checker computes the same from the certificate, in
:mod:`cardqp.certificate.root`.  Both evaluate dual points by :mod:`cardqp.bounds`; what
follows from them, each works out by itself.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from cardqp._typing import IntArray
from cardqp.bounds.node_ridges import MinorantRest
from cardqp.bounds.positive_ridge import find_start, without_cut
from cardqp.bounds.row_shift import shift_by_row
from cardqp.bounds.sparse_minorant import sparse_minorant
from cardqp.bounds.start import Start
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.certificate import Reduction
from cardqp.certificate.root import RootState
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, in_memory
from cardqp.problem.sparsity import Subproblem

Reduced = tuple[Reduction, SparseQP]
"""A reduction, and the problem that it leads to."""


@dataclass(frozen=True, slots=True)
class PresolveState:
    """The problem after some steps at the root.

    Attributes
    ----------
    problem : SparseQP
        The problem that is relaxed: as given, with a diagonal moved to the ridge, or a
        sparse minorant of it.
    without_minorant : SparseQP
        The same, before a minorant took its place.
    original : SparseQP
        The problem as given, with the variables that are left.
    uncut : SparseQP
        The same before a tiny ridge made up for dependent columns, if one did.
    indices : int array
        Which variables of the given problem these are.
    subproblem : Subproblem
        What has been decided about them.
    lower_bound : float
        The best bound of what is left.
    pruned_bound : float
        The least bound among what was pruned by fixing variables.
    rest : MinorantRest or None
        What a minorant leaves of the form, by which nodes raise its ridge, if they do.
    ridge_start : Start or None
        The ridge of a problem that was given without one.
    """

    problem: SparseQP
    without_minorant: SparseQP
    original: SparseQP
    uncut: SparseQP
    indices: IntArray
    subproblem: Subproblem
    lower_bound: float = -np.inf
    pruned_bound: float = np.inf
    rest: MinorantRest | None = None
    ridge_start: Start | None = None

    @classmethod
    def start(cls, problem: SparseQP) -> "PresolveState":
        """Nothing done yet; streamed data come into memory, and there is a ridge."""
        given = in_memory(problem)
        start = find_start(given)
        problem = given if start is None else start.view(given)
        uncut, indices = without_cut(given, problem), np.arange(problem.n)
        state = cls(problem, problem, problem, uncut, indices, problem.root)
        return replace(state, ridge_start=start)

    @classmethod
    def restored(cls, state: RootState) -> "PresolveState":
        """Where a search stood, from what a replay of its certificate found."""
        return cls(**{part.name: getattr(state, part.name) for part in fields(cls)})

    def bounded(
        self, bound: SeparableBound, fixed_in: IntArray, fixed_out: IntArray
    ) -> "PresolveState":
        """The state after Theorem 1 at a dual point, and fixings by Theorem 2."""
        lower = max(self.lower_bound, bound.value(self.subproblem))
        pruned = self.pruned_bound
        if len(fixed_in) + len(fixed_out) > 0:
            on, off = bound.fixing_bounds(self.subproblem)
            least = np.minimum(
                off[fixed_in].min(initial=np.inf), on[fixed_out].min(initial=np.inf)
            )
            pruned = min(pruned, max(lower, float(least)))
        return replace(
            self,
            lower_bound=lower,
            pruned_bound=pruned,
            subproblem=self.subproblem.decide(fixed_in, fixed_out),
        )

    def without_bounds(self) -> "PresolveState":
        """The state before any minorant, with bounds of variables ignored."""
        problem = self.problem.without_bounds()
        original = problem
        if self.original is not self.problem:
            original = self.original.without_bounds()
        uncut = original
        if self.uncut is not self.original:
            uncut = self.uncut.without_bounds()
        return replace(
            self,
            problem=problem,
            without_minorant=problem,
            original=original,
            uncut=uncut,
        )

    def reduced(
        self, reduction: Reduction, problem: SparseQP | None = None
    ) -> "PresolveState":
        """The state after a reduction, whose ``problem`` may be at hand."""
        kept = reduction.kept
        if problem is None:
            problem = reduce_problem(self, reduction)
        without_minorant = problem
        if self.without_minorant is not self.problem or reduction.minorant is not None:
            without_minorant = self.without_minorant.restrict(kept)
        rest = None if self.rest is None else self.rest.restrict(kept)
        if reduction.minorant is not None:
            base = _before_minorant(self, reduction)
            rest = MinorantRest.of(base, problem, reduction.weights)
        original = self.original.restrict(kept)
        is_cut = self.uncut is not self.original
        return replace(
            self,
            problem=problem,
            without_minorant=without_minorant,
            original=original,
            uncut=self.uncut.restrict(kept) if is_cut else original,
            indices=self.indices[kept],
            subproblem=self.subproblem.restrict(kept),
            rest=rest,
        )


def reduce_problem(state: PresolveState, reduction: Reduction) -> SparseQP:
    """The problem that takes the place of the state's own.

    A minorant starts anew from the original problem; all else goes on from the problem
    as it is.
    """
    reduced = _before_minorant(state, reduction)
    if reduction.minorant is not None:
        reduced = sparse_minorant(reduced, reduction.minorant, reduction.weights)
    return reduced


def try_reduction(state: PresolveState, reduction: Reduction) -> SparseQP | None:
    """The same, or None where rounding leaves nothing of what is to be moved.

    What a matrix lacks to be positive semidefinite after a change is bounded by a
    Cholesky factorisation, and may be more than rounding where its entries differ much
    in size.
    """
    try:
        return reduce_problem(state, reduction)
    except ProblemError:
        return None


def _before_minorant(state: PresolveState, reduction: Reduction) -> SparseQP:
    """The same, before a minorant takes its place."""
    if reduction.minorant is None:
        reduced = state.problem.restrict(reduction.kept)
    else:
        reduced = state.original.restrict(reduction.kept)
    if reduction.row_shift is not None:
        reduced = shift_by_row(reduced, reduction.row_shift)
    if reduction.diagonal_shift is not None:
        reduced = reduced.move_to_ridge(reduction.diagonal_shift)
    return reduced
