"""An estimate of the size of the tree (Knuth 1975)."""

import numpy as np

from cardqp._typing import FloatArray
from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.tree import Node


def estimate_nodes(processor: NodeProcessor, root: Node, dives: int) -> float:
    """Estimate the number of nodes below a root by random dives.

    A dive goes down to one child at random, to a leaf; a node that it meets after d
    splits stands for ``2^d`` nodes.  The mean over dives is unbiased, with a large
    variance.

    Parameters
    ----------
    processor : NodeProcessor
        Processes nodes; the tree does not change.
    root : Node
        The root.
    dives : int
        The number of dives.

    Returns
    -------
    float
        The estimate; infinite if time is up.
    """
    return float(np.mean(dive_sizes(processor, root, dives)))


def dive_sizes(processor: NodeProcessor, root: Node, dives: int) -> FloatArray:
    """The estimates of single dives: see :func:`estimate_nodes`."""
    # A fixed seed, as estimates decide about splits: runs can be repeated.
    rng = np.random.default_rng(0)
    return np.array([_dive(processor, root, rng) for _ in range(dives)])


def _dive(processor: NodeProcessor, node: Node, rng: np.random.Generator) -> float:
    """The estimate of one dive."""
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
