"""The oracle of problems in memory: nodes are relaxed and proved at once."""

from dataclasses import dataclass

from cardqp.branch_and_bound.branching_rule import choose_rule, is_rule_due
from cardqp.branch_and_bound.driver import Driver
from cardqp.branch_and_bound.dropping import DroppingPhase
from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.root import RootPhase
from cardqp.branch_and_bound.tree import Tree


@dataclass(frozen=True, slots=True)
class MemoryOracle:
    """Relaxes the nodes of a tree and proves them, with perspective relaxations.

    These are due to Frangioni & Gentile (2006).  The driver knows gap, cutoff and
    limits.
    """

    tree: Tree
    driver: Driver[Tree]

    def step_root(self) -> None:
        """Take a step of the presolve."""
        self.root_phase().step()

    def is_turn_due(self) -> bool:
        """Whether to search by dropping variables, or to decide what to branch on."""
        return self.is_dropping_due() or is_rule_due(self.tree)

    def take_turn(self) -> None:
        """Take a turn of the search by dropping variables, or choose the rule."""
        if self.is_dropping_due():
            self.dropping_phase().step()
        else:
            choose_rule(self.processor())

    def most_together(self) -> int:
        """As many nodes as are open."""
        return self.tree.n_open

    def processor(self) -> NodeProcessor:
        """What processes nodes of the tree."""
        tree, cutoff = self.tree, self.driver.cutoff(self.tree)
        effort = self.driver.effort(tree, tree.node_slack, cutoff)
        return NodeProcessor(tree, cutoff, effort)

    def follow_up(self, n_before: int) -> None:
        """Search near the incumbent now and then; form the matrix in a long run."""
        tree = self.tree
        marks = tree.settings.local_search_after
        if any(n_before < mark <= tree.n_nodes for mark in marks):
            tree.iterated_local_search(self.driver.is_over)
        if tree.n_nodes >= tree.settings.form_after and tree.n_open > 0:
            tree.form_matrix()

    def root_phase(self) -> RootPhase:
        """The presolve."""
        slack, cutoff = self.tree.settings.root_slack, self.driver.cutoff(self.tree)
        effort = self.driver.effort(self.tree, slack, cutoff)
        return RootPhase(self.tree, self.driver.gap, effort)

    def dropping_phase(self) -> DroppingPhase:
        """The search by dropping variables."""
        driver = self.driver
        return DroppingPhase(self.tree, driver.gap, driver.cutoff, driver.is_over)

    def is_dropping_due(self) -> bool:
        """Whether it is the turn of the search by dropping variables."""
        return self.driver.node_limit is None and self.dropping_phase().is_due()
