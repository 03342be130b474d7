"""The relaxation of nodes on the working set: they are split, or wait for a pass."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from cardqp._typing import FloatArray
from cardqp.branch_and_bound.processed_node import ProcessedNode
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.streamed.tree import SplitNode, StreamedTree
from cardqp.branch_and_bound.streamed.working_set import SparsePoint, WorkingSet
from cardqp.heuristics.local_search import round_switches
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort
from cardqp.subproblems.support_qp import SupportFit, fit_support

SWITCHED_ON = 1e-6
"""Relaxed switches above this count as on, at least in part; smaller ones are what the
relaxation leaves of zeros."""


@dataclass(frozen=True, slots=True)
class RelaxedNode:
    """A node relaxed on the working set, which proves nothing about all columns.

    The result has its relaxed point and what it is split into; the fit is a feasible
    point on the working set.
    """

    result: ProcessedNode
    fit: SupportFit

    def commit(self, tree: StreamedTree, is_over: Callable[[], bool]) -> None:
        """Open the children, or leave the node to the next pass."""
        node = self.result.node
        if self.result.children:
            children = tree.n_created, tree.n_created + 1
            tree.split_nodes[node.position] = SplitNode(node, children)
            self.result.grow(tree)
        else:
            tree.pending.append(node)
            tree.n_nodes += 1
        tree.update_incumbent(self.fit, is_over)

    def open(self, first: int) -> list[Node]:
        """The children as open nodes, numbered from ``first`` on."""
        return self.result.open(first)


@dataclass(frozen=True, slots=True)
class WorkingSetProcessor:
    """Relaxes nodes of a streamed tree, which is not changed, on its working set.

    A node whose estimated bound is at least the cutoff waits for a pass.
    """

    tree: StreamedTree
    cutoff: float
    effort: Effort
    working: WorkingSet = field(init=False)

    n_per_task = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "working", self.tree.working.prepared())

    def process_all(self, nodes: list[Node]) -> list[RelaxedNode]:
        """Relax nodes one by one."""
        return [self._process(self.tree.widened(node)) for node in nodes]

    def _process(self, node: Node) -> RelaxedNode:
        """Relax a node; split it, or leave it to the next pass."""
        reduced, subproblem = self.working.reduced, self.tree.subproblem(node)
        if subproblem.remaining <= 0:
            return self._full(node, subproblem)
        # A node that failed before is relaxed as far as it goes: there is no column to
        # add, so that a better dual point is all that can help.
        has_failed = self.tree.failures.get(node.position, 0) > 0
        effort = replace(self.effort, slack=0.0) if has_failed else self.effort
        point = SparsePoint(node.entries, node.values)
        relaxed, estimate = self.working.relax(subproblem, point, effort)
        fit = fit_support(
            reduced, round_switches(reduced, subproblem, relaxed.switches)
        )
        result = ProcessedNode(_moved(node, relaxed.tangent_point, estimate))
        is_on = relaxed.switches > SWITCHED_ON
        candidates = np.flatnonzero(subproblem.undecided & is_on)
        is_leaf = estimate >= self.cutoff and not has_failed
        if not (is_leaf or len(candidates) == 0):
            # Splitting is valid on any column.  It is not in vain either: over all
            # columns the relaxation is no larger than on the working set.
            size = np.abs(relaxed.tangent_point[candidates])
            self._split(result, int(candidates[size.argmax()]), relaxed.tangent_point)
        return RelaxedNode(result, fit)

    def _full(self, node: Node, subproblem: Subproblem) -> RelaxedNode:
        """Leave a node with a full support to a pass, at the best point on it.

        The working set proves nothing about all columns.
        """
        support = np.flatnonzero(subproblem.fixed_in)
        fit = fit_support(self.working.reduced, support)
        x = np.zeros(len(node.status)) if fit.x is None else fit.x
        result = ProcessedNode(_moved(node, x, node.bound))
        is_feasible = subproblem.remaining == 0
        return RelaxedNode(
            result, fit if is_feasible else SupportFit.nothing(self.working.reduced)
        )

    def _split(self, result: ProcessedNode, position: int, point: FloatArray) -> None:
        """Split a node into one with a column switched on, and one with it off."""
        result.branch = int(self.working.columns[position])
        result.members = np.array([position])
        result.status = result.node.status
        result.children = (result.node.bound, result.node.bound)
        # Children keep the point: until they are relaxed, it is the best one known.
        result.branch_from(point, result.node.nu)


def _moved(node: Node, point: FloatArray, estimate: float) -> Node:
    """A node with its relaxed point, and an estimate of its bound."""
    bound, where = max(estimate, node.bound), SparsePoint.of(point)
    return node._replace(bound=bound, entries=where.positions, values=where.values)
