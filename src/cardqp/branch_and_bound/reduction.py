"""Reductions of the root: fewer variables, or a better split of ``Q``.

What is cheap is tried first: taking out variables and moving an eigenvalue shift to the
ridge.  The optimal diagonal and sparse minorants take longer than a small tree, and are
tried only if the root leaves a gap (docs/theory.md#splits).
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.function_split import AdoptedSplit, FunctionSplitSearch
from cardqp.branch_and_bound.joint_split import JointSplitSearch
from cardqp.branch_and_bound.presolve import PresolveState, Reduced, try_reduction
from cardqp.branch_and_bound.settings import RootSettings
from cardqp.branch_and_bound.signed_starts import AscentStart, SignedStarts
from cardqp.branch_and_bound.tree import Tree
from cardqp.branch_and_bound.trial_dives import TrialDives
from cardqp.certificate import DualPoint, Reduction
from cardqp.heuristics.completed_supports import Supports
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.ascent import level_start, optimise_split
from cardqp.splitting.diagonal import eigenvalue_shift, optimal_diagonal_shift
from cardqp.splitting.joint_ascent import JointAscent
from cardqp.splitting.sparse_split import Split, is_splittable


@dataclass(frozen=True, slots=True)
class ReductionSearch:
    """Finds the next reduction of the root, for a tree whose presolve is not over.

    The relative gap is the one asked for; nodes are pruned at the cutoff of the effort.
    """

    tree: Tree
    gap: float
    effort: Effort

    @property
    def settings(self) -> RootSettings:
        """The settings of the presolve."""
        return self.tree.settings.root

    @property
    def trial(self) -> TrialDives:
        """What estimates trees."""
        return TrialDives(self.tree, self.effort)

    def find(self, presolved: PresolveState, reached: float) -> Reduced | None:
        """A smaller problem, or one with a better split, if there is one.

        Cheap reductions come first, and each is followed by another relaxation.  The
        bound ``reached`` is that of the relaxation before the last fixings.
        """
        problem = presolved.problem
        kept = np.flatnonzero(~presolved.subproblem.fixed_out)
        is_leaf = (
            presolved.subproblem.remaining <= 0
            or not presolved.subproblem.undecided.any()
        )
        if is_leaf or self.effort.is_over():
            return None
        diagonal_shift = self._eigenvalue_shift(problem, kept)
        # The eigenvalue shift goes on as long as variables are fixed; all that takes
        # longer waits until it does not help any more.
        found = None
        if diagonal_shift is not None and diagonal_shift.any():
            found = self._apply(presolved, Reduction(kept, diagonal_shift))
        if len(kept) <= self.settings.reduction_share * problem.n:
            plain = Reduction(kept), problem.restrict(kept)
            return (
                found
                or self._apply(presolved, Reduction(kept, diagonal_shift))
                or plain
            )
        if found is None and self._is_loose(presolved):
            self.tree.tightened = len(kept)
            found = self._tighten(presolved, kept, reached)
        if found is None and self._is_splittable(presolved):
            self.tree.split = len(kept)
            found = self._split_by_signs(presolved, kept, reached)
        if found is None and isinstance(problem.quadratic, Factor):
            found = self._form(presolved, kept)
        return found

    def _eigenvalue_shift(self, problem: SparseQP, kept: IntArray) -> FloatArray | None:
        """A diagonal to be moved, unless a split has left nothing to gain."""
        splitting = self.tree.settings.splitting
        if self.tree.has_minorant and len(kept) >= splitting.function.min_variables:
            return None
        return eigenvalue_shift(problem, kept, splitting.diagonal)

    def _form(self, presolved: PresolveState, kept: IntArray) -> Reduced | None:
        """The problem with its matrix formed from a factor.

        Relaxed points are sparse, and a product with a sparse point costs less with the
        matrix than with the factor.
        """
        if len(kept) > self.settings.max_formed_variables:
            return None
        return self._apply(presolved, Reduction(kept, np.zeros(len(kept))))

    def _tighten(
        self, presolved: PresolveState, kept: IntArray, reached: float
    ) -> Reduced | None:
        """An optimal diagonal or, where there are too many variables, a minorant."""
        problem = presolved.problem.restrict(kept)
        subproblem = presolved.subproblem.restrict(kept)
        settings, is_over = self.tree.settings, self.effort.is_over
        if not problem.is_unconstrained and self._is_tiny(presolved, kept):
            return None
        diagonal_shift = optimal_diagonal_shift(
            problem,
            subproblem,
            self.tree.gap_unit,
            is_over,
            settings.splitting.diagonal,
        )
        if diagonal_shift is not None:
            found = self._apply(presolved, Reduction(kept, diagonal_shift))
            if problem.is_unconstrained:
                return found if self._is_lasting(presolved, found) else None
            return found if self._is_better(found, subproblem, reached) else None
        # There are too many variables for an optimal diagonal.  Where signs are known,
        # _split_by_signs does better than a minorant that ignores them.
        is_loose = self._leaves_gap(presolved, self.settings.minorant_gap)
        if problem.signs.any() or not is_loose or is_over():
            return None
        adopted = self.split_by_function(presolved, reached)
        if adopted is not None:
            return adopted.reduction, adopted.relaxation.problem
        supports = Supports.of(presolved.original.restrict(kept), settings.heuristics)
        if supports is None or not supports.is_fine(
            presolved.lower_bound, self.effort.tolerance
        ):
            # A minorant loses something at leaves, which enumeration must make up for.
            return None
        reduced = presolved.reduced(Reduction(kept), problem)
        # Optimising a split takes as long as hundreds of nodes.
        if self.trial.is_easy(reduced, kept, supports):
            return None
        # A minorant starts from the original problem: move what was moved since then,
        # unless that came with another minorant.
        base = Reduction(kept)
        if self.tree.has_minorant:
            problem = presolved.original.restrict(kept)
        else:
            moved = problem.ridge - presolved.original.ridge[kept]
            base = Reduction(kept, moved)
        start = level_start(problem, subproblem, is_over, settings.splitting.ascent)
        if start is None:
            return None
        split = self._optimise(presolved, AscentStart(base, start), supports)
        return self._adopt(presolved, base, split, presolved.lower_bound)

    def split_by_function(
        self, presolved: PresolveState, reached: float | None = None
    ) -> AdoptedSplit | None:
        """A sparse minorant by a matrix function, where there are many variables.

        None if the plain relaxation will do, or is better: its bound is the one
        ``reached``, if it has been solved.
        """
        tree, effort = self.tree, self.effort
        search = FunctionSplitSearch(tree, effort)
        x = tree.best.x
        if x is None or not search.is_worth_trying(presolved):
            return None
        if reached is None and not search.is_loose():
            return None
        tree.tried_function = True
        kept = np.flatnonzero(~presolved.subproblem.fixed_out)
        plain = presolved.original.restrict(kept)
        subproblem = presolved.subproblem.restrict(kept)
        support = np.flatnonzero(x[presolved.indices[kept]])
        split = search.find(plain, subproblem, support)
        if split is None or effort.is_over():
            return None
        P, weights = split.P.astype(np.float32), split.weights
        found = self._apply(presolved, Reduction(kept, minorant=P, weights=weights))
        return found and search.adopt(*found, plain, subproblem, reached)

    def _is_tiny(self, presolved: PresolveState, kept: IntArray) -> bool:
        """Whether the tree takes less time than optimising a diagonal.

        On few variables that takes less time than finding out.
        """
        if len(kept) < self.settings.tiny_variables:
            return False
        reduced = presolved.reduced(Reduction(kept))
        return self.trial.is_surely_easy(reduced, kept, self.settings.tiny_nodes)

    def _is_lasting(self, presolved: PresolveState, found: Reduced | None) -> bool:
        """Whether a diagonal that is optimal at the root is good below it as well.

        It takes from the ridges of variables that the root would choose, and where
        ``Q`` is singular that is all it can give to others.  A few branchings later
        other variables are chosen, and the ridge as it was may be better.
        """
        is_shifted = not np.array_equal(
            presolved.problem.ridge, presolved.original.ridge
        )
        is_loose = self._leaves_gap(presolved, self.settings.race_gap)
        if found is None or is_shifted or not is_loose:
            return True
        return self.trial.prunes_sooner(presolved, found)

    def _is_better(
        self,
        found: Reduced | None,
        subproblem: Subproblem,
        reached: float,
    ) -> bool:
        """Whether the relaxation of a reduced problem has a better bound than before.

        A diagonal is optimal only for the rows' multipliers that were kept.
        """
        if found is None or self.effort.is_over():
            return False
        _, problem = found
        relaxation = Relaxation.prepare(problem, settings=self.tree.settings.relaxation)
        relaxed = relaxation.solve(subproblem, *relaxation.start(), self.effort)
        proof = DualPoint.at(relaxed.tangent_point, relaxed.beta)
        return proof.bound(problem).value(subproblem) > reached

    def _split_by_signs(
        self, presolved: PresolveState, kept: IntArray, reached: float
    ) -> Reduced | None:
        """A sparse minorant that makes use of the signs of variables.

        Products of variables with known signs lose less (docs/theory.md#theorem-6): for
        portfolios without short sales a fraction of the gap is left.
        """
        is_over = self.effort.is_over
        is_easy = self.trial.is_easy(presolved.reduced(Reduction(kept)), kept)
        if is_easy or is_over():
            return None
        is_small = len(kept) <= self.tree.settings.splitting.joint.max_variables
        ascend = self._ascend_jointly if is_small else self._ascend_by_signs
        found = ascend(presolved, kept, reached)
        return found if found and self.trial.is_smaller(presolved, found) else None

    def _ascend_jointly(
        self, presolved: PresolveState, kept: IntArray, reached: float
    ) -> Reduced | None:
        """A split and its weights, by one ascent in both."""
        self._search_locally(presolved)
        search = JointSplitSearch(self.tree, self.effort)

        def is_enough(base: Reduction, ascent: JointAscent) -> bool:
            # The bound is known before the split is proved, which takes a while.
            gap = (self.tree.best.objective - ascent.bound) / self.tree.gap_unit
            split = None if gap > self.settings.easy_gap else ascent.split()
            return split is not None and self._is_enough(presolved, base, split, None)

        found = search.find(presolved, kept, is_enough, reached)
        return found and self._adopt(presolved, *found, reached)

    def _ascend_by_signs(
        self, presolved: PresolveState, kept: IntArray, reached: float
    ) -> Reduced | None:
        """The better of two ascents: from the form as it is, and along a row.

        The second is tried where the first leaves a large gap.
        """
        starts = SignedStarts(self.tree, self.effort)
        plain = starts.plain(presolved, kept)
        base, split = Reduction(kept), None
        if plain is not None:
            base, split = plain.base, self._optimise(presolved, plain, None)
        best = reached if split is None else max(reached, split.bound)
        gap = (self.tree.best.objective - best) / self.tree.gap_unit
        if gap > self.settings.row_shift_gap:
            start = starts.along_row(presolved, kept)
            along = None if start is None else self._optimise(presolved, start, None)
            if start is not None and along is not None and along.bound > best:
                return self._adopt(presolved, start.base, along, reached)
        return self._adopt(presolved, base, split, reached)

    def _adopt(
        self,
        presolved: PresolveState,
        base: Reduction,
        split: Split | None,
        least: float,
    ) -> Reduced | None:
        """The minorant of a split: never worse than the bound at hand."""
        if split is None or split.bound < least:
            return None
        reduction = replace(base, minorant=split.P, weights=split.weights)
        return self._apply(presolved, reduction)

    def _search_locally(self, presolved: PresolveState) -> None:
        """Search for a better incumbent before an ascent, which aims at it."""
        if self._leaves_gap(presolved, self.settings.minorant_gap):
            self.tree.iterated_local_search(self.effort.is_over)

    def _optimise(
        self, presolved: PresolveState, start: AscentStart, supports: Supports | None
    ) -> Split | None:
        """Optimise a split of a reduced problem, if there is one.

        The ascent ends in time for the split to be adopted, which takes about as long
        as moving a diagonal, several times over.
        """
        base = start.base
        tree = self.tree
        settings = self.tree.settings.splitting.ascent
        self._search_locally(presolved)
        if self.effort.is_over():
            return None
        since = time.perf_counter()
        problem = start.problem(presolved)
        reserve = self.settings.wrap_up * (time.perf_counter() - since)
        left, seconds = self.effort.seconds_left(), settings.max_seconds
        if left is not None:
            seconds = min(seconds, left - reserve)
        if problem is None or seconds <= 0:
            return None
        return optimise_split(
            problem,
            presolved.subproblem.restrict(base.kept),
            start.P,
            tree.best.objective,
            tree.gap_unit,
            seconds,
            is_over=self.effort.is_over,
            is_enough=lambda split: self._is_enough(presolved, base, split, supports),
            settings=settings,
            weights=start.weights,
        )

    def _leaves_gap(self, presolved: PresolveState, share: float) -> bool:
        """Whether the relative gap at the root is larger than a share."""
        left = self.tree.best.objective - presolved.lower_bound
        return bool(left > share * self.tree.gap_unit)

    def _is_enough(
        self,
        presolved: PresolveState,
        base: Reduction,
        split: Split,
        supports: Supports | None,
    ) -> bool:
        """Whether a split need not be improved: it is tight, or its tree is small."""
        gap = (self.tree.best.objective - split.bound) / self.tree.gap_unit
        if gap < self.settings.tight_gap or gap > self.settings.easy_gap:
            return gap < self.settings.tight_gap
        kept = base.kept
        reduction = replace(base, minorant=split.P, weights=split.weights)
        reduced = presolved.reduced(reduction, split.minorant)
        if supports is None:
            return self.trial.is_surely_easy(reduced, kept, self.settings.easy_nodes)
        return self.trial.is_easy(reduced, kept, supports)

    def _apply(self, presolved: PresolveState, reduction: Reduction) -> Reduced | None:
        """The reduced problem, unless rounding would cost more than it is worth.

        What a matrix lacks to be positive semidefinite is taken off the ridge.  None
        also if time is up.
        """
        if self.effort.is_over():
            return None
        problem = try_reduction(presolved, reduction)
        if problem is None:
            return None
        # Theorem 1 takes twice the violation off the ridge.
        loss = 2.0 * problem.quadratic.psd_violation
        if (loss > self.settings.max_ridge_loss * problem.ridge).any():
            return None
        best = self.tree.best
        if best.x is not None:
            x = best.x[presolved.indices[reduction.kept]]
            most = self.settings.max_gap_loss * self.gap * self.tree.gap_unit
            if 2.0 * loss @ x**2 > most:
                return None
        return reduction, problem

    def _is_loose(self, presolved: PresolveState) -> bool:
        """Whether an optimal diagonal is worth it: a gap, and fewer variables."""
        tree, count = self.tree, int(np.count_nonzero(~presolved.subproblem.fixed_out))
        most = self.settings.reduction_share * tree.tightened
        if tree.best.x is None or count > most or self.effort.is_over():
            return False
        return self._leaves_gap(presolved, self.settings.diagonal_gap * self.gap)

    def _is_splittable(self, presolved: PresolveState) -> bool:
        """Whether a split by signs is worth it: a gap, and fewer variables."""
        tree, count = self.tree, int(np.count_nonzero(~presolved.subproblem.fixed_out))
        if tree.best.x is None or not presolved.problem.signs.any():
            return False
        if self.effort.is_over():
            return False
        ascent = tree.settings.splitting.ascent
        if not is_splittable(presolved.problem, presolved.subproblem, ascent):
            return False
        is_new = count <= self.settings.reduction_share * tree.split
        return is_new and self._leaves_gap(presolved, self.settings.split_gap)
