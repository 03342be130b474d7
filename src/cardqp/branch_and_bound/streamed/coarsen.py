"""The bound of a search that was stopped: its open leaves are bounded, coarsened.

The bound of a tree is that of its worst leaf, and leaves that no pass has bounded have
the bound of the root.  So all open leaves must be bounded, or it was no use to branch.
Where there are too many for the time that is left, the tree is coarsened: one dual
point bounds a node and all that is below it.  First few nodes are bounded, then more
and more, as long as there is time: whenever it ends, the best bound so far stands.
"""

import heapq
from dataclasses import replace

import numpy as np

from cardqp._iterate import Watch
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.tree import (
    CoarsenedTree,
    Node,
    Phase,
    StreamedTree,
)
from cardqp.certificate import DualPoint
from cardqp.certificate.cut_tree import cut_at, holds


def bound_open_nodes(
    search: StreamedSearch, tree: StreamedTree, seconds: float = np.inf
) -> None:
    """Bound all open leaves, coarsened as far as time demands.

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
    settings = search.settings.coarsening
    is_timed = not np.isinf(seconds)
    last = settings.max_nodes if is_timed else settings.max_untimed_nodes
    count = settings.first_nodes
    expected = settings.max_passes * tree.slowest_pass
    while count <= last and watch.seconds + expected <= seconds:
        start = watch.seconds
        nodes = coarsen(tree, count)
        _bound_all(search, tree, nodes)
        if len(nodes) == tree.n_open:
            return
        # Time grows about as the number of nodes does.
        expected = settings.growth * (watch.seconds - start)
        count *= settings.growth


def coarsen(tree: StreamedTree, max_nodes: int) -> list[Node]:
    """Find nodes whose subtrees hold all open leaves, at most ``max_nodes``.

    From the root on, the node with the least estimated bound is replaced by its
    children, those without open leaves left out.
    """
    leaves = {node.position: node for node in (*tree.pending, *tree.heap)}
    proof = tree.log.tree()
    is_open = holds(proof, leaves)
    chosen: list[Node] = []
    heap: list[Node] = []
    fresh = [0]
    while True:
        for position in fresh:
            if position in leaves:
                chosen.append(leaves[position])
            elif is_open[position]:
                heapq.heappush(heap, tree.split_nodes[position])
        if not heap or len(chosen) + len(heap) >= max_nodes:
            return [*chosen, *heap]
        first = int(proof.child[heapq.heappop(heap).position])
        fresh = [first, first + 1]


def _bound_all(search: StreamedSearch, tree: StreamedTree, nodes: list[Node]) -> None:
    """Bound some nodes that hold all open leaves, and keep the proof if it is better.

    Nothing is kept if time runs out before each of them has a bound.
    """
    bounds = {node.position: -np.inf for node in nodes}
    points: dict[int, DualPoint] = {}
    estimates = {node.position: node.estimated_bound for node in nodes}
    max_passes = search.settings.coarsening.max_passes
    for n_passes in range(1, max_passes + 1):
        found = search.bound_nodes(tree, nodes)
        if len(found) < len(nodes):
            return  # out of time
        for node, each in zip(nodes, found, strict=True):
            if each.bound > bounds[node.position]:
                bounds[node.position] = each.bound
                points[node.position] = tree.dual_point(node, each)
        # The tree has the bound of its worst node: more need not be proved of others.
        enough = min(estimates.values())
        short = [node for node in nodes if bounds[node.position] < enough]
        if n_passes == max_passes or not short:
            break
        search.add_columns(tree, zip(nodes, found, strict=True))
        nodes = [search.relax_again(tree, node) for node in short]
        estimates |= {node.position: node.estimated_bound for node in nodes}
    worst = min(*bounds.values(), tree.pruned_bound, tree.fixing_bound)
    if worst > tree.lower_bound:
        tree.coarsened = CoarsenedTree(cut_at(tree.log.tree(), points), worst)
