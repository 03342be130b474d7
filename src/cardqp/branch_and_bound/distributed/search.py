"""The search of a tree with the help of a cluster: what is handed out, and when."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from cardqp._iterate import Progress, Stop
from cardqp.branch_and_bound.branching_rule import is_rule_due
from cardqp.branch_and_bound.distributed.subtrees import TASK_SECONDS, Task, append
from cardqp.branch_and_bound.distributed.workers import Workers
from cardqp.branch_and_bound.oracle import Oracle
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.tree import Tree

LOCAL_SECONDS = 1.0
"""Seconds for the first nodes, which are processed here: small trees are done then."""

LEAST_OPEN = 16
"""With fewer open nodes, none of them away, nodes are processed here."""

TASK_NODES = 10_000
"""The most nodes that a task may process, so that no answer is very large."""

PAUSE = 0.01
"""Seconds between two looks at what workers have found."""


@contextmanager
def searches_on(client: Any) -> Iterator[Callable[..., BranchAndBound]]:
    """What makes searches: with the help of a cluster, if there is one."""
    if client is None:
        yield BranchAndBound
        return
    workers = Workers(client)
    try:
        yield partial(DistributedSearch, workers=workers)
    finally:
        workers.recall()


@dataclass(frozen=True, slots=True)
class DistributedSearch(BranchAndBound):
    """Branch and bound that hands out open nodes, the least bounds first.

    The nodes that workers have are open as well.
    """

    workers: Workers = field(kw_only=True)

    def init(self, tree: Tree) -> Tree:
        """Return the tree, which is its own initial state."""
        self.workers.started = time.perf_counter()
        return tree

    def done(self, tree: Tree) -> Stop | None:
        """Why the search is over, or pauses; None if it is not and does not."""
        return BranchAndBound.done(self, self._whole(tree))

    def progress(self, tree: Tree, seconds: float) -> Progress:
        """A report of incumbent, bound, and how much of the tree is left."""
        return BranchAndBound.progress(self, self._whole(tree), seconds)

    def finish(self, tree: Tree) -> None:
        """Take back all nodes; what workers have found since their last answer is lost.

        What they were told is, too.
        """
        for task in self.workers.recall():
            task.give_back(tree)

    def step(self, problem: Tree, tree: Tree) -> Tree:
        """Take a step, with all nodes at home where the tree may begin again."""
        if tree.left_bounds or is_rule_due(tree):
            self.finish(tree)
        tree = BranchAndBound.step(self, problem, tree)
        if tree.n_created == 1:
            # Dropping variables has proved the root, in place of the tree.
            self.workers.recall()
        return tree

    def _process_batch(self, tree: Tree, oracle: Oracle[Tree]) -> None:
        """Let workers process nodes; here, if there are few, or no worker answers."""
        if not self._is_small(tree):
            before = tree.n_nodes
            self._take(tree)
            if tree.n_open == 0 and self.workers.is_stuck:
                self.finish(tree)
            else:
                self._hand_out(tree)
            self.follow_up(tree, before)
            # What is not handed out, as it is pruned by now, is counted here.
            is_busy = self.workers.away and not self.workers.is_quiet
            if tree.n_open == 0 or is_busy:
                if tree.n_nodes == before:
                    time.sleep(PAUSE)
                return
        BranchAndBound._process_batch(self, tree, oracle)

    def _whole(self, tree: Tree) -> Tree:
        """The tree with the nodes that are away: they are open."""
        return replace(tree, stack=[*tree.stack, *self.workers.nodes])

    def _is_small(self, tree: Tree) -> bool:
        """Whether it is not worth it to hand out anything."""
        is_early = time.perf_counter() - self.workers.started < LOCAL_SECONDS
        return not self.workers.away and (is_early or tree.n_open < LEAST_OPEN)

    def _take(self, tree: Tree) -> None:
        """Put what workers have found into the tree."""
        for task, found in self.workers.answers():
            # Nodes that were processed here meanwhile count first.
            if found is None or found.n_nodes > self._nodes_left(tree):
                task.give_back(tree)
            else:
                append(tree, task.nodes, found)

    def _hand_out(self, tree: Tree) -> None:
        """Hand out nodes that are not pruned, as long as workers can take them."""
        workers = self.workers
        workers.look()
        while (n_idle := workers.n_places - len(workers.away)) > 0:
            left = self._nodes_left(tree) - workers.most_nodes
            count = min(self._share(tree), left)
            is_pruned = tree.least_open >= self.cutoff(tree)
            if count <= 0 or is_pruned or not workers.tell(tree):
                return
            most = max(count, min(left // n_idle, TASK_NODES))
            workers.send(self._task(tree, count, most))

    def _nodes_left(self, tree: Tree) -> int:
        """How many more nodes may be processed."""
        limit = sys.maxsize if self.node_limit is None else self.node_limit
        return limit - tree.n_nodes

    def _share(self, tree: Tree) -> int:
        """How many nodes to hand out together.

        Many make up for the time that a task costs by itself; most of those that a
        worker does not get to would be sent for nothing.
        """
        most = 0.25 * min(TASK_SECONDS * self.workers.rate, TASK_NODES)
        share = min(int(most), tree.n_open // self.workers.n_places)
        return min(max(share, 1), tree.n_open)

    def _task(self, tree: Tree, count: int, most_nodes: int) -> Task:
        """The next open nodes, as a task."""
        log, used = tree.log, 0 if tree.log is None else tree.log.nbytes
        return Task(
            nodes=[tree.pop() for _ in range(count)],
            best=tree.best,
            gap=self.gap,
            limit=self.limit,
            most_nodes=most_nodes,
            memory=self.proof_memory - used if tree.keep_proof else 0.0,
            is_single=log is not None and log.is_single,
            n_nodes=tree.n_nodes,
            n_by_cones=tree.n_by_cones,
            most_free=tree.most_free,
            max_open=max(0, tree.settings.max_open - tree.n_open),
        )
