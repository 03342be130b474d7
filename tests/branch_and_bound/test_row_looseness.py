"""Relaxations of nodes with rows: how nearly they are solved."""

import numpy as np
import pytest

from cardqp import SparseQP
from cardqp.branch_and_bound.node_relaxations import NodeRelaxations, Snapshot
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.branch_and_bound.settings import SearchSettings
from cardqp.certificate import Kind
from cardqp.relaxation.relaxation import Effort
from tests.splitting.test_row_shift import tracking


def slack_at(problem, bound, cutoff, slack=1.0):
    search = BranchAndBound(settings=SearchSettings(row_looseness=0.25))
    tree = search.initial_tree(problem)
    tree.gap_unit = 8.0
    effort = Effort(1e-9, cutoff, slack)
    relaxations = NodeRelaxations(tree, Snapshot.of(tree), effort, Kind.POINT)
    node = tree.root()._replace(bound=bound)
    return relaxations.batch([node], [1]).slack[0]


@pytest.mark.parametrize(
    ("bound", "cutoff", "slack"),
    [(0.0, 10.0, 0.2), (8.0, 10.0, 1.0), (9.0, 10.0, 1.0), (0.0, np.inf, 1.0)],
)
def test_a_share_of_the_objective_is_the_most(bound, cutoff, slack):
    """A quarter of 8 is 2: a fifth of what the first node lacks."""
    assert slack_at(tracking(0), bound, cutoff) == pytest.approx(slack)


def test_smaller_slacks_stay():
    assert slack_at(tracking(0), 0.0, 10.0, slack=0.1) == 0.1


def test_problems_without_rows_are_not_concerned():
    rows = tracking(0)
    free = SparseQP(rows.Q, rows.c, eta=rows.eta, sparsity=3, constant=rows.constant)
    assert slack_at(free, 0.0, 10.0) == 1.0
