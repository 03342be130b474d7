"""The presolve steps of a proof, and the problem as they leave it.

This is the checker's own account.  The search has another one,
:mod:`cardqp.branch_and_bound.presolve`, so that a mistake in either shows in a replay.
The steps are those of Theorem 7 (docs/theory.md#theorem-7).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import IntArray
from cardqp.bounds.node_ridges import MinorantRest
from cardqp.bounds.positive_ridge import with_positive_ridge, without_cut
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.certificate.dual_proof import DualProof, Reduction, is_array
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP, in_memory
from cardqp.problem.sparsity import Subproblem

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class RootStep:
    """One presolve step: a dual point, the variables it fixes, and a reduction.

    Attributes
    ----------
    proof : DualProof
        A dual point.
    fixed_in, fixed_out : int arrays
        Variables fixed at this dual point by Theorem 2 (docs/theory.md#theorem-2).
    reduction : Reduction or None
        The reformulation after the step; None if the problem stays as it is.
    """

    proof: DualProof
    fixed_in: IntArray = field(default_factory=lambda: _NONE)
    fixed_out: IntArray = field(default_factory=lambda: _NONE)
    reduction: Reduction | None = None


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

    @classmethod
    def start(cls, problem: SparseQP) -> "RootState":
        """Return the state before the first step.

        The problem is in memory, and has a ridge: see
        :func:`~cardqp.bounds.positive_ridge.with_positive_ridge`.
        """
        given = in_memory(problem)
        problem, indices = with_positive_ridge(given), np.arange(given.n)
        uncut = without_cut(given, problem)
        return cls(problem, problem, problem, uncut, indices, problem.root)

    def after(self, step: RootStep) -> "RootState":
        """Return the state after one more step.

        Raises
        ------
        ProblemError
            When the step does not fit the state.
        """
        self._check(step)
        bound = step.proof.bound(self.problem)
        lower_bound = max(self.lower_bound, bound.value(self.subproblem))
        # What the fixings exclude was part of the branch, so that the bound of the
        # whole branch holds for it too.
        pruned_bound = max(lower_bound, _fixing_bound(step, bound, self.subproblem))
        seen = replace(
            self,
            lower_bound=lower_bound,
            pruned_bound=min(self.pruned_bound, pruned_bound),
            subproblem=self.subproblem.decide(step.fixed_in, step.fixed_out),
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
        original = uncut = self.original.restrict(kept)
        if self.uncut is not self.original:
            uncut = self.uncut.restrict(kept)
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
        problem = without_minorant = self.problem.without_bounds()
        if self.without_minorant is not self.problem:
            without_minorant = self.without_minorant.without_bounds()
        original = uncut = self.original.without_bounds()
        if self.uncut is not self.original:
            uncut = self.uncut.without_bounds()
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
        if (
            len(np.unique(decided)) < len(decided)
            or not ((decided >= 0) & (decided < len(free))).all()
            or not free[decided].all()
        ):
            raise ProblemError("A step must decide free variables, once.")


def _fixing_bound(
    step: RootStep, bound: SeparableBound, subproblem: Subproblem
) -> float:
    """Return the least bound among the branches that Theorem 2 prunes.

    See docs/theory.md#theorem-2.  A bound that is not a number proves nothing.
    """
    if len(step.fixed_in) + len(step.fixed_out) == 0:
        return np.inf
    on, off = bound.fixing_bounds(subproblem)
    pruned_bound = np.concatenate([off[step.fixed_in], on[step.fixed_out]])
    return -np.inf if np.isnan(pruned_bound).any() else float(pruned_bound.min())
