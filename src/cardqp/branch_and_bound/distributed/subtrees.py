"""Trees that a worker grows below some nodes, and how they join the whole tree."""

import heapq
import pickle
import time
from dataclasses import dataclass, replace

import numpy as np

from cardqp.branch_and_bound.distributed.shared_tree import SharedTree
from cardqp.branch_and_bound.precompile import load_clusters, load_for, load_tree_for
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import ProofLog, ProofTree
from cardqp.subproblems.support_qp import SupportFit

TASK_SECONDS = 1.0
"""How long a worker is busy with a task: the incumbents of others come with the next
one, and what a worker finds comes back after that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Nodes to be handed to a worker, and how far it may go.

    Attributes
    ----------
    nodes : list of Node
        The nodes.
    best : SupportFit
        The incumbent.
    gap, limit : float
        As in :class:`~cardqp.branch_and_bound.driver.Driver`.
    most_nodes : int
        The most nodes to be processed.
    memory : float
        Bytes for the proof; 0 for none.
    is_single : bool
        Whether dual points are stored in single precision.
    n_nodes, n_by_cones, most_free : int
        As in :class:`~cardqp.branch_and_bound.tree.Tree`, for the whole tree.
    max_open : int
        With more open nodes than this, the worker goes depth first.
    """

    nodes: list[Node]
    best: SupportFit
    gap: float
    limit: float
    most_nodes: int
    memory: float
    is_single: bool
    n_nodes: int
    n_by_cones: int
    most_free: int
    max_open: int

    def give_back(self, tree: Tree) -> None:
        """Put the nodes back into their tree."""
        for node in self.nodes:
            tree.push(node)

    def begin(self, shared: Tree) -> Tree:
        """A tree with the nodes open, numbered from 0 on."""
        settings, problem = shared.settings, shared.presolved.problem
        tree = replace(
            shared,
            heap=[node._replace(position=i) for i, node in enumerate(self.nodes)],
            stack=[],
            n_nodes=self.n_nodes,
            n_created=len(self.nodes),
            n_by_cones=self.n_by_cones,
            most_free=self.most_free,
            settings=replace(
                settings,
                max_open=self.max_open,
                round_first=max(0, settings.round_first - self.n_nodes),
                # The incumbent is improved where the whole tree is.
                local_search_after=(),
            ),
        )
        heapq.heapify(tree.heap)
        tree.keep(self.best)
        if self.memory > 0:
            tree.log = ProofLog(len(problem.rows), problem.n, single=self.is_single)
            tree.log.open(len(self.nodes))
        return tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtrees:
    """What a worker has found below some nodes, which it numbers from 0 on.

    Attributes
    ----------
    proof : ProofTree or None
        The proof, whose first nodes are those that were handed out; None if not kept.
    nodes : list of Node
        Nodes that are left open.
    seconds : float
        How long it took.
    best, n_nodes, n_created, n_by_cones, most_free, pruned_bound, closed_share, \
left_bounds
        As in :class:`~cardqp.branch_and_bound.tree.Tree`, for these subtrees.
    """

    proof: ProofTree | None
    nodes: list[Node]
    seconds: float
    best: SupportFit
    n_nodes: int
    n_created: int
    n_by_cones: int
    most_free: int
    pruned_bound: float
    closed_share: float
    left_bounds: bool


def grow(shared: SharedTree, packed: bytes) -> bytes:
    """Search below the nodes of a task, which is a worker's part.

    What goes to and fro is packed: Dask sends each array by itself, and there are
    several small ones for each node.
    """
    task: Task = pickle.loads(packed)
    load_for(shared.tree.problem)
    load_tree_for(shared.tree.presolved.original)
    load_clusters()
    start = time.perf_counter()
    search = BranchAndBound(
        task.gap,
        is_over=lambda: time.perf_counter() > start + TASK_SECONDS,
        node_limit=task.n_nodes + task.most_nodes,
        proof_memory=task.memory,
        limit=task.limit,
    )
    tree = task.begin(shared.tree)
    # Points outside of bounds that were dropped end it: the whole tree begins again.
    while not (search.is_over() or tree.left_bounds or search.done(tree)):
        search.step(tree, tree)
    found = Subtrees(
        proof=None if tree.log is None else tree.log.tree(),
        nodes=[*tree.heap, *tree.stack],
        seconds=time.perf_counter() - start,
        best=tree.best,
        n_nodes=tree.n_nodes - task.n_nodes,
        n_created=tree.n_created - len(task.nodes),
        n_by_cones=tree.n_by_cones - task.n_by_cones,
        most_free=tree.most_free,
        pruned_bound=tree.pruned_bound,
        closed_share=tree.closed_share,
        left_bounds=tree.left_bounds,
    )
    return pickle.dumps(found)


def append(tree: Tree, nodes: list[Node], grown: Subtrees) -> None:
    """Put what a worker has found below some nodes into their tree."""
    place = np.array([node.position for node in nodes])
    if tree.log is not None and grown.proof is not None:
        tree.log.append_below(place, grown.proof)
    else:
        tree.drop_proof()
    positions = [
        *place.tolist(),
        *range(tree.n_created, tree.n_created + grown.n_created),
    ]
    for node in grown.nodes:
        tree.push(node._replace(position=positions[node.position]))
    tree.keep(grown.best)
    tree.n_nodes += grown.n_nodes
    tree.n_created += grown.n_created
    tree.n_by_cones += grown.n_by_cones
    tree.most_free = min(tree.most_free, grown.most_free)
    tree.pruned_bound = min(tree.pruned_bound, grown.pruned_bound)
    tree.closed_share += grown.closed_share
    tree.left_bounds |= grown.left_bounds
