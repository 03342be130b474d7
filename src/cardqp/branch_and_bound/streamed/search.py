"""The streamed search: support, root, and a tree whose leaves passes bound."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cardqp._iterate import Progress, Stop
from cardqp._typing import FloatArray, IntArray
from cardqp.bounds.residual_bound import Residual
from cardqp.branch_and_bound.settings import PRUNING_SHARE, RELAXATION_SHARE
from cardqp.branch_and_bound.streamed.incumbent import root_columns, try_swaps
from cardqp.branch_and_bound.streamed.node_bounds import NodeBound
from cardqp.branch_and_bound.streamed.root import RootBound
from cardqp.branch_and_bound.streamed.settings import DEFAULT_SETTINGS, StreamedSettings
from cardqp.branch_and_bound.streamed.size import batch_size
from cardqp.branch_and_bound.streamed.tree import Node, Phase, StreamedTree
from cardqp.branch_and_bound.streamed.working_set import SparsePoint, WorkingSet
from cardqp.certificate.dual_point import DualPoint
from cardqp.heuristics.local_search import improve, round_switches
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxed
from cardqp.subproblems.support_qp import SupportFit, fit_support

SWITCHED_ON = 1e-6
"""Relaxed switches above this count as on, at least in part; smaller ones are what the
relaxation leaves of zeros."""


@dataclass(frozen=True, slots=True)
class StreamedSearch:
    """Branch and bound on a working set of columns, with bounds over all columns.

    First a support is improved by all exact swaps.  Then the relaxation of the root is
    solved on the working set, which passes over the data enlarge until the other
    columns hardly matter.  Then a tree is grown on the working set.  Its leaves are
    collected, and one pass bounds many of them over all columns.  A leaf whose bound is
    below the cutoff adds columns to the working set and is reopened.

    Bounds are rigorous whatever the working set: see
    ``docs/theory.md#many-columns``.  The search fails to close the gap where it
    does so in memory, too: with a weak ridge, few rows or much noise.

    Parameters
    ----------
    gap : float
        Relative gap at which nodes are pruned.
    is_over : callable
        Whether time is up.
    node_limit : int or None
        The most nodes to be processed.
    settings : StreamedSettings
        Sizes and tolerances.
    """

    gap: float = 1e-4
    is_over: Callable[[], bool] = lambda: False
    node_limit: int | None = None
    settings: StreamedSettings = DEFAULT_SETTINGS

    def initial_tree(
        self, problem: SparseQP, start: FloatArray | None = None
    ) -> StreamedTree:
        """The state before the first pass, from a feasible point if there is one."""
        return StreamedTree.initial(problem, start, self.is_over, self.settings)

    def init(self, tree: StreamedTree) -> StreamedTree:
        """The tree, which is its own initial state."""
        return tree

    def step(self, _: StreamedTree, tree: StreamedTree) -> StreamedTree:
        """Make one pass over the data, or process one node."""
        if tree.phase is Phase.SUPPORT:
            self._improve_support(tree)
        elif tree.phase is Phase.ROOT:
            self._bound_root(tree)
        elif tree.heap and len(tree.pending) < batch_size(tree.form, self.settings):
            self._process_node(tree, heapq.heappop(tree.heap))
        else:
            self._bound_pending(tree)
        return tree

    def done(self, tree: StreamedTree) -> Stop | None:
        """Why the search ends: every leaf is pruned, or a limit is reached."""
        if tree.phase is Phase.TREE and tree.n_open == 0:
            is_proved = tree.lower_bound >= self.cutoff(tree)
            return Stop.GAP if is_proved else Stop.STALLED
        if tree.root_bound >= self.cutoff(tree):
            return Stop.GAP
        if self.node_limit is not None and tree.n_nodes >= self.node_limit:
            return Stop.NODE_LIMIT
        return None

    def progress(self, tree: StreamedTree, seconds: float) -> Progress:
        """Incumbent, bound, passes and open nodes, for callbacks."""
        return Progress(
            f"pass {tree.n_passes}",
            tree.n_nodes,
            seconds,
            objective=tree.objective,
            lower_bound=min(tree.lower_bound, tree.objective),
            n_open=tree.n_open,
        )

    def cutoff(self, tree: StreamedTree) -> float:
        """The bound at which a node is pruned: it holds no point better by the gap."""
        return tree.objective - PRUNING_SHARE * self.gap * tree.gap_unit

    def _improve_support(self, tree: StreamedTree) -> None:
        """Try all swaps with all columns; without improvement, go on to the root."""
        found = try_swaps(
            tree.problem, tree.working, tree.fit, self.settings, self.is_over
        )
        tree.n_passes += 1
        if found is not None and found.improved:
            tree.working, tree.fit = found.working, found.fit
            tree.update_incumbent(found.fit)
            return
        if found is not None:
            columns = root_columns(tree.problem, found, self.settings)
            most = self.settings.max_dense_bytes
            tree.working = WorkingSet.of(tree.problem, tree.form, columns, most)
        tree.fit = SupportFit.nothing(tree.problem)
        tree.phase = Phase.ROOT

    def _effort(self, tree: StreamedTree, slack: float) -> Effort:
        tolerance = RELAXATION_SHARE * self.gap * tree.gap_unit
        target = tree.objective + self.settings.cutoff_margin * tree.gap_unit
        return Effort(tolerance, target, slack, self.is_over)

    def _relax(
        self,
        tree: StreamedTree,
        subproblem: Subproblem,
        point: SparsePoint,
        slack: float,
    ) -> tuple[Relaxed, float]:
        """Relax a subproblem on the working set, and bound it there.

        The bound is an estimate of that over all columns.
        """
        working, start = tree.working, tree.working.dense(point)
        start[subproblem.fixed_out] = 0.0
        unit, nothing = working.relaxation.unit, np.zeros(0)
        effort = self._effort(tree, slack)
        relaxed = working.relaxation.solve(subproblem, start / unit, nothing, effort)
        proof = DualPoint.at(relaxed.tangent_point, relaxed.beta)
        return relaxed, proof.bound(working.reduced).value(subproblem)

    def _update_from_rounding(
        self, tree: StreamedTree, subproblem: Subproblem, relaxed: Relaxed
    ) -> None:
        """Round the relaxed switches, and keep the point if it is the best."""
        reduced = tree.working.reduced
        fit = fit_support(
            reduced, round_switches(reduced, subproblem, relaxed.switches)
        )
        if fit.objective < tree.objective:
            tree.update_incumbent(improve(reduced, fit, self.is_over))

    def _bound_root(self, tree: StreamedTree) -> None:
        """Relax the root, bound it over all columns, and enlarge the working set."""
        working, problem, form = tree.working, tree.problem, tree.form
        start = Node(-np.inf, 0, (), (), working.gather(tree.x))
        subproblem = tree.subproblem(start)
        slack = self.settings.root_slack
        relaxed, estimate = self._relax(tree, subproblem, start.point, slack)
        self._update_from_rounding(tree, subproblem, relaxed)
        point = SparsePoint.of(relaxed.tangent_point)
        residual = Residual.of(form, working.residuals([point])[:, 0])
        with tree.timed_pass():
            products = form.correlate(residual.vector[:, None])[:, 0]
        tree.n_root_passes += 1
        found = RootBound.of(problem, form, residual, products, self.settings.scales)
        tree.record_root_bound(working.columns[point.positions], point.values, found)
        new = self._cheapest_new(tree, found.bound.costs)
        is_last = tree.n_root_passes >= self.settings.max_root_passes
        if is_last or len(new) == 0 or self._is_root_tight(tree, estimate):
            self._start_tree(tree, relaxed, found.bound.costs)
        else:
            tree.working = working.extend(new)

    def _is_root_tight(self, tree: StreamedTree, estimate: float) -> bool:
        """Whether columns outside the working set hardly lower the bound."""
        settings = self.settings
        missing = estimate - tree.root_bound
        open_gap = max(tree.objective - estimate, 0.0)
        allowed = settings.root_tolerance * open_gap
        allowed += settings.root_gap_share * self.gap * tree.gap_unit
        return missing <= allowed

    def _cheapest_new(self, tree: StreamedTree, costs: FloatArray) -> IntArray:
        """The cheapest columns that are not in the working set."""
        costs = np.minimum(costs, 0.0)
        costs[tree.working.columns] = 0.0
        costs[tree.problem.forced_out] = 0.0
        count = min(self.settings.root_columns, len(costs))
        new = np.argpartition(costs, count - 1)[:count]
        return np.asarray(new[costs[new] < 0])

    def _start_tree(
        self, tree: StreamedTree, relaxed: Relaxed, costs: FloatArray
    ) -> None:
        """Fix variables by Theorem 2, shrink the working set, and open the root."""
        self._fix_variables(tree)
        positions = self._worth_keeping(tree, relaxed, costs)
        tree.working = tree.working.restrict(positions)
        tree.phase = Phase.TREE
        missing = np.setdiff1d(tree.fixed_in, tree.working.columns)
        tree.working = tree.working.extend(missing)
        point = SparsePoint.of(relaxed.tangent_point[positions])
        tree.heap = [Node(tree.root_bound, 0, (), (), point)]

    def _fix_variables(self, tree: StreamedTree) -> None:
        """Fix variables whose other value has a bound beyond the cutoff."""
        root, cutoff = tree.problem.root, self.cutoff(tree)
        tree.fixing_cutoff = cutoff
        tree.unfixed = ~root.fixed_out & ~(root.undecided & (tree.on >= cutoff))
        is_in = root.undecided & tree.unfixed & (tree.off >= cutoff)
        tree.fixed_in = np.union1d(np.flatnonzero(is_in), tree.problem.forced_in)

    def _worth_keeping(
        self, tree: StreamedTree, relaxed: Relaxed, costs: FloatArray
    ) -> IntArray:
        """Positions in the working set of columns that the tree may need.

        Relaxations of nodes take time that grows with the working set, while columns
        that turn out to be missing come back.
        """
        columns = tree.working.columns
        remaining = tree.problem.rule.limit - len(tree.fixed_in)
        last = 0.0
        if 0 < remaining < len(costs):
            last = np.partition(costs, remaining - 1)[remaining - 1]
        kept = relaxed.switches > SWITCHED_ON
        kept |= costs[columns] < self.settings.kept_cost * last
        kept |= np.isin(columns, np.append(tree.fixed_in, np.flatnonzero(tree.x)))
        kept &= tree.unfixed[columns]
        return np.flatnonzero(kept)

    def _process_node(self, tree: StreamedTree, node: Node) -> None:
        """Relax a node on the working set; split it, or leave it to the next pass."""
        tree.n_nodes += 1
        subproblem, reduced = tree.subproblem(node), tree.working.reduced
        if subproblem.remaining <= 0:
            # A node with a full support is left to a pass, too: the working set proves
            # nothing about all columns.
            fit = fit_support(reduced, np.flatnonzero(subproblem.fixed_in))
            if subproblem.remaining == 0:
                tree.update_incumbent(fit)
            x = np.zeros(len(tree.working.columns)) if fit.x is None else fit.x
            tree.pending.append(node._replace(point=SparsePoint.of(x)))
            return
        # A node that failed before is relaxed as far as it goes: there is no column to
        # add, so that a better dual point is all that can help.
        slack = 0.0 if node.failures else self.settings.node_slack
        relaxed, estimate = self._relax(tree, subproblem, node.point, slack)
        self._update_from_rounding(tree, subproblem, relaxed)
        point = SparsePoint.of(relaxed.tangent_point)
        estimated_bound = max(estimate, node.estimated_bound)
        node = node._replace(estimated_bound=estimated_bound, point=point)
        is_on = relaxed.switches > SWITCHED_ON
        candidates = np.flatnonzero(subproblem.undecided & is_on)
        is_leaf = estimate >= self.cutoff(tree) and node.failures == 0
        if is_leaf or len(candidates) == 0:
            tree.pending.append(node)
            return
        size = np.abs(relaxed.tangent_point[candidates])
        # Splitting is valid on any column.  It is not in vain either: over all columns
        # the relaxation of the node is no larger than on the working set.
        self._split(tree, node, int(candidates[size.argmax()]))

    def relax_again(self, tree: StreamedTree, node: Node) -> Node:
        """The node with its point and estimated bound on the working set of now."""
        subproblem = tree.subproblem(node)
        if subproblem.remaining <= 0:
            return node
        slack = self.settings.root_slack
        relaxed, estimate = self._relax(tree, subproblem, node.point, slack)
        point = SparsePoint.of(relaxed.tangent_point)
        return node._replace(estimated_bound=estimate, point=point)

    def _split(self, tree: StreamedTree, node: Node, position: int) -> None:
        """Open the children of a node, with one column switched on and off."""
        column = int(tree.working.columns[position])
        first = tree.log.split(node.position, column)
        tree.split_nodes[node.position] = node
        # Children keep the point: until they are relaxed, it is the best one known.
        node = node._replace(failures=0)
        on = node._replace(position=first, fixed_in=(*node.fixed_in, column))
        off = node._replace(position=first + 1, fixed_out=(*node.fixed_out, column))
        heapq.heappush(tree.heap, on)
        heapq.heappush(tree.heap, off)

    def bound_nodes(self, tree: StreamedTree, nodes: list[Node]) -> list[NodeBound]:
        """Bound nodes over all columns, in as many passes as memory asks for.

        Returns
        -------
        list of NodeBound
            The bounds, in the order of the nodes.  Once time is up, no further pass is
            begun, and the list is shorter.
        """
        found: list[NodeBound] = []
        size = batch_size(tree.form, self.settings)
        for first in range(0, len(nodes), size):
            if first and self.is_over():
                break
            found += tree.bound_nodes(nodes[first : first + size], self.settings)
        return found

    def _bound_pending(self, tree: StreamedTree) -> None:
        """Bound the pending leaves in one pass; prune them, or open them again."""
        nodes, tree.pending = tree.pending, []
        cutoff = self.cutoff(tree)
        reopened: list[tuple[Node, NodeBound]] = []
        bounds = tree.bound_nodes(nodes, self.settings)
        for node, found in zip(nodes, bounds, strict=True):
            if max(found.bound, tree.root_bound) >= cutoff:
                tree.prune(node, found)
                continue
            is_useful = len(self._missing_columns(tree, node, found)) > 0
            failures = 0 if is_useful else node.failures + 1
            if failures > self.settings.max_failures:
                tree.prune(node, found)  # no more can be proved about it
                continue
            reopened.append((node, found))
            heapq.heappush(tree.heap, node._replace(failures=failures))
        self.add_columns(tree, reopened)

    def add_columns(
        self, tree: StreamedTree, bounded: Iterable[tuple[Node, NodeBound]]
    ) -> None:
        """Add the columns that nodes are missing to the working set."""
        wanted = [self._missing_columns(tree, node, found) for node, found in bounded]
        if wanted:
            tree.working = tree.working.extend(np.unique(np.concatenate(wanted)))

    def _missing_columns(
        self, tree: StreamedTree, node: Node, found: NodeBound
    ) -> IntArray:
        """The cheapest columns of a node that are not in the working set."""
        remaining = tree.problem.rule.limit - len(node.fixed_in) - len(tree.fixed_in)
        if remaining <= 0:
            return np.zeros(0, dtype=np.intp)
        # Columns that are a little too expensive for the bound are taken as well: the
        # next relaxation would want them.
        limit = 0.0
        if tree.problem.rule.penalty == 0 and remaining <= len(found.costs):
            limit = self.settings.leaf_cost * float(found.costs[remaining - 1])
        columns = found.columns[found.costs < limit]
        is_new = ~np.isin(columns, tree.working.columns)
        return np.asarray(columns[is_new][: self.settings.leaf_columns])
