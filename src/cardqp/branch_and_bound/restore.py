"""Resume a search from its certificate."""

import heapq

import numpy as np

from cardqp._typing import FloatArray
from cardqp.branch_and_bound.presolve import PresolveState
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.settings import SearchSettings
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate import Certificate, ProofLog, RootStep
from cardqp.certificate.replay import OpenBranch
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.scaled_data import NO_CLUSTERS, ClusterData
from cardqp.subproblems.support_qp import SupportFit


def restore(
    problem: SparseQP,
    certificate: Certificate,
    n_nodes: int,
    x: FloatArray | None,
    settings: SearchSettings,
) -> Tree:
    """Rebuild the tree that a certificate describes, by replaying it.

    Nothing is taken on trust: bounds of open nodes are those that the replay proves.
    The incumbent is ``x``.  Raises ``ProblemError`` if the certificate does not fit.
    """
    state, pruned_bound, branches = certificate.resume(problem)
    presolved = PresolveState.restored(state)
    tree = Tree.initial(problem, presolved, settings)
    tree.steps = list(certificate.root)
    tree.n_nodes, tree.pruned_bound = n_nodes, pruned_bound
    if any(_is_tightened(step) for step in tree.steps):
        # Splits are optimised again only if many more variables are fixed.
        tree.tightened = tree.split = presolved.problem.n
    if x is not None:
        beta = np.zeros(len(problem.rows))
        tree.keep(SupportFit(x, beta, problem.objective(x)))
    if len(certificate.tree):
        tree.is_rooted = True
        tree.prepare_supports()
        tree.start_clusters()
        tree.log = ProofLog.resumed(certificate.tree)
        tree.n_created = len(certificate.tree)
        tree.closed_share = 1.0 - sum(2.0**-branch.depth for branch in branches)
        for branch in branches:
            heapq.heappush(tree.heap, _node(tree, certificate, branch))
    return tree


def _is_tightened(step: RootStep) -> bool:
    """Whether a step optimised a split.

    An optimal diagonal has negative entries as a rule, an eigenvalue shift has none.
    """
    reduction = step.reduction
    if reduction is None:
        return False
    is_optimal = reduction.diagonal_shift is not None and bool(
        (reduction.diagonal_shift < 0).any()
    )
    return is_optimal or reduction.minorant is not None


def _node(tree: Tree, certificate: Certificate, branch: OpenBranch) -> Node:
    """An open node, with the dual point of its nearest ancestor as warm start."""
    index, value = np.zeros(0, dtype=np.intp), np.zeros(0)
    if branch.record >= 0:
        index, value = certificate.tree.point(branch.record)
        value = value.astype(np.float64) / tree.relaxation.unit[index]
    clusters, required = NO_CLUSTERS, branch.required
    if required is not None:
        clusters = ClusterData(required, int(required.max()) + 1)
    return Node(
        branch.lower_bound,
        -branch.depth,
        branch.position,
        Subproblem.of_status(branch.status, tree.presolved.problem.rule).status,
        index,
        value,
        tree.nu,
        clusters=clusters,
    )
