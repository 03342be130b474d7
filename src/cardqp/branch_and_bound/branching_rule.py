"""The choice between branching on single variables and on clusters, by random dives.

Clusters make a tree many times smaller where correlation is local, and larger where it
is not.  Estimates of the size of a tree from a few dives differ by orders of magnitude
from one dive to the next; the mean of their logarithms does not, and is what is
compared.
"""

import numpy as np

from cardqp.branch_and_bound.clusters import near
from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.tree import Tree
from cardqp.branch_and_bound.tree_size import dive_sizes

SAMPLE = 50
"""The number of columns that stand for all where the size of clusters is looked at."""


def choose_rule(processor: NodeProcessor) -> None:
    """Try out clusters, once, and use them if they are better.

    A tree that was begun with single variables begins again then: each of its open
    nodes would have to be branched on the same clusters.
    """
    tree = processor.tree
    correlation = _best_correlation(processor)
    tree.has_rule = True
    tree.use_clusters(correlation)
    # A tree that was resumed may have many nodes, which are worth more.
    most = 4 * tree.settings.clusters.try_after
    if correlation is not None and tree.n_created <= most:
        tree.restart()


def is_rule_due(tree: Tree) -> bool:
    """Whether it is time to decide what to branch on: the tree has become long.

    A tree with few open nodes is left alone, as it may well end before dives have paid.
    """
    is_long = tree.n_nodes >= tree.settings.clusters.try_after
    return is_long and not tree.has_rule and _is_growing(tree)


def _is_growing(tree: Tree) -> bool:
    """Whether most nodes so far have been branched on, not pruned."""
    least = tree.settings.clusters.least_open * tree.n_nodes
    return tree.n_open > 0 and tree.n_open >= least


def _best_correlation(processor: NodeProcessor) -> float | None:
    """The first correlation whose clusters make the tree much smaller, if any."""
    settings, single = processor.tree.settings.clusters, np.inf
    for correlation in settings.correlations:
        if not _is_local(processor.tree, correlation):
            continue
        if np.isinf(single):
            single = _depth(processor, None)
        if _depth(processor, correlation) <= single - settings.least_advantage:
            return correlation
    return None


def _is_local(tree: Tree, correlation: float) -> bool:
    """Whether clusters are more than single variables, and less than everything."""
    settings, n = tree.settings.clusters, tree.presolved.problem.n
    if tree.supports is None:
        return False
    some = np.unique(np.linspace(0, n - 1, SAMPLE).astype(int))
    is_near = near(tree.supports, tree.presolved.original.ridge, correlation, some)
    size = float(np.median(np.count_nonzero(is_near, axis=1)))
    return settings.least_size <= size <= settings.most_share * n


def _depth(processor: NodeProcessor, correlation: float | None) -> float:
    """The mean logarithm, to base two, of the sizes that dives estimate."""
    tree = processor.tree
    tree.use_clusters(correlation)
    sizes = dive_sizes(processor, tree.root(), tree.settings.clusters.dives)
    return float(np.mean(np.log2(sizes)))
