"""The presolve steps of a proof, and the problem as they leave it.

This is the checker's own account.  The search has another one,
:mod:`cardqp.branch_and_bound.presolve`, so that a mistake in either shows in a replay.
The steps are those of Theorem 7 (docs/theory.md#theorem-7).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import IntArray
from cardqp.bounds.node_ridges import MinorantRest
from cardqp.bounds.positive_ridge import without_cut
from cardqp.bounds.start import Start, has_ridge
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.certificate.dual_point import DualPoint, Reduction, is_array
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, in_memory
from cardqp.problem.sparsity import Subproblem

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class RootStep:
    """One presolve step: a dual point, the variables it fixes, and a reduction.

    Attributes
    ----------
    point : DualPoint
        A dual point.
    fixed_in, fixed_out : int arrays
        Variables fixed at this dual point by Theorem 2 (docs/theory.md#theorem-2).
    reduction : Reduction or None
        The reformulation after the step; None if the problem stays as it is.
    cutoff : float or None
        If there is one, all variables are fixed whose other value has a bound of at
        least this at the dual point.  They are not listed then.
    """

    point: DualPoint
    fixed_in: IntArray = field(default_factory=lambda: _NONE)
    fixed_out: IntArray = field(default_factory=lambda: _NONE)
    reduction: Reduction | None = None
    cutoff: float | None = None


@dataclass(frozen=True, slots=True)
class RootState:
    """The problem after some presolve steps, as the checker computes it.

    Attributes
    ----------
    problem : SparseQP
        The problem whose dual points are evaluated: as given, with a diagonal moved to
        the ridge, or a sparse minorant of it.
    without_minorant : SparseQP
        The problem before it was replaced by a minorant; ``problem`` if it was not.
    original : SparseQP
        The problem as given, restricted to the variables that remain.
    uncut : SparseQP
        The same without the tiny ridge that takes the place of dependent columns;
        ``original`` if it has none.
    indices : int array
        The indices of these variables in the problem as given.
    subproblem : Subproblem
        Which of them are fixed in and fixed out.
    lower_bound : float
        The best bound on the points that remain.
    pruned_bound : float
        The least bound among the points that were excluded by the steps.
    rest : MinorantRest or None
        What the minorant leaves of the form, by which nodes raise its ridge; None if
        there is no minorant, or if nodes do not.
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
    def start(
        cls,
        problem: SparseQP,
        ridge_start: Start | None = None,
        *,
        is_streamed: bool = False,
    ) -> "RootState":
        """Return the state before the first step.

        Its problem is in memory, unless the proof is about streamed data, and has a
        ridge: that of the start, if there is one.
        """
        given = problem if is_streamed else in_memory(problem)
        problem, indices = given, np.arange(given.n)
        if ridge_start is not None:
            problem = ridge_start.view(given)
        elif not has_ridge(given):
            raise ProblemError("A proof about a problem without a ridge needs a start.")
        uncut, root = without_cut(given, problem), problem.root
        state = cls(problem, problem, problem, uncut, indices, root)
        return replace(state, ridge_start=ridge_start)

    def after(self, step: RootStep, bound: SeparableBound | None = None) -> "RootState":
        """Return the state after one more step, whose ``bound`` may be at hand.

        Raises ``ProblemError`` if the step does not fit the state.
        """
        self._check(step)
        if bound is None:
            bound = step.point.bound(self.problem)
        lower_bound = max(self.lower_bound, bound.value(self.subproblem))
        fixed_in, fixed_out, excluded = _fixings(step, bound, self.subproblem)
        seen = replace(
            self,
            lower_bound=lower_bound,
            # What the fixings exclude was part of the branch, so that the bound of the
            # whole branch holds for it too.
            pruned_bound=min(self.pruned_bound, max(lower_bound, excluded)),
            subproblem=self.subproblem.decide(fixed_in, fixed_out),
        )
        return seen if step.reduction is None else seen._reduced(step.reduction)

    def _reduced(self, reduction: Reduction) -> "RootState":
        """Return the state with fewer variables, or with another split of ``Q``."""
        kept = reduction.kept
        if (
            not reduction.is_sound()
            or not ((kept >= 0) & (kept < self.problem.n)).all()
            or len(np.unique(kept)) < len(kept)
            or not np.delete(self.subproblem.fixed_out, kept).all()
        ):
            raise ProblemError("A reduction must keep what is not switched off, once.")
        if reduction.drops_bounds:
            return self._without_bounds()._reduced(
                replace(reduction, drops_bounds=False)
            )
        problem = without_minorant = reduction.apply(self.problem, self.original)
        if self.without_minorant is not self.problem or reduction.minorant is not None:
            without_minorant = self.without_minorant.restrict(kept)
        rest = None if self.rest is None else self.rest.restrict(kept)
        if reduction.minorant is not None:
            rest = reduction.rest(self.original, problem)
        original, uncut = _each(
            self.original, self.uncut, lambda given: given.restrict(kept)
        )
        return replace(
            self,
            problem=problem,
            without_minorant=without_minorant,
            original=original,
            uncut=uncut,
            indices=self.indices[kept],
            subproblem=self.subproblem.restrict(kept),
            rest=rest,
        )

    def _without_bounds(self) -> "RootState":
        """Return the state with bounds of variables ignored in all its problems."""
        drop = SparseQP.without_bounds
        problem, without_minorant = _each(self.problem, self.without_minorant, drop)
        original, uncut = _each(self.original, self.uncut, drop)
        return replace(
            self,
            problem=problem,
            without_minorant=without_minorant,
            original=original,
            uncut=uncut,
        )

    def _check(self, step: RootStep) -> None:
        if not (is_array(step.fixed_in, "i", 1) and is_array(step.fixed_out, "i", 1)):
            raise ProblemError("A step must decide variables by their indices.")
        decided = np.concatenate([step.fixed_in, step.fixed_out])
        free = self.subproblem.undecided
        if step.cutoff is not None and not (
            len(decided) == 0 and np.isfinite(step.cutoff)
        ):
            raise ProblemError("A step has a finite cutoff, or lists what it fixes.")
        if (
            len(np.unique(decided)) < len(decided)
            or not ((decided >= 0) & (decided < len(free))).all()
            or not free[decided].all()
        ):
            raise ProblemError("A step must decide free variables, once.")


def _each(
    first: SparseQP, second: SparseQP, change: Callable[[SparseQP], SparseQP]
) -> tuple[SparseQP, SparseQP]:
    """Return two problems changed, which are one if they were."""
    changed = change(first)
    return changed, changed if second is first else change(second)


def _fixings(
    step: RootStep, bound: SeparableBound, subproblem: Subproblem
) -> tuple[IntArray, IntArray, float]:
    """Return what a step fixes in and out, and the least bound that this excludes.

    See docs/theory.md#theorem-2.  A bound that is not a number proves nothing.
    """
    fixed_in, fixed_out = step.fixed_in, step.fixed_out
    if step.cutoff is None and len(fixed_in) + len(fixed_out) == 0:
        return fixed_in, fixed_out, np.inf
    on, off = bound.fixing_bounds(subproblem)
    if step.cutoff is not None:
        is_out = subproblem.undecided & (on >= step.cutoff)
        is_in = subproblem.undecided & (off >= step.cutoff) & ~is_out
        has_any = is_in.any() or is_out.any()
        excluded = step.cutoff if has_any else np.inf
        return np.flatnonzero(is_in), np.flatnonzero(is_out), excluded
    excluded = np.concatenate([off[fixed_in], on[fixed_out]]).min()
    return fixed_in, fixed_out, -np.inf if np.isnan(excluded) else float(excluded)
