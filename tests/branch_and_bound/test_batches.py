"""Nodes that are processed together come out as if each were alone."""

import numpy as np
import pytest

from cardqp.branch_and_bound.node import NodeProcessor
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.settings import ClusterSettings, SearchSettings
from cardqp.datasets import make_regression
from cardqp.problem import SparseQP
from cardqp.relaxation.relaxation import Effort
from tests.splitting.test_row_shift import tracking


def regression():
    data = make_regression(100, 40, sparsity=7, correlation=0.9, snr=1.0, seed=3)
    return SparseQP.from_regression(data.X, data.y, eta=20.0, sparsity=7)


def open_nodes(problem, rule, count):
    """A tree, and nodes of it that are relaxed in different places."""
    clusters = ClusterSettings(rule, correlations=(0.5,))
    search = BranchAndBound(settings=SearchSettings(clusters=clusters))
    tree = search.initial_tree(problem)
    while not tree.is_rooted:
        search.step(tree, tree)
    effort = Effort(search.tolerance(tree), slack=0.3)
    processor = NodeProcessor(tree, search.cutoff(tree), effort)
    nodes = [tree.pop()]
    for node in nodes:
        if len(nodes) < count:
            nodes += processor.process_all([node])[0].open(0)
    return processor, nodes


@pytest.mark.parametrize(
    ("problem", "rule"),
    [
        (regression(), "never"),
        (regression(), "always"),
        (tracking(1, n=40, sparsity=6), "never"),
        (tracking(2, n=40, weeks=60, sparsity=8), "never"),
    ],
    ids=["free", "clusters", "rows", "minorant"],
)
def test_nodes_do_not_see_each_other(problem, rule):
    processor, nodes = open_nodes(problem, rule, 9)
    assert len(nodes) > 2
    # The last has a minorant, whose ridges are those of each node.
    assert processor.tree.has_minorant == (problem.rule.limit == 8)
    together = processor.process_all(nodes)
    for node, mine in zip(nodes, together, strict=True):
        alone = processor.process_all([node])[0]
        assert mine.node is node
        assert (mine.kind, mine.branch) == (alone.kind, alone.branch)
        assert mine.bound == alone.bound
        assert mine.pruned_bound == alone.pruned_bound
        assert mine.children == alone.children
        for name in ("index", "value", "beta", "status", "entries", "values", "nu"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(alone, name))
