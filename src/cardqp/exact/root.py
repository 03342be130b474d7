"""Steps at the root: relax, decide, narrow, move a diagonal, as often as it pays."""

from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import IntArray
from cardqp.certificate import DualProof, Narrowing, RootStep
from cardqp.certificate.certificate import View
from cardqp.convex.support_qp import fit_support
from cardqp.exact.incumbent import round_switches
from cardqp.exact.relaxation import Effort, Relaxation
from cardqp.exact.split import spare_diagonal, tightest_diagonal
from cardqp.exact.tree import Tree
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP

_NONE = np.zeros(0, dtype=np.intp)

NARROWING_SHARE = 0.85
"""The root is processed again on what is left of its variables if that is at most this
share of them."""

RIDGE_SHARE, LOSS_SHARE = 0.01, 0.05
"""A narrowing is refused if its rounding takes more than the first share of a ridge, or
more than the second of the gap at the best point."""

LOOSE = 5.0
"""A diagonal is optimised if the root leaves this many times the gap asked for."""


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

    def step(self) -> None:
        """Relax the root; end the steps when the problem does not change any more."""
        tree, view = self.tree, self.tree.view
        tree.n_nodes += 1
        relaxed = tree.relaxation.solve(view.choice, tree.x, tree.nu, self.effort)
        tree.x, tree.nu = relaxed.x, relaxed.nu
        is_finite = (
            np.isfinite(relaxed.anchor).all() and np.isfinite(relaxed.beta).all()
        )
        if not relaxed.rows_met or not is_finite:
            tree.begin(self.effort.tolerance)
            return
        support = round_switches(view.problem, view.choice, relaxed.switches)
        tree.offer(fit_support(view.exact, support))
        proof = DualProof.at(relaxed.anchor, relaxed.beta)
        value = proof.bound(view.problem).value(view.choice)
        if value >= self.cutoff:
            step = RootStep(proof)
            tree.step_root(step, view.after(step))
            tree.is_rooted = True
            tree.closed_bound = tree.view.floor
            return
        step = RootStep(proof, *self._fix(proof))
        decided = view.after(step)
        found = self._narrowing(decided)
        if found is None:
            tree.step_root(step, decided)
            tree.begin(self.effort.tolerance)
            return
        narrowing, problem = found
        tree.step_root(
            replace(step, narrowing=narrowing), decided.narrowed(narrowing, problem)
        )
        x = (relaxed.x * tree.relaxation.unit)[narrowing.kept]
        tree.relaxation = Relaxation.prepare(problem)
        tree.x, tree.nu = x / tree.relaxation.unit, tree.relaxation.start()[1]

    def _fix(self, proof: DualProof) -> tuple[IntArray, IntArray]:
        """Theorem 2: variables whose other value costs too much."""
        choice = self.tree.view.choice
        on, off = proof.bound(self.tree.view.problem).fixing_bounds(choice)
        is_out = choice.free & (on >= self.cutoff)
        is_in = choice.free & (off >= self.cutoff) & ~is_out
        return np.flatnonzero(is_in), np.flatnonzero(is_out)

    def _narrowing(self, view: View) -> tuple[Narrowing, SparseQP] | None:
        """A smaller problem, or one with a better split, if there is one."""
        problem, kept = view.problem, np.flatnonzero(~view.choice.outside)
        if view.choice.slots <= 0 or not view.choice.free.any():
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
            moved = tightest_diagonal(
                problem.restrict(kept), view.choice.narrow(kept), self.tree.gap_unit
            )
            if moved is not None:
                found = self._apply(view, Narrowing(kept, moved))
        return found

    def _apply(
        self, view: View, narrowing: Narrowing
    ) -> tuple[Narrowing, SparseQP] | None:
        """The narrowed problem, unless rounding would cost more than it is worth."""
        try:
            problem = narrowing.apply(view.problem)
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
        return bool(tree.best.objective - view.floor > LOOSE * self.gap * tree.gap_unit)
