"""How large the tree will be, by Knuth's method."""

import numpy as np

from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.tree import Node


def estimate_nodes(processor: NodeProcessor, root: Node, dives: int) -> float:
    """The number of branches below the root, as random dives to the bottom suggest.

    A dive goes down to one child at random; what it meets at depth d stands for ``2^d``
    branches.  The mean is right, but it varies a lot.  It is infinite if time is up.
    """
    rng = np.random.default_rng(0)
    return float(np.mean([_dive(processor, root, rng) for _ in range(dives)]))


def _dive(processor: NodeProcessor, node: Node, rng: np.random.Generator) -> float:
    total, weight = 0.0, 1.0
    while True:
        if processor.effort.is_over():
            return np.inf
        total += weight
        children = processor.process(node).open(0)
        if not children:
            return total
        weight *= len(children)
        node = children[int(rng.integers(len(children)))]
