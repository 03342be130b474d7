"""A search that was stopped: what is open is bounded, so that no work is lost.

The bound of a tree is that of its worst leaf, and leaves that no sweep has bounded have
that of the root.  So all of them are bounded or none.  Where there are too many, parts
of the tree are folded up: one dual point bounds a branch and all that is below it.
First few branches are bounded, then more and more, as long as there is time.
"""

import heapq
from dataclasses import replace

import numpy as np

from cardqp._iterate import Watch
from cardqp.branch_and_bound.streamed.proof_log import ResidualPoint
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.tree import (
    CoarsenedTree,
    Node,
    Phase,
    StreamedTree,
)

FEW, GROWTH, MOST = 8, 4, 512
"""Branches that are bounded at first, how many times more then, and at most."""

UNTIMED = 32
"""Branches that are bounded at most where no time is set."""

ROUNDS = 4
"""How often a branch is swept.  Columns that it has overlooked join the working set in
between; more rounds hardly prove more."""


def bound_open_nodes(
    search: StreamedSearch, tree: StreamedTree, seconds: float = np.inf
) -> None:
    """Bound all that is open, folded up as far as time demands.

    Parameters
    ----------
    search : StreamedSearch
        The search that was stopped.
    tree : StreamedTree
        Its tree; its bound and its certificate may be better ones afterwards.
    seconds : float
        About how long that may take.
    """
    if tree.phase is not Phase.TREE or tree.n_open == 0:
        return
    watch = Watch(seconds)
    search = replace(search, is_over=lambda: watch.is_over)
    most, last = FEW, UNTIMED if np.isinf(seconds) else MOST
    expected = ROUNDS * tree.slowest_pass
    while most <= last and watch.seconds + expected <= seconds:
        start = watch.seconds
        nodes = coarsen(tree, most)
        _bound_nodes(search, tree, nodes)
        if len(nodes) == tree.n_open:
            return
        expected = GROWTH * (watch.seconds - start)
        most *= GROWTH


def coarsen(tree: StreamedTree, most: int) -> list[Node]:
    """Branches that hold all that is open, at most so many.

    From the root on, the branch with the least estimated bound is replaced by its
    children, those left out in which all is pruned.
    """
    leaves = {node.position: node for node in (*tree.pending, *tree.heap)}
    is_open = tree.log.holds(leaves)
    chosen: list[Node] = []
    heap: list[Node] = []
    fresh = [0]
    while True:
        for position in fresh:
            if position in leaves:
                chosen.append(leaves[position])
            elif is_open[position]:
                heapq.heappush(heap, tree.split_nodes[position])
        if not heap or len(chosen) + len(heap) >= most:
            return [*chosen, *heap]
        first = tree.log.child[heapq.heappop(heap).position]
        fresh = [first, first + 1]


def _bound_nodes(search: StreamedSearch, tree: StreamedTree, nodes: list[Node]) -> None:
    """Bound some branches, and keep it if that is the best so far."""
    bounds = {node.position: -np.inf for node in nodes}
    points: dict[int, ResidualPoint] = {}
    estimated_bounds = {node.position: node.estimated_bound for node in nodes}
    for n_rounds in range(1, ROUNDS + 1):
        swept = search.bound_nodes(tree, nodes)
        if len(swept) < len(nodes):
            return  # out of time
        for node, found in zip(nodes, swept, strict=True):
            if found.bound > bounds[node.position]:
                bounds[node.position] = found.bound
                points[node.position] = tree.dual_point(node, found)
        # The worst branch keeps the bound down: more need not be proved of the others.
        reach = min(estimated_bounds.values())
        short = [node for node in nodes if bounds[node.position] < reach]
        if n_rounds == ROUNDS or not short:
            break
        search.enlarge(tree, zip(nodes, swept, strict=True))
        nodes = [search.relaxed(tree, node) for node in short]
        estimated_bounds |= {node.position: node.estimated_bound for node in nodes}
    worst = min(*bounds.values(), tree.pruned_bound, tree.fixing_bound)
    if worst > tree.lower_bound:
        tree.coarsened = CoarsenedTree(tree.log.pruned_at(points), worst)
