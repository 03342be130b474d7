"""The streamed search before there are nodes: a support, and a bound of the root."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.residual_bound import Residual
from cardqp.branch_and_bound.streamed.incumbent import root_columns, try_swaps
from cardqp.branch_and_bound.streamed.node import SWITCHED_ON
from cardqp.branch_and_bound.streamed.root import RootBound
from cardqp.branch_and_bound.streamed.settings import StreamedSettings
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.branch_and_bound.streamed.working_set import SparsePoint, WorkingSet
from cardqp.heuristics.local_search import round_switches
from cardqp.relaxation.relaxation import Effort, Relaxed
from cardqp.subproblems.support_qp import SupportFit, fit_support


@dataclass(frozen=True, slots=True)
class RootPhase:
    """One step of the streamed search at the root: a pass over the data.

    First a support is improved by all exact swaps.  Then the relaxation of the root is
    solved on the working set, which passes enlarge until other columns hardly matter.
    Nodes are pruned at the cutoff of their tree.
    """

    tree: StreamedTree
    gap: float
    cutoff: Callable[[StreamedTree], float]
    effort: Effort

    @property
    def settings(self) -> StreamedSettings:
        """The settings of streamed searches."""
        return self.tree.settings.streamed

    def step(self) -> None:
        """Make one pass over the data."""
        if self.tree.is_improved:
            self._bound()
        else:
            self._improve_support()

    def _improve_support(self) -> None:
        """Try all swaps with all columns; without improvement, go on to the root."""
        tree, settings, is_over = self.tree, self.settings, self.effort.is_over
        found = try_swaps(tree.problem, tree.working, tree.fit, settings, is_over)
        tree.n_passes += 1
        if found is not None and found.improved:
            tree.working, tree.fit = found.working, found.fit
            tree.keep_inside(found.fit)
            return
        if found is not None:
            columns = root_columns(tree.problem, found, settings)
            most = settings.max_dense_bytes
            tree.working = WorkingSet.of(tree.problem, tree.form, columns, most)
        tree.fit, tree.is_improved = SupportFit.nothing(tree.problem), True

    def _bound(self) -> None:
        """Relax the root, bound it over all columns, and enlarge the working set."""
        tree, working = self.tree, self.tree.working
        x = np.zeros(tree.problem.n) if tree.best.x is None else tree.best.x
        subproblem = tree.subproblem(tree.root())
        start = SparsePoint.of(x[working.columns])
        relaxed, estimate = working.relax(subproblem, start, self.effort)
        support = round_switches(working.reduced, subproblem, relaxed.switches)
        tree.update_incumbent(
            fit_support(working.reduced, support), self.effort.is_over
        )
        tree.start = SparsePoint.of(relaxed.tangent_point)
        found = self._root_bound()
        tree.record_root_bound(tree.start, found)
        new = self._cheapest_new(found.bound.costs)
        is_last = tree.n_root_passes >= self.settings.max_root_passes
        if is_last or len(new) == 0 or self._is_tight(estimate):
            self._start_tree(relaxed, found.bound.costs)
        else:
            tree.working = working.extend(new)

    def _root_bound(self) -> RootBound:
        """Bound the root over all columns, in one pass."""
        tree = self.tree
        residual = Residual.of(tree.form, tree.working.residuals([tree.start])[:, 0])
        with tree.timed_pass():
            products = tree.form.correlate(residual.vector[:, None])[:, 0]
        tree.n_root_passes += 1
        scales = self.settings.scales
        return RootBound.of(tree.problem, tree.form, residual, products, scales)

    def _is_tight(self, estimate: float) -> bool:
        """Whether columns outside the working set hardly lower the bound."""
        tree, settings = self.tree, self.settings
        missing = estimate - tree.root_bound
        open_gap = max(tree.best.objective - estimate, 0.0)
        allowed = settings.root_tolerance * open_gap
        allowed += settings.root_gap_share * self.gap * tree.gap_unit
        return missing <= allowed

    def _cheapest_new(self, costs: FloatArray) -> IntArray:
        """The cheapest columns that are not in the working set."""
        costs = np.minimum(costs, 0.0)
        costs[self.tree.working.columns] = 0.0
        costs[self.tree.problem.forced_out] = 0.0
        count = min(self.settings.root_columns, len(costs))
        new = np.argpartition(costs, count - 1)[:count]
        return np.asarray(new[costs[new] < 0])

    def _start_tree(self, relaxed: Relaxed, costs: FloatArray) -> None:
        """Fix variables by Theorem 2, shrink the working set, and open the root."""
        tree = self.tree
        tree.fix_variables(self.cutoff(tree))
        positions = self._worth_keeping(relaxed, costs)
        missing = np.setdiff1d(tree.fixed_in, tree.working.columns[positions])
        tree.working = tree.working.restrict(positions).extend(missing)
        tree.start = SparsePoint.of(relaxed.tangent_point[positions])
        tree.begin()

    def _worth_keeping(self, relaxed: Relaxed, costs: FloatArray) -> IntArray:
        """Positions in the working set of columns that the tree may need.

        Relaxations of nodes take time that grows with the working set, while columns
        that turn out to be missing come back.
        """
        tree = self.tree
        columns, x = tree.working.columns, tree.best.x
        remaining = tree.problem.rule.limit - len(tree.fixed_in)
        last = 0.0
        if 0 < remaining < len(costs):
            last = np.partition(costs, remaining - 1)[remaining - 1]
        kept = relaxed.switches > SWITCHED_ON
        kept |= costs[columns] < self.settings.kept_cost * last
        kept |= np.isin(columns, tree.fixed_in)
        if x is not None:
            kept |= x[columns] != 0
        kept &= tree.unfixed[columns]
        if not kept.any():  # as where a price keeps all columns out
            kept[np.argmin(costs[columns])] = True
        return np.flatnonzero(kept)
