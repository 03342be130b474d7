"""Trees of proofs that are cut off at some of their nodes."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from cardqp._typing import BoolArray, IntArray
from cardqp.certificate.dual_point import DualPoint
from cardqp.certificate.proof_tree import Kind, ProofLog, ProofTree


def holds(tree: ProofTree, some: Collection[int]) -> BoolArray:
    """Return for each node whether its subtree has one of some nodes."""
    found = np.isin(np.arange(len(tree)), list(some))
    parent = _parents(tree)
    # Children have larger numbers than their parents.
    for position in reversed(range(1, len(tree))):
        found[parent[position]] |= found[position]
    return found


def cut_at(tree: ProofTree, points: Mapping[int, DualPoint]) -> ProofTree:
    """Return the tree without what is below some nodes, which get dual points.

    The records of what is left out stay where they are; no node refers to them.
    """
    is_leaf = np.isin(np.arange(len(tree)), list(points)) | (tree.child == 0)
    parent, kept = _parents(tree), np.ones(len(tree), dtype=bool)
    for position in range(1, len(tree)):
        kept[position] = kept[parent[position]] and not is_leaf[parent[position]]
    number = (np.cumsum(kept) - 1).astype(tree.child.dtype)
    log = ProofLog.resumed(
        replace(
            tree,
            kind=tree.kind[kept],
            branch=np.where(is_leaf, -1, tree.branch)[kept],
            child=np.where(is_leaf, 0, number[tree.child])[kept],
            record=tree.record[kept],
        )
    )
    for position, point in points.items():
        log.record_point(int(number[position]), Kind.POINT, point)
    return log.tree()


def _parents(tree: ProofTree) -> IntArray:
    """The parent of each node; the root has none, and gets its own number.

    Siblings lie next to each other, so that the first of them tells for all.
    """
    parents = np.flatnonzero(tree.child > 0)
    parents = parents[np.argsort(tree.child[parents])]
    first = np.concatenate([[0], tree.child[parents]])
    owner = np.concatenate([[0], parents])
    last = np.searchsorted(first, np.arange(len(tree)), side="right") - 1
    return np.asarray(owner[last])
