"""The oracle of streamed problems: passes over the data bound many leaves at a time."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import IntArray
from cardqp.branch_and_bound.driver import Driver
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.streamed.node import WorkingSetProcessor
from cardqp.branch_and_bound.streamed.node_bounds import NodeBound
from cardqp.branch_and_bound.streamed.root_phase import RootPhase
from cardqp.branch_and_bound.streamed.settings import StreamedSettings
from cardqp.branch_and_bound.streamed.size import batch_size
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.branch_and_bound.streamed.working_set import SparsePoint
from cardqp.relaxation.relaxation import Effort


@dataclass(frozen=True, slots=True)
class StreamedOracle:
    """Relaxes nodes on a working set of columns, and bounds leaves over all columns.

    A leaf whose bound is below the cutoff adds columns to the working set and is
    reopened.  The driver knows gap, cutoff and limits.
    """

    tree: StreamedTree
    driver: Driver[StreamedTree]

    @property
    def settings(self) -> StreamedSettings:
        """The settings of streamed searches."""
        return self.tree.settings.streamed

    def step_root(self) -> None:
        """Improve the support, or bound the root, by a pass over the data."""
        effort = self._effort(self.settings.root_slack)
        RootPhase(self.tree, self.driver.gap, self.driver.cutoff, effort).step()

    def is_turn_due(self) -> bool:
        """Whether enough leaves wait for a pass, or there is nothing else to do."""
        return self.most_together() <= 0

    def most_together(self) -> int:
        """As many nodes as leave no more leaves than one pass can bound."""
        tree = self.tree
        room = batch_size(tree.form, self.settings) - len(tree.pending)
        return min(tree.n_ready, room)

    def processor(self) -> WorkingSetProcessor:
        """What relaxes nodes on the working set."""
        effort = self._effort(self.settings.node_slack)
        return WorkingSetProcessor(self.tree, self.driver.cutoff(self.tree), effort)

    def follow_up(self, n_before: int) -> None:
        """Nothing is due after a batch."""

    def take_turn(self) -> None:
        """Bound the pending leaves in one pass; prune them, or open them again."""
        tree, cutoff = self.tree, self.driver.cutoff(self.tree)
        bounds, reopened = tree.bound_nodes(tree.pending), []
        for node, found in zip(tree.pending, bounds, strict=True):
            is_useful = len(self._missing_columns(node, found)) > 0
            failures = 0 if is_useful else tree.failures.get(node.position, 0) + 1
            is_pruned = max(found.bound, tree.root_bound) >= cutoff
            if is_pruned or failures > self.settings.max_failures:
                tree.prune(node, found)
                continue
            tree.failures[node.position] = failures
            reopened.append((node, found))
        # Nodes are lost to no interruption: what is open twice is proved no better.
        for node, _ in reopened:
            tree.push(node)
        tree.pending = []
        self.add_columns(reopened)

    def bound_nodes(self, nodes: list[Node]) -> list[NodeBound]:
        """Bound nodes over all columns, in as many passes as memory asks for.

        Once time is up, no further pass is begun, and there are bounds of the first
        ones only.
        """
        found: list[NodeBound] = []
        size = batch_size(self.tree.form, self.settings)
        for first in range(0, len(nodes), size):
            if first and self.driver.is_over():
                break
            found += self.tree.bound_nodes(nodes[first : first + size])
        return found

    def relax_again(self, node: Node) -> Node:
        """The node with its point and estimated bound on the working set of now."""
        node = self.tree.widened(node)
        subproblem = self.tree.subproblem(node)
        if subproblem.remaining <= 0:
            return node
        effort = self._effort(self.settings.root_slack)
        point = SparsePoint(node.entries, node.values)
        relaxed, estimate = self.tree.working.relax(subproblem, point, effort)
        entries, values = SparsePoint.of(relaxed.tangent_point)
        return node._replace(bound=estimate, entries=entries, values=values)

    def add_columns(self, bounded: Iterable[tuple[Node, NodeBound]]) -> None:
        """Add the columns that nodes are missing to the working set."""
        wanted = [self._missing_columns(node, found) for node, found in bounded]
        if wanted:
            columns = np.unique(np.concatenate(wanted))
            self.tree.working = self.tree.working.extend(columns)

    def _missing_columns(self, node: Node, found: NodeBound) -> IntArray:
        """The cheapest columns of a node that are not in the working set."""
        rule, settings = self.tree.problem.rule, self.settings
        remaining = rule.limit - int(np.count_nonzero(node.status > 0))
        if remaining <= 0:
            return np.zeros(0, dtype=np.intp)
        # Columns that are a little too expensive for the bound are taken as well: the
        # next relaxation would want them.
        limit = 0.0
        if rule.penalty == 0 and remaining <= len(found.costs):
            limit = settings.leaf_cost * float(found.costs[remaining - 1])
        columns = found.columns[found.costs < limit]
        is_new = ~np.isin(columns, self.tree.working.columns)
        return np.asarray(columns[is_new][: settings.leaf_columns])

    def _effort(self, slack: float) -> Effort:
        """When to stop relaxing: columns outside the working set will lower bounds."""
        tree = self.tree
        margin = self.settings.cutoff_margin * tree.gap_unit
        return self.driver.effort(tree, slack, self.driver.cutoff(tree) + margin)
