"""A part of the tree, explored in one go."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.explore import (
    Exact,
    Orders,
    Stack,
    Tally,
    Written,
    explore,
)
from cardqp.branch_and_bound.tree import Node, Tree
from cardqp.relaxation.relaxation import CHUNK
from cardqp.subproblems.support_qp import fit_support


@dataclass(frozen=True, slots=True)
class Excursion:
    """What an excursion below a branch found; the tree does not know of it yet.

    Attributes
    ----------
    node : Node
        The branch.
    proof, stack, tally
        What was proved below it, what is open, and the sums.
    n_nodes : int
        How many branches were processed.
    """

    node: Node
    proof: Written
    stack: Stack
    tally: Tally
    n_nodes: int

    @classmethod
    def below(
        cls,
        tree: Tree,
        node: Node,
        cutoff: float,
        tolerance: float,
        slack: float,
        budget: int,
    ) -> "Excursion | None":
        """Explore what is below a branch; None if supports cannot be completed."""
        supports, relaxation = tree.supports, tree.relaxation
        tilt = relaxation.tilt
        if (
            supports is None
            or tilt is None
            or not supports.is_fine(node.bound, tolerance)
        ):
            return None
        problem = tree.view.problem
        x = np.zeros(problem.n)
        x[node.entries] = node.values
        orders = Orders(
            problem.rule.limit,
            cutoff,
            tolerance,
            slack,
            CHUNK,
            budget,
            tree.log is not None and tree.log.is_single,
        )
        found = explore(
            relaxation.data,
            tilt,
            relaxation.margins,
            relaxation.unit,
            Exact(supports.G, supports.c, supports.constant, supports.error),
            orders,
            node.bound,
            node.status,
            x,
            tree.best.objective,
        )
        return cls(node, *found)

    def commit(self, tree: Tree, is_over: Callable[[], bool] = lambda: False) -> None:
        """Write what was found into the tree; points are improved while time lasts."""
        first = tree.n_created - 1
        n_written = int(self.proof.counts[0])
        if tree.log is not None:
            tree.log.graft(self.node.position, self.proof)
        for at in range(int(self.stack.size[0])):
            tree.push(self._open(at, first))
        tree.n_created += n_written - 1
        tree.n_nodes += self.n_nodes
        tree.closed_share += float(self.tally.numbers[1]) * 2.0**self.node.height
        tree.closed_bound = min(tree.closed_bound, float(self.tally.numbers[0]))
        support = self.tally.support[self.tally.support >= 0]
        if self.tally.numbers[2] < tree.best.objective and len(support):
            tree.offer(fit_support(tree.view.exact, np.sort(support)), is_over)

    def _open(self, at: int, first: int) -> Node:
        """A branch that is still open; ``first`` is the number of the first child."""
        x: FloatArray = self.stack.x[at]
        entries: IntArray = np.flatnonzero(x).astype(np.int32)
        local = int(self.stack.position[at])
        return Node(
            float(self.stack.bound[at]),
            self.node.height - int(self.stack.depth[at]),
            self.node.position if local == 0 else first + local,
            self.stack.status[at].copy(),
            entries,
            x[entries],
            self.node.nu,
        )
