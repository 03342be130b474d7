"""The driver of every search: best bound first, in batches, until a limit is reached.

Land & Doig (1960); why the least bound over the leaves is a bound:
docs/theory.md#tree.  What relaxes nodes and proves them is the oracle's business: at
once where the problem is in memory (``memory_oracle.py``), many in a pass over the data
where its columns are streamed (``streamed/oracle.py``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

import numpy as np

from cardqp._iterate import Progress, Stop
from cardqp.branch_and_bound.oracle import Oracle, Outcome, Processor
from cardqp.branch_and_bound.search_tree import Node, SearchTree
from cardqp.branch_and_bound.settings import DEFAULT, SearchSettings
from cardqp.branch_and_bound.tree_size import estimate_nodes
from cardqp.relaxation.relaxation import Effort

PROOF_MEMORY = 2e9
"""Bytes for the proof, unless something else is asked for."""

T = TypeVar("T", bound=SearchTree)


@dataclass(frozen=True, slots=True)
class Driver(ABC, Generic[T]):
    """Search a tree; what is particular to problems in memory is not known here.

    Parameters
    ----------
    gap : float
        Relative gap at which a node is pruned.
    root_only : bool
        Stop before the first node is relaxed.
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
    is_over: Callable[[], bool] = lambda: False
    is_late: Callable[[], bool] = lambda: False
    seconds_left: Callable[[], float | None] = lambda: None
    executor: Executor | None = None
    node_limit: int | None = None
    proof_memory: float = PROOF_MEMORY
    with_estimate: bool = False
    limit: float = np.inf
    is_partial: bool = False
    settings: SearchSettings = DEFAULT

    @abstractmethod
    def oracle(self, tree: T) -> Oracle[T]:
        """What relaxes and proves the nodes of a tree."""

    def init(self, tree: T) -> T:
        """Return the tree, which is its own initial state."""
        return tree

    def finish(self, tree: T) -> None:
        """Take back the nodes that are elsewhere, once a search has ended: none are."""

    def step(self, _: T, tree: T) -> T:
        """Take a step at the root, process a batch of nodes, or what is due first."""
        oracle = self.oracle(tree)
        if not tree.is_rooted:
            oracle.step_root()
        elif oracle.is_turn_due():
            oracle.take_turn()
        else:
            self._process_batch(tree, oracle)
        return tree

    def done(self, tree: T) -> Stop | None:
        """Why the search is over; None if it is not."""
        if tree.lower_bound >= self.cutoff(tree):
            return Stop.CUTOFF if tree.best.objective > self.limit else Stop.GAP
        if tree.is_rooted and tree.n_open == 0:
            return Stop.STALLED
        if self.node_limit is not None and tree.n_nodes >= self.node_limit:
            return Stop.NODE_LIMIT
        return Stop.COMPLETED if tree.is_rooted and self.root_only else None

    def progress(self, tree: T, seconds: float) -> Progress:
        """A report of incumbent, bound, and how much of the tree is left."""
        return Progress(
            tree.stage,
            tree.n_nodes,
            seconds,
            objective=tree.best.objective,
            lower_bound=min(tree.lower_bound, tree.best.objective),
            n_open=tree.n_open,
            closed_share=tree.closed_share,
            estimate=tree.estimate,
            is_partial=self.is_partial,
        )

    def cutoff(self, tree: T) -> float:
        """The bound at which a node is pruned: it has no point better by the gap."""
        # Points above the limit do not count, not even as incumbents.
        if tree.best.objective > self.limit:
            return self.limit
        if tree.best.x is None:
            return np.inf
        share = tree.settings.pruning_share
        return tree.best.objective - share * self.gap * tree.gap_unit

    def tolerance(self, tree: T) -> float:
        """Accuracy of relaxations, in units of the objective."""
        # Without an incumbent the gap has no unit yet: the constant, and what one
        # variable gains, are the scale of the objective then.
        problem = tree.problem
        natural = abs(problem.constant) + problem.single_gain
        share = tree.settings.relaxation_share
        return share * self.gap * min(tree.gap_unit, natural)

    def effort(self, tree: T, slack: float, cutoff: float) -> Effort:
        """When to stop solving relaxations."""
        return Effort(
            self.tolerance(tree),
            cutoff=cutoff,
            slack=slack,
            is_over=self.is_over,
            seconds_left=self.seconds_left,
        )

    def _process_batch(self, tree: T, oracle: Oracle[T]) -> None:
        """Process the nodes with the least bounds.

        Nodes are lost to no interruption: those that are not committed stay open.  None
        is processed once time is up.
        """
        nodes = [tree.pop() for _ in range(self._n_together(tree, oracle))]
        processor = oracle.processor()
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
        self.follow_up(tree, before)

    def follow_up(self, tree: T, n_before: int) -> None:
        """Do what is due after some nodes, given how many there were before them."""
        oracle = self.oracle(tree)
        oracle.follow_up(n_before)
        if tree.log is not None and tree.log.nbytes > self.proof_memory:
            tree.drop_proof()
        is_long = tree.n_nodes >= tree.settings.estimate_after and tree.n_open > 0
        if self.with_estimate and is_long and np.isnan(tree.estimate):
            dives = tree.settings.estimate_dives
            tree.estimate = estimate_nodes(oracle.processor(), tree.root(), dives)

    def _process_nodes(
        self, processor: Processor[T], nodes: list[Node]
    ) -> Iterator[Outcome[T] | None]:
        """Process nodes, in several threads if there are some; None once time is up.

        Results come in order, while other nodes are still being processed.

        A task is a few nodes, so that handing it over hardly counts, and no more than
        take some milliseconds, so that time limits are kept.
        """

        def process(some: list[Node]) -> Sequence[Outcome[T] | None]:
            return [None] * len(some) if self.is_over() else processor.process_all(some)

        size = processor.n_per_task
        tasks = [nodes[i : i + size] for i in range(0, len(nodes), size)]
        if self.executor is None or len(tasks) == 1:
            return chain.from_iterable(map(process, tasks))
        return chain.from_iterable(self.executor.map(process, tasks))

    def _n_together(self, tree: T, oracle: Oracle[T]) -> int:
        """Number of nodes in the next batch, all processed before any is committed.

        Among very many open nodes, those with the least bounds are processed anyway.
        """
        settings = tree.settings
        many = min(settings.max_batch_size, int(settings.batch_share * tree.n_open))
        most = min(max(settings.batch_size, many), oracle.most_together())
        if self.node_limit is None:
            return most
        return min(most, self.node_limit - tree.n_nodes)
