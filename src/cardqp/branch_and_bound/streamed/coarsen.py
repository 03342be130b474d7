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
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.streamed.node_bounds import NodeBound
from cardqp.branch_and_bound.streamed.oracle import StreamedOracle
from cardqp.branch_and_bound.streamed.search import StreamedSearch
from cardqp.branch_and_bound.streamed.tree import SplitNode, StreamedTree


def bound_open_nodes(
    search: StreamedSearch, tree: StreamedTree, seconds: float = np.inf
) -> None:
    """Bound all open leaves of a search that was stopped, coarsened as time demands.

    That takes about so many seconds.  The bound of the tree and its certificate may be
    better ones afterwards.
    """
    if not tree.is_rooted or tree.n_open == 0:
        return
    watch = Watch(seconds)
    oracle = replace(search, is_over=lambda: watch.is_over).oracle(tree)
    settings = search.settings.streamed.coarsening
    is_timed = not np.isinf(seconds)
    last = settings.max_nodes if is_timed else settings.max_untimed_nodes
    count = settings.first_nodes
    expected = settings.max_passes * tree.slowest_pass
    while count <= last and watch.seconds + expected <= seconds:
        start = watch.seconds
        nodes = coarsen(tree, count)
        _bound_all(oracle, nodes, settings.max_passes)
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
    leaves = {node.position: node for node in tree.open_nodes()}
    is_open = set(leaves)
    # Children have larger numbers than their parents.
    for position in sorted(tree.split_nodes, reverse=True):
        if not is_open.isdisjoint(tree.split_nodes[position].children):
            is_open.add(position)
    chosen: list[Node] = []
    heap: list[Node] = []
    fresh: tuple[int, ...] = (0,)
    while True:
        for position in fresh:
            if position in leaves:
                chosen.append(leaves[position])
            elif position in is_open:
                heapq.heappush(heap, tree.split_nodes[position].node)
        if not heap or len(chosen) + len(heap) >= max_nodes:
            return [*chosen, *heap]
        fresh = tree.split_nodes[heapq.heappop(heap).position].children


def _bound_all(oracle: StreamedOracle, nodes: list[Node], max_passes: int) -> None:
    """Bound some nodes that hold all open leaves, and keep the proof if it is better.

    Nothing is kept if time runs out before each of them has a bound.
    """
    best: dict[int, tuple[Node, NodeBound]] = {}
    estimates = {node.position: node.bound for node in nodes}
    for n_passes in range(1, max_passes + 1):
        found = oracle.bound_nodes(nodes)
        if len(found) < len(nodes):
            return  # out of time
        bounded = list(zip(nodes, found, strict=True))
        for node, each in bounded:
            known = best.get(node.position)
            if known is None or each.bound > known[1].bound:
                best[node.position] = node, each
        # The tree has the bound of its worst node: more need not be proved of others.
        enough = min(estimates.values())
        short = [node for node in nodes if best[node.position][1].bound < enough]
        if n_passes == max_passes or not short:
            break
        oracle.add_columns(bounded)
        nodes = [oracle.relax_again(node) for node in short]
        estimates |= {node.position: node.bound for node in nodes}
    _keep(oracle.tree, list(best.values()))


def _keep(tree: StreamedTree, bounded: list[tuple[Node, NodeBound]]) -> None:
    """Keep bounds of nodes whose subtrees hold all that is open, if they help."""
    worst = min(found.bound for _, found in bounded)
    if min(worst, tree.closed_bound) > tree.lower_bound:
        # In this order nothing wrong is left if a second Ctrl-C comes in between.
        _renumber(tree, {node.position: node for node, _ in bounded})
        for node, found in bounded:
            tree.record(node, found)
        tree.open_bound = worst


def _renumber(tree: StreamedTree, bounded: dict[int, Node]) -> None:
    """Give open nodes that have a proof to one child each, which is open."""
    for nodes in (tree.pending, tree.stack, tree.heap):
        for i, node in enumerate(nodes):
            if node.position in bounded and tree.log is not None:
                child = tree.log.split(node.position, -1)
                tree.split_nodes[node.position] = SplitNode(node, (child,))
                nodes[i] = node._replace(position=child)
                tree.n_created += 1
    heapq.heapify(tree.heap)
