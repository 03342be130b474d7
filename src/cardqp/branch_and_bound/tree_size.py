"""An estimate of the size of the tree (Knuth 1975)."""

from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.branch_and_bound.oracle import Processor
from cardqp.branch_and_bound.search_tree import Node


def estimate_nodes(
    processor: Processor[Any], root: Node, dives: int, most: float = np.inf
) -> float:
    """Estimate the number of nodes below a root by random dives.

    A dive goes down to one child at random, to a leaf; a node that it meets after d
    splits stands for ``2^d`` nodes.  The mean over dives is unbiased, with a large
    variance.  The tree does not change.

    Estimates above ``most`` are all alike: dives end when theirs cannot be smaller, and
    what is returned is a lower bound of the estimate then.  It is infinite if time is
    up.
    """
    return float(dive_sizes(processor, root, dives, most).sum() / dives)


def dive_sizes(
    processor: Processor[Any], root: Node, dives: int, most: float = np.inf
) -> FloatArray:
    """The estimates of single dives, as far as they are made.

    See :func:`estimate_nodes`.
    """
    # A fixed seed, as estimates decide about splits: runs can be repeated.
    rng = np.random.default_rng(0)
    sizes: list[float] = []
    left = dives * most
    while len(sizes) < dives and left >= 0:
        sizes.append(_dive(processor, root, rng, left))
        left -= sizes[-1]
    return np.array(sizes)


def _dive(
    processor: Processor[Any], node: Node, rng: np.random.Generator, most: float
) -> float:
    """The estimate of one dive, which ends when it is larger than ``most``."""
    total, weight = 0.0, 1.0
    while True:
        if processor.effort.is_over():
            return np.inf
        total += weight
        children = processor.process_all([node])[0].open(0)
        if not children or total > most:
            return total
        weight *= len(children)
        node = children[int(rng.integers(len(children)))]
