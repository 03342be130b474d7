"""Presolve at the root: relax, fix variables, reduce, improve the split of ``Q``.

These steps are repeated as long as they pay.  Each pass fixes variables by reduced
costs (Theorem 2, safe screening of Atamtürk & Gómez 2020) and takes them out; on fewer
variables the least eigenvalue of ``Q`` is larger, so that more of it can be moved to
the ridge (docs/theory.md#moved-diagonal), the bound is better, and more variables are
fixed.  Which reductions there are: ``reduction.py``.
"""

from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.tangent_bound import SeparableBound
from cardqp.branch_and_bound.inactive_bounds import are_inactive
from cardqp.branch_and_bound.processed_node import ProcessedNode
from cardqp.branch_and_bound.reduction import ReductionSearch
from cardqp.branch_and_bound.settings import RootSettings
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import DualPoint, Kind, Reduction, RootStep
from cardqp.heuristics.elastic import elastic_dive
from cardqp.heuristics.local_search import round_switches
from cardqp.relaxation.relaxation import Effort, Relaxed
from cardqp.subproblems.support_qp import fit_support
from cardqp.subproblems.violation import find_ray

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class RootPhase:
    """One step of the presolve at the root, to the relative gap asked for.

    The root is pruned at the cutoff of the effort.
    """

    tree: Tree
    gap: float
    effort: Effort

    @property
    def settings(self) -> RootSettings:
        """The settings of the presolve."""
        return self.tree.settings.root

    def drop_bounds(self) -> None:
        """Ignore the bounds of variables, if the incumbent stays away from them."""
        tree, presolved, x = self.tree, self.tree.presolved, self.tree.best.x
        heuristics = tree.settings.heuristics
        if x is None or not are_inactive(
            presolved.problem, x, self.settings, heuristics
        ):
            return
        kept = np.arange(presolved.problem.n)
        proof = DualPoint.at(np.zeros(len(kept)), np.zeros(len(tree.nu)))
        step = RootStep(proof, reduction=Reduction(kept, drops_bounds=True))
        tree.step_root(step, presolved.without_bounds())

    def start(self) -> None:
        """Fix variables by the tangent in the incumbent, or in zero.

        Any dual point will do, and this one is at hand before anything is relaxed.
        """
        tree, presolved = self.tree, self.tree.presolved
        proof = DualPoint.at(tree.x, tree.best.beta)
        bound = proof.bound(presolved.problem)
        step = RootStep(proof, *self._fix(bound))
        decided = presolved.bounded(bound, step.fixed_in, step.fixed_out)
        kept = np.flatnonzero(~decided.subproblem.fixed_out)
        if 0 < len(kept) <= self.settings.reduction_share * presolved.problem.n:
            reduction = Reduction(kept)
            step = replace(step, reduction=reduction)
            decided = decided.reduced(reduction)
            tree.x = tree.x[kept]
        tree.step_root(step, decided)
        if decided.lower_bound >= self.effort.cutoff:
            self._close()

    def _close(self) -> None:
        """Prune the root: its bound closes the gap."""
        self.tree.is_rooted = True
        self.tree.pruned_bound = self.tree.presolved.lower_bound

    def step(self) -> None:
        """Relax, fix and reduce the root; begin the tree if nothing changes any more.

        Once time is up, only what a dual point proves is recorded; the presolve is not
        over, so that a search that is resumed goes on with it.
        """
        tree, presolved, is_over = self.tree, self.tree.presolved, self.effort.is_over
        if tree.n_nodes == 0 and tree.best.x is None and self._is_empty():
            return
        if not is_over():
            self._split_by_function()
            presolved = tree.presolved
        tree.n_nodes += 1
        relaxed = self._relax()
        if not (relaxed.has_worked or is_over()):
            # Without a relaxation there is nothing to fix by; nodes may fare better.
            self._dive(relaxed.switches)
            tree.begin(self.effort.tolerance)
            return
        support = round_switches(
            presolved.problem, presolved.subproblem, relaxed.switches
        )
        tree.update_incumbent(fit_support(presolved.original, support), is_over)
        self._dive(relaxed.switches)
        proof = DualPoint.at(relaxed.tangent_point, relaxed.beta)
        bound = proof.bound(presolved.problem)
        value = bound.value(presolved.subproblem)
        if value >= self.effort.cutoff:
            # Fixings would only make the proof longer.
            step = RootStep(proof)
            tree.step_root(step, presolved.bounded(bound, _NONE, _NONE))
            self._close()
            return
        step = RootStep(proof, *self._fix(bound))
        decided = presolved.bounded(bound, step.fixed_in, step.fixed_out)
        search = ReductionSearch(tree, self.gap, self.effort)
        found = search.find(decided, value)
        if is_over():
            # The search for a reduction may have been cut short: not the end of it.
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
        # Multipliers are scaled by the metric, which has changed with the problem.
        tree.x, tree.nu = tree.x[reduction.kept], np.zeros(len(tree.nu))

    def _split_by_function(self) -> None:
        """Take a sparse minorant, if the problem is large and its relaxation loose."""
        tree, presolved = self.tree, self.tree.presolved
        search = ReductionSearch(tree, self.gap, self.effort)
        found = search.split_by_function(presolved)
        if found is None:
            return
        proof = DualPoint.at(np.zeros(presolved.problem.n), np.zeros(len(tree.nu)))
        reduced = presolved.reduced(found.reduction, found.relaxation.problem)
        step = RootStep(proof, reduction=found.reduction)
        tree.step_root(step, reduced, found.relaxation)
        tree.x = found.x

    def _relax(self) -> Relaxed:
        """Solve the relaxation of the root, by interior points if the kernel fails."""
        tree, subproblem = self.tree, self.tree.presolved.subproblem
        start = tree.x / tree.relaxation.unit
        relaxed = tree.relaxation.solve(subproblem, start, tree.nu, self.effort)
        if not (relaxed.has_worked or tree.relaxation.prefers_cones):
            rescue = tree.relaxation.solve_by_cones(subproblem, self.effort)
            relaxed = rescue or relaxed
        tree.n_by_cones += relaxed.by_cones
        tree.x, tree.nu = relaxed.x * tree.relaxation.unit, relaxed.nu
        return relaxed

    def _dive(self, switches: FloatArray) -> None:
        """Search for a first feasible point, if there is none."""
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
        """Whether the rows admit no point; the tree is then a proof of it.

        A linear program finds out at once; a relaxation would not converge.
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
        """Variables to be fixed to one and to zero by reduced costs (Theorem 2)."""
        subproblem = self.tree.presolved.subproblem
        on, off = bound.fixing_bounds(subproblem)
        is_out = subproblem.undecided & (on >= self.effort.cutoff)
        # With both values ruled out nothing better is left: one fixing will do.
        is_in = subproblem.undecided & (off >= self.effort.cutoff) & ~is_out
        return np.flatnonzero(is_in), np.flatnonzero(is_out)
