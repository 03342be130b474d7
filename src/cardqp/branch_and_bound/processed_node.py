"""The outcome of processing a node, and how it is committed to the tree."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.clusters import Required, children, follow
from cardqp.branch_and_bound.search_tree import Node, SearchTree
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Kind, ProofLog
from cardqp.relaxation.assessment import nonzeros
from cardqp.relaxation.scaled_data import ClusterData
from cardqp.subproblems.support_qp import SupportFit, fit_support

# Shared by all outcomes, which never write into their arrays.
_NONE, _EMPTY = np.zeros(0, dtype=np.intp), np.zeros(0)


@dataclass(slots=True)
class ProcessedNode:
    """The outcome of processing a node, to be committed to the tree.

    Attributes
    ----------
    node : Node
        The node.
    kind : Kind
        How it is proved.
    index, value, beta : arrays
        Its dual point, in the problem's units, or its Farkas ray.
    status : (n,) int8 array
        The status of variables after reduced-cost fixing (Theorem 2).
    pruned_bound : float
        The least bound among what was pruned.
    bound : float
        The bound of what was not pruned.
    branch : int
        The variable to branch on; -1 to go on with one child.
    members : int array
        The variable and those that share its switch.
    cluster : int array or None
        The variables to branch on together: at least one on, or all off.
    children : tuple of float
        The bounds of the children, on before off.
    sides : list of Required
        The decisions of the children.
    entries, values, nu : arrays
        The warm start of their relaxations.
    fixed : int array or None
        The variables fixed in this node, counted from one, with a sign.
    support : int array or None
        A support worth fitting.
    fit : SupportFit or None
        A feasible point of a leaf.
    by_cones : bool
        Whether it was relaxed by interior points, not by the kernel.
    is_cut_off : bool or None
        Whether enumerating completions by four variables was a success; None if it was
        not tried.
    leaves : list of ProcessedNode
        Children that are done: supports that enumeration without rows has left.
    limit : int
        How many variables may be on, for what required clusters imply.
    """

    node: Node
    kind: Kind = Kind.INHERITED
    index: IntArray = field(default_factory=lambda: _NONE)
    value: FloatArray = field(default_factory=lambda: _EMPTY)
    beta: FloatArray = field(default_factory=lambda: _EMPTY)
    status: IntArray = field(default_factory=lambda: _NONE)
    pruned_bound: float = np.inf
    bound: float = -np.inf
    branch: int = -1
    members: IntArray = field(default_factory=lambda: _NONE)
    cluster: IntArray | None = None
    children: tuple[float, ...] = ()
    sides: list[Required] = field(default_factory=list)
    entries: IntArray = field(default_factory=lambda: _NONE)
    values: FloatArray = field(default_factory=lambda: _EMPTY)
    nu: FloatArray = field(default_factory=lambda: _EMPTY)
    support: IntArray | None = None
    fit: SupportFit | None = None
    by_cones: bool = False
    is_cut_off: bool | None = None
    leaves: list["ProcessedNode"] = field(default_factory=list)
    fixed: IntArray | None = None
    limit: int = 0

    def branch_from(self, x: FloatArray, nu: FloatArray) -> None:
        """Work out what the children will need, their warm start being given.

        All that takes time is done here, while other nodes are processed as well;
        commits are made one by one.
        """
        self.entries, self.values = nonzeros(x)
        self.nu, self.sides = nu, self._sides()
        self.fixed = signed_changes(self.node.status, self.status)

    def commit(self, tree: Tree, is_over: Callable[[], bool] = lambda: False) -> None:
        """Write the outcome into the tree; points are improved while time lasts."""
        self.grow(tree)
        tree.n_by_cones += self.by_cones
        if self.is_cut_off is not None:
            tree.note_cut_off(self.is_cut_off)
        for leaf in self.leaves:
            leaf.commit_leaf(tree, is_over)
        if self.fit is not None:
            tree.update_incumbent(self.fit, is_over)
        if self.support is not None and self.support.tobytes() not in tree.tried:
            tree.tried.add(self.support.tobytes())
            tree.update_incumbent(
                fit_support(tree.presolved.original, self.support), is_over
            )

    def grow(self, tree: SearchTree) -> None:
        """Record how the node is proved, open its children, and count it."""
        if tree.log is not None:
            self._record(tree.log)
        for child in self.open(tree.n_created):
            tree.push(child)
        tree.n_created += len(self.children)
        if not self.children:
            tree.closed_share += 2.0**self.node.height
        tree.pruned_bound = min(tree.pruned_bound, self.pruned_bound)
        tree.n_nodes += 1

    def commit_leaf(self, tree: Tree, is_over: Callable[[], bool]) -> None:
        """Write a child that is done into the tree, after its parent."""
        tree.n_created += 1
        tree.pruned_bound = min(tree.pruned_bound, self.pruned_bound)
        if self.fit is not None:
            tree.update_incumbent(self.fit, is_over)

    def _record(self, log: ProofLog) -> None:
        fixed = self.fixed
        if self.leaves:
            fixed = np.concatenate([leaf.node.free for leaf in self.leaves]) + 1
        log.record(
            self.node.position,
            self.kind,
            index=self.index,
            value=self.value,
            beta=self.beta,
            fixed=fixed,
        )
        if self.children:
            log.split(self.node.position, self.branch, self.cluster)
        elif self.leaves:
            first = log.add_children(self.node.position, len(self.leaves))
            for position, leaf in enumerate(self.leaves, first):
                leaf.node = leaf.node._replace(position=position)
                leaf._record(log)

    def open(self, first: int) -> list[Node]:
        """The children as open nodes, numbered from ``first`` on."""
        height = self.node.height - (len(self.children) > 1)
        return [
            Node(
                np.inf if side.is_empty else bound,
                height,
                first + child,
                side.status,
                self.entries,
                self.values,
                self.nu,
                self.kind,
                ClusterData(side.label, side.size),
            )
            for child, (bound, side) in enumerate(
                zip(self.children, self.sides, strict=True)
            )
        ]

    def _sides(self) -> list[Required]:
        """The decisions of each child."""
        clusters, limit = self.node.clusters, self.limit
        if self.cluster is not None:
            return children(self.status, clusters, self.cluster, limit)
        if self.branch < 0:
            # Without a variable to branch on, the one child shares the array.
            return [follow(self.status, clusters, limit)]
        sides = []
        for value in (1, -1):
            status = self.status.copy()
            status[self.members] = value
            sides.append(follow(status, clusters, limit))
        return sides


def signed_changes(before: IntArray, after: IntArray) -> IntArray:
    """Variables whose status changed, counted from one, with the sign of the new."""
    changed = np.flatnonzero(before != after)
    return (changed + 1) * after[changed]
