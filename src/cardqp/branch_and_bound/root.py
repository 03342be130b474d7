"""Steps at the root: relax, decide, narrow, move a diagonal, as often as it pays."""

import time
from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.branch_and_bound.node import NODE_SLACK, Visit, Visitor
from cardqp.branch_and_bound.tree import Tree
from cardqp.branch_and_bound.tree_size import estimate_nodes
from cardqp.certificate import DualProof, Kind, Narrowing, RootStep
from cardqp.certificate.certificate import View
from cardqp.exceptions import ProblemError
from cardqp.heuristics.completed_supports import Supports
from cardqp.heuristics.elastic import elastic_dive
from cardqp.heuristics.local_search import round_switches
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor
from cardqp.problem.sparsity import Choice
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.splitting.ascent import (
    SAFETY,
    level_start,
    optimise_split,
    signed_start,
)
from cardqp.splitting.diagonal import spare_diagonal, tightest_diagonal
from cardqp.splitting.sparse_split import Split, is_splittable
from cardqp.subproblems.support_qp import fit_support
from cardqp.subproblems.violation import find_ray

_NONE = np.zeros(0, dtype=np.intp)

NARROWING_SHARE = 0.85
"""The root is processed again on what is left of its variables if that is at most this
share of them."""

RIDGE_SHARE, LOSS_SHARE = 0.01, 0.05
"""A narrowing is refused if its rounding takes more than the first share of a ridge, or
more than the second of the gap at the best point."""

LOOSE = 5.0
"""A diagonal is optimised if the root leaves this many times the gap asked for."""

WIDEST = 1500
"""The most variables for which the matrix is formed where a factor was given."""

VERY_LOOSE = 0.1
"""A sparse minorant is optimised if the root leaves this gap."""

TIGHT = 0.002
"""Splits are not improved beyond this gap, nor looked for if signs are known."""

WRAP_UP = 10.0
"""What it takes to take over a split and to prove it again, in units of the time that
it takes to move a diagonal: an ascent ends before so much is left."""

EASY, EASY_DIVES, EASY_GAP = 300, 4, 0.08
"""A sparse minorant is good enough if so many dives expect fewer branches than this.
Dives are not tried with a larger gap."""


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

    def start(self) -> None:
        """What the best point, or zero, proves as a dual point: that costs little."""
        tree, view = self.tree, self.tree.view
        proof = DualProof.at(tree.x, tree.best.beta)
        step = RootStep(proof, *self._fix(proof.bound(view.problem)))
        decided = view.after(step)
        kept = np.flatnonzero(~decided.choice.outside)
        if 0 < len(kept) <= NARROWING_SHARE * view.problem.n:
            narrowing = Narrowing(kept)
            step, decided = (
                replace(step, narrowing=narrowing),
                decided.narrowed(narrowing),
            )
            tree.x = tree.x[kept]
        tree.step_root(step, decided)
        if decided.floor >= self.cutoff:
            self._close()

    def _close(self) -> None:
        """Nothing is left to be done."""
        self.tree.is_rooted = True
        self.tree.closed_bound = self.tree.view.floor

    def step(self) -> None:
        """Relax the root; end the steps when the problem does not change any more.

        Once time is up, all that is taken over is what a dual point proves; the steps
        are not at their end, so that a search that is resumed goes on with them.
        """
        tree, view, is_over = self.tree, self.tree.view, self.effort.is_over
        if tree.n_nodes == 0 and tree.best.x is None and self._is_empty():
            return
        tree.n_nodes += 1
        start = tree.x / tree.relaxation.unit
        relaxed = tree.relaxation.solve(view.choice, start, tree.nu, self.effort)
        if not (relaxed.has_worked or tree.relaxation.prefers_cones):
            rescue = tree.relaxation.solve_by_cones(view.choice, self.effort)
            relaxed = rescue or relaxed
        tree.n_by_cones += relaxed.by_cones
        tree.x, tree.nu = relaxed.x * tree.relaxation.unit, relaxed.nu
        if not (relaxed.has_worked or is_over()):
            self._dive(relaxed.switches)
            tree.begin(self.effort.tolerance)
            return
        support = round_switches(view.problem, view.choice, relaxed.switches)
        tree.offer(fit_support(view.exact, support), is_over)
        self._dive(relaxed.switches)
        proof = DualProof.at(relaxed.anchor, relaxed.beta)
        bound = proof.bound(view.problem)
        value = bound.value(view.choice)
        if value >= self.cutoff:
            step = RootStep(proof)
            tree.step_root(step, view.after(step))
            self._close()
            return
        step = RootStep(proof, *self._fix(bound))
        decided = view.after(step)
        found = self._narrowing(decided, value)
        if is_over():
            tree.step_root(step, decided)
            return
        if found is None:
            tree.step_root(step, decided)
            tree.begin(self.effort.tolerance)
            return
        narrowing, problem = found
        tree.step_root(
            replace(step, narrowing=narrowing), decided.narrowed(narrowing, problem)
        )
        tree.x, tree.nu = tree.x[narrowing.kept], np.zeros(len(tree.nu))

    def _dive(self, switches: FloatArray) -> None:
        """Look for a first feasible point, if there is none."""
        tree, view = self.tree, self.tree.view
        if tree.best.x is None:
            is_over = self.effort.is_over
            fit = elastic_dive(view.exact, view.choice, switches, is_over)
            tree.offer(fit, is_over)

    def _is_empty(self) -> bool:
        """Whether the rows rule out everything; the tree is then a proof of it.

        A relaxation would take long to find that out.
        """
        tree, view = self.tree, self.tree.view
        if len(view.problem.rows) == 0:
            return False
        ray = find_ray(view.problem, view.choice)
        if ray is None:
            return False
        tree.begin(self.effort.tolerance)
        Visit(tree.pop(), Kind.RAY, beta=ray).commit(tree)
        return True

    def _fix(self, bound: SeparableBound) -> tuple[IntArray, IntArray]:
        """Theorem 2: variables whose other value costs too much."""
        choice = self.tree.view.choice
        on, off = bound.fixing_bounds(choice)
        is_out = choice.free & (on >= self.cutoff)
        is_in = choice.free & (off >= self.cutoff) & ~is_out
        return np.flatnonzero(is_in), np.flatnonzero(is_out)

    def _narrowing(
        self, view: View, reached: float
    ) -> tuple[Narrowing, SparseQP] | None:
        """A smaller problem, or one with a better split, if there is one.

        ``reached`` is the bound of the relaxation as the problem is seen now.
        """
        problem, kept = view.problem, np.flatnonzero(~view.choice.outside)
        is_settled = view.choice.slots <= 0 or not view.choice.free.any()
        if is_settled or self.effort.is_over():
            return None
        moved = spare_diagonal(problem, kept)
        found = None
        if moved is not None and moved.any():
            found = self._apply(view, Narrowing(kept, moved))
        if len(kept) <= NARROWING_SHARE * problem.n:
            plain = Narrowing(kept), problem.restrict(kept)
            return found or self._apply(view, Narrowing(kept, moved)) or plain
        if found is None and self._is_loose(view):
            self.tree.tightened = len(kept)
            found = self._tighten(view, kept, reached)
        if found is None and self._is_splittable(view):
            self.tree.split = len(kept)
            found = self._split_by_signs(view, kept, reached)
        if found is None and isinstance(problem.quadratic, Factor):
            found = self._form(view, kept)
        return found

    def _form(self, view: View, kept: IntArray) -> tuple[Narrowing, SparseQP] | None:
        """The problem with its matrix formed.

        Relaxed points are sparse: a product with the matrix costs less than one with
        the factor.
        """
        if len(kept) > WIDEST:
            return None
        return self._apply(view, Narrowing(kept, np.zeros(len(kept))))

    def _tighten(
        self, view: View, kept: IntArray, reached: float
    ) -> tuple[Narrowing, SparseQP] | None:
        """A better split of what is left, which takes longer to find."""
        problem, choice = view.problem.restrict(kept), view.choice.narrow(kept)
        size = self.tree.gap_unit
        moved = tightest_diagonal(problem, choice, size, self.effort.is_over)
        if moved is not None:
            found = self._apply(view, Narrowing(kept, moved))
            if problem.is_free or self._is_better(found, choice, reached):
                return found
            return None
        if problem.signs.any() or not self._is_wide(view, VERY_LOOSE):
            return None
        if self.effort.is_over():
            return None
        supports = Supports.of(view.exact.restrict(kept))
        if supports is None or not supports.is_fine(view.floor, self.effort.tolerance):
            return None  # what a split loses at leaves must be made up for there
        if self._is_easy(view.narrowed(Narrowing(kept), problem), supports, kept):
            return None
        start = level_start(problem, choice, self.effort.is_over)
        if start is None:
            return None
        moved = problem.ridge - view.exact.ridge[kept]
        return self._ascend(view, Narrowing(kept, moved), start, supports, view.floor)

    def _is_better(
        self,
        found: tuple[Narrowing, SparseQP] | None,
        choice: Choice,
        reached: float,
    ) -> bool:
        """Whether the relaxation of a narrowed problem is better than what it was.

        A diagonal is optimal only for the rows' multipliers that were kept.
        """
        if found is None or self.effort.is_over():
            return False
        _, problem = found
        relaxation = Relaxation.prepare(problem)
        relaxed = relaxation.solve(choice, *relaxation.start(), self.effort)
        proof = DualProof.at(relaxed.anchor, relaxed.beta)
        return proof.bound(problem).value(choice) > reached

    def _split_by_signs(
        self, view: View, kept: IntArray, reached: float
    ) -> tuple[Narrowing, SparseQP] | None:
        """A split that makes use of the signs of variables."""
        is_over = self.effort.is_over
        is_easy = self._is_easy(view.narrowed(Narrowing(kept)), None, kept)
        if is_easy or is_over():
            return None
        moved = spare_diagonal(view.exact, kept)
        if moved is None:
            moved = np.zeros(len(kept))
        start = None if is_over() else self._signed_start(view, kept, moved)
        if start is None:
            return None
        return self._ascend(view, Narrowing(kept, moved), start, None, reached)

    def _signed_start(
        self, view: View, kept: IntArray, moved: FloatArray
    ) -> FloatArray | None:
        """Where the ascent to such a split starts; None if time is up."""
        if self.tree.has_two_looks:
            return view.problem.quadratic.block(kept)
        problem = view.exact.restrict(kept).move_to_ridge(moved)
        is_over = self.effort.is_over
        return None if is_over() else signed_start(problem, is_over)

    def _ascend(
        self,
        view: View,
        base: Narrowing,
        start: FloatArray,
        supports: Supports | None,
        least: float,
    ) -> tuple[Narrowing, SparseQP] | None:
        """A sparse minorant of a narrowed problem, if its bound is good enough."""
        kept, tree = base.kept, self.tree
        if self._is_wide(view, VERY_LOOSE):
            tree.shake(self.effort.is_over)
        if self.effort.is_over():
            return None
        since = time.perf_counter()
        problem = base.apply(view.exact, view.exact)
        reserve = WRAP_UP * (time.perf_counter() - since)
        left = self.effort.seconds_left()
        seconds = SAFETY if left is None else min(SAFETY, left - reserve)
        if seconds <= 0:
            return None
        split = optimise_split(
            problem,
            view.choice.narrow(kept),
            start,
            tree.best.objective,
            tree.gap_unit,
            seconds,
            is_over=self.effort.is_over,
            is_enough=lambda split: self._is_enough(view, kept, split, supports),
        )
        if split is None or split.bound < least:
            return None
        return self._apply(view, replace(base, minorant=split.P))

    def _is_wide(self, view: View, share: float) -> bool:
        """Whether more than a share of the objective is left to be proved."""
        left = self.tree.best.objective - view.floor
        return bool(left > share * self.tree.gap_unit)

    def _is_enough(
        self, view: View, kept: IntArray, split: Split, supports: Supports | None
    ) -> bool:
        """Whether a split need not be improved."""
        gap = (self.tree.best.objective - split.bound) / self.tree.gap_unit
        if gap < TIGHT or gap > EASY_GAP:
            return gap < TIGHT
        narrowing = Narrowing(kept, minorant=split.P)
        return self._is_easy(view.narrowed(narrowing, split.minorant), supports, kept)

    def _is_easy(self, view: View, supports: Supports | None, kept: IntArray) -> bool:
        """Whether the tree will be small, as a few dives suggest."""
        tree = self.tree
        trial = Tree.plant(tree.problem, view)
        trial.best, trial.x, trial.supports = tree.best, tree.x[kept], supports
        effort = replace(self.effort, slack=NODE_SLACK)
        visitor = Visitor(trial, self.cutoff, effort)
        return estimate_nodes(visitor, trial.root(), EASY_DIVES) < EASY

    def _apply(
        self, view: View, narrowing: Narrowing
    ) -> tuple[Narrowing, SparseQP] | None:
        """The narrowed problem, unless rounding would cost more than it is worth.

        None also if time is up.
        """
        if self.effort.is_over():
            return None
        try:
            problem = narrowing.apply(view.problem, view.exact)
        except ProblemError:
            return None
        loss = 2.0 * problem.quadratic.defect
        if (loss > RIDGE_SHARE * problem.ridge).any():
            return None
        best = self.tree.best
        if best.x is not None:
            x = best.x[view.indices[narrowing.kept]]
            if 2.0 * loss @ x**2 > LOSS_SHARE * self.gap * self.tree.gap_unit:
                return None
        return narrowing, problem

    def _is_loose(self, view: View) -> bool:
        tree, count = self.tree, int(np.count_nonzero(~view.choice.outside))
        if tree.best.x is None or count > NARROWING_SHARE * tree.tightened:
            return False
        return not self.effort.is_over() and self._is_wide(view, LOOSE * self.gap)

    def _is_splittable(self, view: View) -> bool:
        """Whether a split by signs is worth looking for."""
        tree, count = self.tree, int(np.count_nonzero(~view.choice.outside))
        if tree.best.x is None or not view.problem.signs.any():
            return False
        if self.effort.is_over():
            return False
        if not is_splittable(view.problem, view.choice):
            return False
        return count <= NARROWING_SHARE * tree.split and self._is_wide(view, TIGHT)
