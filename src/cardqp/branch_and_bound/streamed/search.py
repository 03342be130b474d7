"""The streamed search: support, root, and a tree whose leaves passes bound."""

from dataclasses import dataclass

from cardqp._typing import FloatArray
from cardqp.branch_and_bound.driver import Driver
from cardqp.branch_and_bound.streamed.oracle import StreamedOracle
from cardqp.branch_and_bound.streamed.tree import StreamedTree
from cardqp.problem import SparseQP


@dataclass(frozen=True, slots=True)
class StreamedSearch(Driver[StreamedTree]):
    """Branch and bound on a working set of columns, with bounds over all columns.

    First a support is improved by all exact swaps.  Then the relaxation of the root is
    solved on the working set, which passes over the data enlarge until the other
    columns hardly matter.  Then a tree is grown on the working set.  Its leaves are
    collected, and one pass bounds many of them over all columns.  A leaf whose bound is
    below the cutoff adds columns to the working set and is reopened.

    Bounds are rigorous whatever the working set: see ``docs/theory.md#many-columns``.
    The search fails to close the gap where it does so in memory, too: with a weak
    ridge, few rows or much noise.  All parameters are those of
    :class:`cardqp.branch_and_bound.driver.Driver`.
    """

    def oracle(self, tree: StreamedTree) -> StreamedOracle:
        """What relaxes and proves the nodes of a tree."""
        return StreamedOracle(tree, self)

    def initial_tree(
        self, problem: SparseQP, start: FloatArray | None = None
    ) -> StreamedTree:
        """The state before the first pass, from a feasible point if there is one."""
        tree = StreamedTree.initial(problem, start, self.is_over, self.settings)
        tree.keep_proof = self.proof_memory > 0
        return tree
