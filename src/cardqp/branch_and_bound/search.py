"""Branch and bound on the perspective relaxation, for problems in memory."""

from dataclasses import dataclass

from cardqp._iterate import Stop
from cardqp._typing import FloatArray
from cardqp.branch_and_bound.branching_rule import is_rule_due
from cardqp.branch_and_bound.driver import Driver
from cardqp.branch_and_bound.dropping import is_weak
from cardqp.branch_and_bound.memory_oracle import MemoryOracle
from cardqp.branch_and_bound.tree import Tree
from cardqp.heuristics.local_search import grow_greedily
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import SupportFit, fit_support


@dataclass(frozen=True, slots=True)
class BranchAndBound(Driver[Tree]):
    """Find the best support and prove that it is, up to a gap.

    The root is presolved.  Each node is relaxed, bounded by Theorem 1, reduced by
    fixing variables by Theorem 2, and branched on.  A node with few variables to be
    chosen is solved by enumerating them; one whose support is complete is a quadratic
    program.  The method fails only in time: the number of nodes can grow exponentially.

    All other parameters are those of :class:`cardqp.branch_and_bound.driver.Driver`.

    Parameters
    ----------
    before_nodes : bool
        Stop before the first node is relaxed, after what can be done at once by
        dropping variables.
    before_rule : bool
        Stop when it is time to decide what to branch on.
    optimise_split : bool
        Whether the root may look for a better split of ``Q``.
    """

    before_nodes: bool = False
    before_rule: bool = False
    optimise_split: bool = True

    def oracle(self, tree: Tree) -> MemoryOracle:
        """What relaxes and proves the nodes of a tree."""
        return MemoryOracle(tree, self)

    def initial_tree(
        self,
        problem: SparseQP,
        incumbent: FloatArray | None = None,
        *,
        keeps_bounds: bool = False,
    ) -> Tree:
        """Begin a tree: first feasible points, and the fixings that they allow for.

        The incumbent is feasible, and taken as it is if there is no time left.  Bounds
        of variables may be dropped unless ``keeps_bounds``.
        """
        tree = Tree.initial(problem, settings=self.settings)
        tree.keep_proof = self.proof_memory > 0
        if not self.optimise_split:
            # As if splits had been optimised already, on fewer variables than any.
            tree.tightened = tree.split = 0.0
        if incumbent is None or not self.is_late():
            self._find_first_points(tree, incumbent)
        if tree.best.x is None and incumbent is not None:
            tree.keep(SupportFit.known(problem, incumbent))
        if tree.best.x is not None and self._is_found_by_dropping(tree):
            return tree
        settings = self.settings.dropping
        is_small = problem.n <= settings.max_local_search_variables
        if is_small and is_weak(problem, settings.weak_ridge):
            # Greedy supports are far off then, and fixings depend on the incumbent.
            tree.iterated_local_search(self.is_over)
        if tree.best.x is not None:
            tree.x = tree.best.x
            if not (keeps_bounds or self.is_late()):
                self.oracle(tree).root_phase().drop_bounds()
        self.oracle(tree).root_phase().start()
        return tree

    def _restarted(self, tree: Tree) -> Tree:
        """A new tree, with the bounds of variables that were dropped in the old one."""
        new = self.initial_tree(tree.problem, tree.best.x, keeps_bounds=True)
        new.n_nodes = tree.n_nodes
        return new

    def _is_found_by_dropping(self, tree: Tree) -> bool:
        """Whether a short search by dropping variables ends it, before the presolve."""
        if self.root_only or self.node_limit is not None or self.is_over():
            return False
        return self.oracle(tree).dropping_phase().is_enough()

    def _find_first_points(self, tree: Tree, incumbent: FloatArray | None) -> None:
        """Fit the support of a given point, and its greedy completion."""
        problem, start = tree.presolved.original, tree.problem.forced_in
        if incumbent is not None:
            start = problem.support_of(incumbent)
        tree.update_incumbent(fit_support(problem, start), self.is_late)
        grown = grow_greedily(problem, start, self.is_late, self.settings.heuristics)
        if len(grown) > len(start):
            tree.update_incumbent(fit_support(problem, grown), self.is_late)

    def step(self, problem: Tree, tree: Tree) -> Tree:
        """Take a step; begin again if bounds were dropped that count."""
        if tree.left_bounds:
            return self._restarted(tree)
        return Driver.step(self, problem, tree)

    def done(self, tree: Tree) -> Stop | None:
        """Why the search is over, or pauses; None if it is not and does not."""
        stop = Driver.done(self, tree)
        if tree.left_bounds:
            return stop if stop in (Stop.GAP, Stop.CUTOFF) else None
        if stop is not None or not tree.is_rooted:
            return stop
        is_before_nodes = self.before_nodes and not self.oracle(tree).is_dropping_due()
        is_before_rule = self.before_rule and is_rule_due(tree)
        return Stop.COMPLETED if is_before_nodes or is_before_rule else None
