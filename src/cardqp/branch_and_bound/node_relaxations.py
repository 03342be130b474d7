"""The relaxations of some nodes: those of one kind are solved in one call."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Kind
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Iterates, Relaxation
from cardqp.relaxation.scaled_data import Batch


class Snapshot(NamedTuple):
    """What nodes are told of the search so far.

    While some nodes are processed, others are committed: what they change must not
    matter before all of a batch are done, or the tree would depend on threads.

    Attributes
    ----------
    objective, gap_unit : float
        The objective of the incumbent, and what gaps are relative to.
    kernel_fails : bool
        Whether the kernel fails so often that it is not tried first.
    most_free : int
        Among how many undecided variables four are chosen by enumeration.
    """

    objective: float
    gap_unit: float
    kernel_fails: bool
    most_free: int

    @classmethod
    def of(cls, tree: Tree) -> "Snapshot":
        """The state of a tree."""
        state = tree.best.objective, tree.gap_unit, tree.kernel_fails
        return cls(*state, tree.most_free)


@dataclass(frozen=True, slots=True)
class NodeRelaxations:
    """Solves relaxations of nodes of a tree, which is not changed.

    The snapshot is what was known of it when its batch began; the kind says which
    relaxation: that with the sparse minorant, or that without.
    """

    tree: Tree
    snapshot: Snapshot
    effort: Effort
    kind: Kind

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation at the root."""
        return self.tree.relaxation_of(self.kind)

    @property
    def unit_change(self) -> FloatArray:
        """The units of warm starts, over those of the relaxation.

        They are kept in the units of the presolved problem's own relaxation.
        """
        return self.tree.relaxation.unit / self.relaxation.unit

    def batch(self, nodes: list[Node], remaining: list[int]) -> Batch:
        """The nodes as the kernel takes them, with their warm starts."""
        x = np.zeros((len(nodes), self.relaxation.problem.n))
        for k, node in enumerate(nodes):
            x[k, node.entries] = node.values
        return Batch(
            np.array([node.status for node in nodes]),
            np.array(remaining, dtype=np.intp),
            _labels(nodes),
            np.array([node.clusters.size for node in nodes], dtype=np.intp),
            self._ridges(nodes),
            np.array([self._slack(node) for node in nodes]),
            x * self.unit_change,
            np.array([node.nu for node in nodes]),
        )

    def _ridges(self, nodes: list[Node]) -> FloatArray:
        """The ridges of the nodes, higher with a sparse minorant, or one for all."""
        ridges = self.tree.node_ridges(self.kind)
        if ridges is None:
            return self.relaxation.data.w[None]
        own = np.array([ridges.at(node.status) for node in nodes])
        return own * self.relaxation.unit**2

    def _slack(self, node: Node) -> float:
        """How nearly the relaxation of a node is solved.

        The slack is a share of what the node lacks to be pruned; with rows it is large,
        and where much is lacking, what it leaves is limited.
        """
        slack = self.effort.slack
        if len(self.tree.problem.rows) == 0:
            return slack
        lacking = self.effort.cutoff - node.bound
        most = self.tree.settings.row_looseness * self.snapshot.gap_unit
        return most / lacking if most < slack * lacking < np.inf else slack

    def solve(self, nodes: list[Node], batch: Batch) -> Iterates:
        """Solve the relaxations by the kernel or, one by one, if cones are better."""
        relaxation = self.relaxation
        if not (relaxation.prefers_cones or self.snapshot.kernel_fails):
            return relaxation.iterate(batch, self.effort)
        relaxed = []
        for k, node in enumerate(nodes):
            subproblem, rescue = self._subproblem(node), None
            if not relaxation.prefers_cones:
                rescue = relaxation.solve_by_cones(subproblem, self.effort)
            start = batch.x[k], batch.nu[k], self.effort, node.clusters
            relaxed.append(rescue or relaxation.solve(subproblem, *start))
        return relaxation.stacked(relaxed)

    def rescue(self, node: Node, k: int, iterates: Iterates) -> None:
        """Solve the relaxation of a node by cones, where the kernel has failed."""
        if self.snapshot.kernel_fails or self.relaxation.prefers_cones:
            return
        found = self.relaxation.solve_by_cones(self._subproblem(node), self.effort)
        if found is not None:
            rows = self.relaxation.stacked([found])
            for whole, row in zip(iterates, rows, strict=True):
                whole[k] = row[0]

    def _subproblem(self, node: Node) -> Subproblem:
        return Subproblem.of_status(node.status, self.relaxation.problem.rule)


def _labels(nodes: list[Node]) -> IntArray:
    """The required clusters of all variables; without columns if there are none."""
    if all(node.clusters.size == 0 for node in nodes):
        return np.zeros((len(nodes), 0), dtype=np.int16)
    labels = np.full((len(nodes), len(nodes[0].status)), -1, dtype=np.int16)
    for k, node in enumerate(nodes):
        if node.clusters.size > 0:
            labels[k] = node.clusters.label
    return labels
