"""Steps at the root: relax, decide, narrow, move a diagonal, as often as it pays."""

import time
from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.branch_and_bound.node import NodeProcessor, ProcessedNode
from cardqp.branch_and_bound.settings import RootSettings
from cardqp.branch_and_bound.tree import Tree
from cardqp.branch_and_bound.tree_size import estimate_nodes
from cardqp.certificate import DualProof, Kind, Reduction, RootStep
from cardqp.certificate.certificate import PresolveState
from cardqp.exceptions import ProblemError
from cardqp.heuristics.completed_supports import Supports
from cardqp.heuristics.elastic import elastic_dive
from cardqp.heuristics.local_search import round_switches
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.ascent import level_start, optimise_split, signed_start
from cardqp.splitting.diagonal import eigenvalue_shift, optimal_diagonal_shift
from cardqp.splitting.sparse_split import Split, is_splittable
from cardqp.subproblems.support_qp import fit_support
from cardqp.subproblems.violation import find_ray


@dataclass(frozen=True, slots=True)
class RootPhase:
    """One step at the root of a tree.

    Parameters
    ----------
    tree : Tree
        The tree, whose steps at the root are not over.
    gap : float
        The gap asked for.
    cutoff : float
        The bound at which nothing more needs to be done.
    effort : Effort
        How far to solve the relaxation.
    """

    tree: Tree
    gap: float
    cutoff: float
    effort: Effort

    @property
    def settings(self) -> RootSettings:
        """The settings of steps at the root."""
        return self.tree.settings.root

    def start(self) -> None:
        """What the best point, or zero, proves as a dual point: that costs little."""
        tree, presolved = self.tree, self.tree.presolved
        proof = DualProof.at(tree.x, tree.best.beta)
        step = RootStep(proof, *self._fix(proof.bound(presolved.problem)))
        decided = presolved.after(step)
        kept = np.flatnonzero(~decided.subproblem.fixed_out)
        if 0 < len(kept) <= self.settings.reduction_share * presolved.problem.n:
            reduction = Reduction(kept)
            step, decided = (
                replace(step, reduction=reduction),
                decided.reduced(reduction),
            )
            tree.x = tree.x[kept]
        tree.step_root(step, decided)
        if decided.lower_bound >= self.cutoff:
            self._close()

    def _close(self) -> None:
        """Nothing is left to be done."""
        self.tree.is_rooted = True
        self.tree.pruned_bound = self.tree.presolved.lower_bound

    def step(self) -> None:
        """Relax the root; end the steps when the problem does not change any more.

        Once time is up, all that is taken over is what a dual point proves; the steps
        are not at their end, so that a search that is resumed goes on with them.
        """
        tree, presolved, is_over = self.tree, self.tree.presolved, self.effort.is_over
        if tree.n_nodes == 0 and tree.best.x is None and self._is_empty():
            return
        tree.n_nodes += 1
        start = tree.x / tree.relaxation.unit
        relaxed = tree.relaxation.solve(
            presolved.subproblem, start, tree.nu, self.effort
        )
        if not (relaxed.has_worked or tree.relaxation.prefers_cones):
            rescue = tree.relaxation.solve_by_cones(presolved.subproblem, self.effort)
            relaxed = rescue or relaxed
        tree.n_by_cones += relaxed.by_cones
        tree.x, tree.nu = relaxed.x * tree.relaxation.unit, relaxed.nu
        if not (relaxed.has_worked or is_over()):
            self._dive(relaxed.switches)
            tree.begin(self.effort.tolerance)
            return
        support = round_switches(
            presolved.problem, presolved.subproblem, relaxed.switches
        )
        tree.update_incumbent(fit_support(presolved.original, support), is_over)
        self._dive(relaxed.switches)
        proof = DualProof.at(relaxed.tangent_point, relaxed.beta)
        bound = proof.bound(presolved.problem)
        value = bound.value(presolved.subproblem)
        if value >= self.cutoff:
            step = RootStep(proof)
            tree.step_root(step, presolved.after(step))
            self._close()
            return
        step = RootStep(proof, *self._fix(bound))
        decided = presolved.after(step)
        found = self._reduction(decided, value)
        if is_over():
            tree.step_root(step, decided)
            return
        if found is None:
            tree.step_root(step, decided)
            tree.begin(self.effort.tolerance)
            return
        reduction, problem = found
        tree.step_root(
            replace(step, reduction=reduction), decided.reduced(reduction, problem)
        )
        tree.x, tree.nu = tree.x[reduction.kept], np.zeros(len(tree.nu))

    def _dive(self, switches: FloatArray) -> None:
        """Look for a first feasible point, if there is none."""
        tree, presolved = self.tree, self.tree.presolved
        if tree.best.x is None:
            is_over = self.effort.is_over
            fit = elastic_dive(
                presolved.original,
                presolved.subproblem,
                switches,
                is_over,
                tree.settings.heuristics,
            )
            tree.update_incumbent(fit, is_over)

    def _is_empty(self) -> bool:
        """Whether the rows rule out everything; the tree is then a proof of it.

        A relaxation would take long to find that out.
        """
        tree, presolved = self.tree, self.tree.presolved
        if len(presolved.problem.rows) == 0:
            return False
        ray = find_ray(presolved.problem, presolved.subproblem)
        if ray is None:
            return False
        tree.begin(self.effort.tolerance)
        ProcessedNode(tree.pop(), Kind.RAY, beta=ray).commit(tree)
        return True

    def _fix(self, bound: SeparableBound) -> tuple[IntArray, IntArray]:
        """Theorem 2: variables whose other value costs too much."""
        subproblem = self.tree.presolved.subproblem
        on, off = bound.fixing_bounds(subproblem)
        is_out = subproblem.undecided & (on >= self.cutoff)
        is_in = subproblem.undecided & (off >= self.cutoff) & ~is_out
        return np.flatnonzero(is_in), np.flatnonzero(is_out)

    def _reduction(
        self, presolved: PresolveState, reached: float
    ) -> tuple[Reduction, SparseQP] | None:
        """A smaller problem, or one with a better split, if there is one.

        ``reached`` is the bound of the relaxation as the problem is seen now.
        """
        problem, kept = (
            presolved.problem,
            np.flatnonzero(~presolved.subproblem.fixed_out),
        )
        is_settled = (
            presolved.subproblem.remaining <= 0
            or not presolved.subproblem.undecided.any()
        )
        if is_settled or self.effort.is_over():
            return None
        diagonal_shift = eigenvalue_shift(
            problem, kept, self.tree.settings.splitting.diagonal
        )
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

    def _form(
        self, presolved: PresolveState, kept: IntArray
    ) -> tuple[Reduction, SparseQP] | None:
        """The problem with its matrix formed.

        Relaxed points are sparse: a product with the matrix costs less than one with
        the factor.
        """
        if len(kept) > self.settings.max_formed_variables:
            return None
        return self._apply(presolved, Reduction(kept, np.zeros(len(kept))))

    def _tighten(
        self, presolved: PresolveState, kept: IntArray, reached: float
    ) -> tuple[Reduction, SparseQP] | None:
        """A better split of what is left, which takes longer to find."""
        problem, subproblem = (
            presolved.problem.restrict(kept),
            presolved.subproblem.restrict(kept),
        )
        settings, is_over = self.tree.settings, self.effort.is_over
        diagonal_shift = optimal_diagonal_shift(
            problem,
            subproblem,
            self.tree.gap_unit,
            is_over,
            settings.splitting.diagonal,
        )
        if diagonal_shift is not None:
            found = self._apply(presolved, Reduction(kept, diagonal_shift))
            if problem.is_unconstrained or self._is_better(found, subproblem, reached):
                return found
            return None
        is_loose = self._is_wide(presolved, self.settings.minorant_gap)
        if problem.signs.any() or not is_loose or is_over():
            return None
        supports = Supports.of(presolved.original.restrict(kept), settings.heuristics)
        if supports is None or not supports.is_fine(
            presolved.lower_bound, self.effort.tolerance
        ):
            return None  # what a split loses at leaves must be made up for there
        if self._is_easy(presolved.reduced(Reduction(kept), problem), supports, kept):
            return None
        start = level_start(problem, subproblem, is_over, settings.splitting.ascent)
        if start is None:
            return None
        diagonal_shift = problem.ridge - presolved.original.ridge[kept]
        return self._ascend(
            presolved,
            Reduction(kept, diagonal_shift),
            start,
            supports,
            presolved.lower_bound,
        )

    def _is_better(
        self,
        found: tuple[Reduction, SparseQP] | None,
        subproblem: Subproblem,
        reached: float,
    ) -> bool:
        """Whether the relaxation of a narrowed problem is better than what it was.

        A diagonal is optimal only for the rows' multipliers that were kept.
        """
        if found is None or self.effort.is_over():
            return False
        _, problem = found
        relaxation = Relaxation.prepare(problem, settings=self.tree.settings.relaxation)
        relaxed = relaxation.solve(subproblem, *relaxation.start(), self.effort)
        proof = DualProof.at(relaxed.tangent_point, relaxed.beta)
        return proof.bound(problem).value(subproblem) > reached

    def _split_by_signs(
        self, presolved: PresolveState, kept: IntArray, reached: float
    ) -> tuple[Reduction, SparseQP] | None:
        """A split that makes use of the signs of variables."""
        is_over = self.effort.is_over
        is_easy = self._is_easy(presolved.reduced(Reduction(kept)), None, kept)
        if is_easy or is_over():
            return None
        splitting = self.tree.settings.splitting
        diagonal_shift = eigenvalue_shift(presolved.original, kept, splitting.diagonal)
        if diagonal_shift is None:
            diagonal_shift = np.zeros(len(kept))
        start = (
            None if is_over() else self._signed_start(presolved, kept, diagonal_shift)
        )
        if start is None:
            return None
        return self._ascend(
            presolved, Reduction(kept, diagonal_shift), start, None, reached
        )

    def _signed_start(
        self, presolved: PresolveState, kept: IntArray, diagonal_shift: FloatArray
    ) -> FloatArray | None:
        """Where the ascent to such a split starts; None if time is up."""
        if self.tree.has_minorant:
            return presolved.problem.quadratic.block(kept)
        problem = presolved.original.restrict(kept).move_to_ridge(diagonal_shift)
        is_over, settings = self.effort.is_over, self.tree.settings.splitting.ascent
        return None if is_over() else signed_start(problem, is_over, settings)

    def _ascend(
        self,
        presolved: PresolveState,
        base: Reduction,
        start: FloatArray,
        supports: Supports | None,
        least: float,
    ) -> tuple[Reduction, SparseQP] | None:
        """A sparse minorant of a narrowed problem, if its bound is good enough."""
        kept, tree, settings = base.kept, self.tree, self.tree.settings.splitting.ascent
        if self._is_wide(presolved, self.settings.minorant_gap):
            tree.iterated_local_search(self.effort.is_over)
        if self.effort.is_over():
            return None
        since = time.perf_counter()
        problem = base.apply(presolved.original, presolved.original)
        reserve = self.settings.wrap_up * (time.perf_counter() - since)
        left, seconds = self.effort.seconds_left(), settings.max_seconds
        if left is not None:
            seconds = min(seconds, left - reserve)
        if seconds <= 0:
            return None
        split = optimise_split(
            problem,
            presolved.subproblem.restrict(kept),
            start,
            tree.best.objective,
            tree.gap_unit,
            seconds,
            is_over=self.effort.is_over,
            is_enough=lambda split: self._is_enough(presolved, kept, split, supports),
            settings=settings,
        )
        if split is None or split.bound < least:
            return None
        return self._apply(presolved, replace(base, minorant=split.P))

    def _is_wide(self, presolved: PresolveState, share: float) -> bool:
        """Whether more than a share of the objective is left to be proved."""
        left = self.tree.best.objective - presolved.lower_bound
        return bool(left > share * self.tree.gap_unit)

    def _is_enough(
        self,
        presolved: PresolveState,
        kept: IntArray,
        split: Split,
        supports: Supports | None,
    ) -> bool:
        """Whether a split need not be improved."""
        gap = (self.tree.best.objective - split.bound) / self.tree.gap_unit
        if gap < self.settings.tight_gap or gap > self.settings.easy_gap:
            return gap < self.settings.tight_gap
        reduction = Reduction(kept, minorant=split.P)
        return self._is_easy(
            presolved.reduced(reduction, split.minorant), supports, kept
        )

    def _is_easy(
        self, presolved: PresolveState, supports: Supports | None, kept: IntArray
    ) -> bool:
        """Whether the tree will be small, as a few dives suggest."""
        tree = self.tree
        trial = Tree.initial(tree.problem, presolved, tree.settings)
        trial.best, trial.x, trial.supports = tree.best, tree.x[kept], supports
        effort = replace(self.effort, slack=tree.settings.node_slack)
        processor = NodeProcessor(trial, self.cutoff, effort)
        expected = estimate_nodes(processor, trial.root(), self.settings.easy_dives)
        return expected < self.settings.easy_nodes

    def _apply(
        self, presolved: PresolveState, reduction: Reduction
    ) -> tuple[Reduction, SparseQP] | None:
        """The narrowed problem, unless rounding would cost more than it is worth.

        None also if time is up.
        """
        if self.effort.is_over():
            return None
        try:
            problem = reduction.apply(presolved.problem, presolved.original)
        except ProblemError:
            return None
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
        tree, count = self.tree, int(np.count_nonzero(~presolved.subproblem.fixed_out))
        most = self.settings.reduction_share * tree.tightened
        if tree.best.x is None or count > most or self.effort.is_over():
            return False
        return self._is_wide(presolved, self.settings.diagonal_gap * self.gap)

    def _is_splittable(self, presolved: PresolveState) -> bool:
        """Whether a split by signs is worth looking for."""
        tree, count = self.tree, int(np.count_nonzero(~presolved.subproblem.fixed_out))
        if tree.best.x is None or not presolved.problem.signs.any():
            return False
        if self.effort.is_over():
            return False
        ascent = tree.settings.splitting.ascent
        if not is_splittable(presolved.problem, presolved.subproblem, ascent):
            return False
        is_new = count <= self.settings.reduction_share * tree.split
        return is_new and self._is_wide(presolved, self.settings.tight_gap)
