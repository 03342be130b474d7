"""Branch and bound on the perspective relaxation, best bound first.

Land & Doig (1960) with perspective relaxations (Frangioni & Gentile 2006) at the nodes;
why the least bound over the leaves is a bound: docs/theory.md#tree.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from cardqp._iterate import Progress, Stop
from cardqp._typing import FloatArray
from cardqp.branch_and_bound.branching_rule import choose_rule, is_rule_due
from cardqp.branch_and_bound.dropping import DroppingPhase, is_weak
from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.processed_node import ProcessedNode
from cardqp.branch_and_bound.root import RootPhase
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.branch_and_bound.tree import Node, Tree
from cardqp.branch_and_bound.tree_size import estimate_nodes
from cardqp.heuristics.local_search import grow_greedily
from cardqp.problem import SparseQP
from cardqp.relaxation.relaxation import Effort
from cardqp.subproblems.support_qp import SupportFit, fit_support

PROOF_MEMORY = 2e9
"""Bytes for the proof, unless something else is asked for."""

MOST_PER_TASK, ENTRIES_PER_TASK = 16, 8000
"""How many nodes are processed together at the most, and how many variables they may
have in all."""


@dataclass(frozen=True, slots=True)
class BranchAndBound:
    """Find the best support and prove that it is, up to a gap.

    The root is presolved.  Each node is relaxed, bounded by Theorem 1, reduced by
    fixing variables by Theorem 2, and branched on.  A node with few variables to be
    chosen is solved by enumerating them; one whose support is complete is a quadratic
    program.  The method fails only in time: the number of nodes can grow exponentially.

    Parameters
    ----------
    gap : float
        Relative gap at which a node is pruned.
    root_only : bool
        Stop after the presolve at the root.
    before_nodes : bool
        Stop after that, and what can be done by dropping variables at once: before the
        first node is relaxed.
    before_rule : bool
        Stop when it is time to decide what to branch on.
    is_over : callable
        Whether time is up; called within long steps, which then end early.  Whoever
        runs the search must stop it as well.
    is_late : callable
        Whether there is no time even for a first point.
    seconds_left : callable
        Seconds until the time limit; None if there is none.
    executor : Executor or None
        Processes several nodes at the same time.  The tree is the same without.
    node_limit : int or None
        The most nodes to be processed.
    proof_memory : float
        Bytes for the proof.  A proof that needs more is dropped; 0 keeps none.
    with_estimate : bool
        Whether to estimate the number of nodes in a long run.
    optimise_split : bool
        Whether the root may look for a better split of ``Q``.
    limit : float
        Points with a larger objective are of no interest: nodes are pruned at this
        bound until a better point is known.
    is_partial : bool
        Whether the problem is a part of another one, for the progress report.
    settings : SearchSettings
        Tuning of the search, given to the trees that it begins; steps follow the
        settings of their tree.
    """

    gap: float = 1e-4
    root_only: bool = False
    before_nodes: bool = False
    before_rule: bool = False
    is_over: Callable[[], bool] = lambda: False
    is_late: Callable[[], bool] = lambda: False
    seconds_left: Callable[[], float | None] = lambda: None
    executor: Executor | None = None
    node_limit: int | None = None
    proof_memory: float = PROOF_MEMORY
    with_estimate: bool = False
    optimise_split: bool = True
    limit: float = np.inf
    is_partial: bool = False
    settings: SearchSettings = DEFAULT

    def initial_tree(
        self,
        problem: SparseQP,
        incumbent: FloatArray | None = None,
        *,
        keeps_bounds: bool = False,
    ) -> Tree:
        """Begin a tree: first feasible points, and the fixings that they allow for.

        Parameters
        ----------
        problem : SparseQP
            The problem.
        incumbent : (n,) array, optional
            A feasible point to start from; taken as it is if there is no time left.
        keeps_bounds : bool
            Whether bounds of variables must not be dropped.
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
                self._root_phase(tree).drop_bounds()
        self._root_phase(tree).start()
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
        return self._dropping_phase(tree).is_enough()

    def _find_first_points(self, tree: Tree, incumbent: FloatArray | None) -> None:
        """Fit the support of a given point, and its greedy completion."""
        problem, start = tree.presolved.original, tree.problem.forced_in
        if incumbent is not None:
            start = problem.support_of(incumbent)
        tree.update_incumbent(fit_support(problem, start), self.is_late)
        grown = grow_greedily(problem, start, self.is_late, self.settings.heuristics)
        if len(grown) > len(start):
            tree.update_incumbent(fit_support(problem, grown), self.is_late)

    def init(self, tree: Tree) -> Tree:
        """Return the tree, which is its own initial state."""
        return tree

    def step(self, _: Tree, tree: Tree) -> Tree:
        """Take a step of the presolve, or process the nodes with the least bounds.

        Or take a turn of the search by dropping variables, where there is one.
        """
        if tree.left_bounds:
            return self._restarted(tree)
        if not tree.is_rooted:
            self._root_phase(tree).step()
        elif self._is_dropping_due(tree):
            self._dropping_phase(tree).step()
        else:
            self._process_batch(tree)
        return tree

    def _dropping_phase(self, tree: Tree) -> DroppingPhase:
        return DroppingPhase(tree, self.gap, self.cutoff, self.is_over)

    def _is_dropping_due(self, tree: Tree) -> bool:
        """Whether it is the turn of the search by dropping variables."""
        return self.node_limit is None and self._dropping_phase(tree).is_due()

    def _process_batch(self, tree: Tree) -> None:
        """Process the nodes with the least bounds.

        Nodes are lost to no interruption: those that are not committed stay open.  None
        is processed once time is up.
        """
        if is_rule_due(tree):
            choose_rule(self._node_processor(tree))
        nodes = [tree.pop() for _ in range(self._n_together(tree))]
        processor = self._node_processor(tree)
        # A batch has a fixed size and is committed in order, so that the tree does not
        # depend on how many threads work on it.
        results, before = self._process_nodes(processor, nodes), tree.n_nodes
        for position, node in enumerate(nodes):
            try:
                result = next(results)
            except BaseException:
                # Ctrl-C as well: the bound of a tree with nodes missing would be wrong.
                for lost in nodes[position:]:
                    tree.push(lost)
                raise
            if result is None:
                tree.push(node)
            else:
                result.commit(tree, self.is_over)
        marks = tree.settings.local_search_after
        if any(before < mark <= tree.n_nodes for mark in marks):
            tree.iterated_local_search(self.is_over)
        if tree.log is not None and tree.log.nbytes > self.proof_memory:
            # With nodes missing, only the steps at the root prove anything.
            tree.keep_proof, tree.log = False, None
        if tree.n_nodes >= tree.settings.form_after and tree.n_open > 0:
            tree.form_matrix()
        is_long = tree.n_nodes >= tree.settings.estimate_after and tree.n_open > 0
        if self.with_estimate and is_long and np.isnan(tree.estimate):
            dives = tree.settings.estimate_dives
            tree.estimate = estimate_nodes(processor, tree.root(), dives)

    def _node_processor(self, tree: Tree) -> NodeProcessor:
        effort = self._effort(tree, tree.node_slack)
        return NodeProcessor(tree, self.cutoff(tree), effort)

    def _process_nodes(
        self, processor: NodeProcessor, nodes: list[Node]
    ) -> Iterator[ProcessedNode | None]:
        """Process nodes, in several threads if there are some; None once time is up.

        Results come in order, while other nodes are still being processed.

        A task is a few nodes, so that handing it over hardly counts, and no more than
        take some milliseconds, so that time limits are kept.
        """

        def process(some: list[Node]) -> Sequence[ProcessedNode | None]:
            return [None] * len(some) if self.is_over() else processor.process_all(some)

        size = max(1, min(MOST_PER_TASK, ENTRIES_PER_TASK // processor.problem.n))
        tasks = [nodes[i : i + size] for i in range(0, len(nodes), size)]
        if self.executor is None or len(tasks) == 1:
            return chain.from_iterable(map(process, tasks))
        return chain.from_iterable(self.executor.map(process, tasks))

    def _n_together(self, tree: Tree) -> int:
        """Number of nodes in the next batch, all processed before any is committed.

        Among very many open nodes, those with the least bounds are processed anyway.
        """
        settings = tree.settings
        many = min(settings.max_batch_size, int(settings.batch_share * tree.n_open))
        most = min(max(settings.batch_size, many), tree.n_open)
        if self.node_limit is None:
            return most
        return min(most, self.node_limit - tree.n_nodes)

    def _root_phase(self, tree: Tree) -> RootPhase:
        slack, cutoff = tree.settings.root_slack, self.cutoff(tree)
        effort = replace(self._effort(tree, slack), cutoff=cutoff)
        return RootPhase(tree, self.gap, effort)

    def _effort(self, tree: Tree, slack: float) -> Effort:
        return Effort(
            self.tolerance(tree),
            slack=slack,
            is_over=self.is_over,
            seconds_left=self.seconds_left,
        )

    def done(self, tree: Tree) -> Stop | None:
        """Why the search is over; None if it is not."""
        if tree.lower_bound >= self.cutoff(tree):
            return Stop.CUTOFF if tree.best.objective > self.limit else Stop.GAP
        if tree.left_bounds:
            return None
        if tree.is_rooted and tree.n_open == 0:
            return Stop.STALLED
        if self.node_limit is not None and tree.n_nodes >= self.node_limit:
            return Stop.NODE_LIMIT
        if not tree.is_rooted:
            return None
        if self.root_only or (self.before_nodes and not self._is_dropping_due(tree)):
            return Stop.COMPLETED
        return Stop.COMPLETED if self.before_rule and is_rule_due(tree) else None

    def progress(self, tree: Tree, seconds: float) -> Progress:
        """A report of incumbent, bound, and how much of the tree is left."""
        return Progress(
            "branch and bound",
            tree.n_nodes,
            seconds,
            objective=tree.best.objective,
            lower_bound=min(tree.lower_bound, tree.best.objective),
            n_open=tree.n_open,
            closed_share=tree.closed_share,
            estimate=tree.estimate,
            is_partial=self.is_partial,
        )

    def cutoff(self, tree: Tree) -> float:
        """The bound at which a node is pruned: it has no point better by the gap."""
        # Points above the limit do not count, not even as incumbents.
        if tree.best.objective > self.limit:
            return self.limit
        if tree.best.x is None:
            return np.inf
        share = tree.settings.pruning_share
        return tree.best.objective - share * self.gap * tree.gap_unit

    def tolerance(self, tree: Tree) -> float:
        """Accuracy of relaxations, in units of the objective."""
        # Without an incumbent the gap has no unit yet: the constant, and what one
        # variable gains, are the scale of the objective then.
        problem = tree.problem
        natural = abs(problem.constant) + problem.single_gain
        share = tree.settings.relaxation_share
        return share * self.gap * min(tree.gap_unit, natural)
