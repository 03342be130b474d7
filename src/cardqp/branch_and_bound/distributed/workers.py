"""The workers of a cluster, and the nodes that they have."""

import pickle
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cardqp.branch_and_bound.distributed.shared_tree import SharedTree
from cardqp.branch_and_bound.distributed.subtrees import Subtrees, Task, grow
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.tree import Tree
from cardqp.gram.tree_sum import dask

TASKS_PER_THREAD = 2
"""Tasks that are under way for each thread of a worker, so that none has to wait."""

LOOK = 1.0
"""Seconds between two looks at which workers there are."""

QUIET = 5.0
"""Seconds after which workers that have not answered are not waited for."""

STUCK = 60.0
"""Seconds after which nodes are taken back from workers that have not answered, if
there are no others: they may have to compile, or be busy with something else."""

PATIENCE = 10.0
"""Seconds to wait for what is on its way."""


@dataclass(slots=True)
class Workers:
    """The workers of a cluster, and the nodes that they have.

    Attributes
    ----------
    client : distributed.Client
        The cluster.
    away : dict
        The task of each future: the nodes that are away, and what was asked for.
    shared : Future or None
        What all workers need to know; None if they have not been told.
    is_lost : bool
        Whether the cluster was given up.
    n_places : int
        How many tasks there may be.
    rate : float
        Nodes per second that a worker has processed in its last task.
    started, looked, told, answered : float
        When the search has begun, when it was looked for workers, when they were told,
        and when one answered last.
    """

    client: Any
    away: dict[Any, Task] = field(default_factory=dict)
    shared: Any = None
    is_lost: bool = False
    n_places: int = 0
    rate: float = 0.0
    started: float = -np.inf
    looked: float = -np.inf
    told: float = -np.inf
    answered: float = -np.inf

    @property
    def nodes(self) -> list[Node]:
        """The nodes that are away."""
        return [node for task in self.away.values() for node in task.nodes]

    @property
    def most_nodes(self) -> int:
        """The most nodes that will be processed of those that are away."""
        return sum(task.most_nodes for task in self.away.values())

    @property
    def is_quiet(self) -> bool:
        """Whether there is no worker, or none has answered for a while."""
        is_late = time.perf_counter() - self.answered > QUIET
        return is_late or self.n_places == 0

    @property
    def is_stuck(self) -> bool:
        """Whether nothing has been heard of workers for very long."""
        return time.perf_counter() - max(self.told, self.answered) > STUCK

    def look(self) -> None:
        """See how many workers there are: they may come and go."""
        now = time.perf_counter()
        if self.client.status == "closed":
            self.give_up("the client was closed")
        elif self.client.status != "running":
            self.n_places = 0
        elif now - self.looked >= LOOK and not self.is_lost:
            self.looked, self.n_places = now, 0
            with suppress(OSError):  # the scheduler does not answer
                threads = sum(self.client.nthreads().values())
                self.n_places = TASKS_PER_THREAD * threads

    def give_up(self, reason: str) -> None:
        """Go on without the cluster, and say so once."""
        if not self.is_lost:
            text = f"The search goes on without the cluster: {reason}."
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        self.n_places, self.is_lost = 0, True

    def tell(self, tree: Tree) -> bool:
        """Send the workers what they need to know; return whether that worked.

        They load it in a task of its own, as they may have to import much for it.
        """
        if self.shared is None:
            packed = pickle.dumps(SharedTree.of(tree))
            try:
                sent = self.client.scatter(packed, hash=False, timeout=PATIENCE)
            except OSError:  # a worker was lost on the way
                self.n_places = 0
            else:
                self.shared = self.client.submit(pickle.loads, sent, pure=False)
                self.told = time.perf_counter()
        return self.shared is not None

    def send(self, task: Task) -> None:
        """Hand out the nodes of a task."""
        packed = pickle.dumps(task)
        future = self.client.submit(grow, self.shared, packed, pure=False)
        self.away[future] = task

    def answers(self) -> Iterator[tuple[Task, Subtrees | None]]:
        """What workers have found with tasks that are over; None if that is lost.

        What workers were told may be lost with the last one that knew it.
        """
        is_closed = self.client.status == "closed"
        if self.shared is not None and (is_closed or self.shared.status == "cancelled"):
            yield from ((task, None) for task in self.recall())
        for future, task in list(self.away.items()):
            status, found = future.status, None
            if status == "error":
                self._fail(future.exception())
            elif status == "finished":
                try:
                    found = pickle.loads(future.result(timeout=PATIENCE))
                except (OSError, CancelledError):  # lost on the way
                    continue
                self.answered = time.perf_counter()
                self.rate = found.n_nodes / max(found.seconds, 1e-3)
            elif status != "cancelled":
                continue
            del self.away[future]
            yield task, found

    def _fail(self, error: Exception) -> None:
        """Raise the error of a task, unless its workers have died."""
        if not isinstance(error, dask("distributed").KilledWorker):
            raise error
        self.give_up("a task has killed one worker after the other")

    def recall(self) -> list[Task]:
        """Give up all tasks, which are returned; forget what workers were told."""
        futures, tasks = list(self.away), list(self.away.values())
        self.away.clear()
        self.shared = None
        if futures and self.client.status == "running":
            with suppress(OSError):
                self.client.cancel(futures)
        return tasks
