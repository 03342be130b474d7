"""Resume a streamed search from its certificate."""

import heapq

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.search_tree import Node
from cardqp.branch_and_bound.settings import SearchSettings
from cardqp.branch_and_bound.streamed.tree import SplitNode, StreamedTree, streamed_form
from cardqp.branch_and_bound.streamed.working_set import SparsePoint, WorkingSet
from cardqp.certificate import Certificate, DualPoint, ProofLog, ProofTree
from cardqp.certificate.replay import OpenBranch
from cardqp.certificate.root import RootState
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import SupportFit


def restore_streamed(
    problem: SparseQP,
    certificate: Certificate,
    n_nodes: int,
    x: FloatArray | None,
    settings: SearchSettings,
) -> StreamedTree:
    """Rebuild the tree that a certificate describes, by replaying it.

    Nothing is taken on trust: bounds are those that the replay proves.  The working set
    is made of the columns that the proof speaks of.  The incumbent is ``x``.  Raises
    ``ProblemError`` if the certificate does not fit.
    """
    state, pruned_bound, branches = certificate.resume(problem)
    if len(certificate.tree) == 0:
        tree = StreamedTree.initial(problem, x, settings=settings)
        tree.add_root_steps(certificate.root, state.lower_bound)
        return tree
    columns = _columns(problem, certificate, state, x)
    most = settings.streamed.max_dense_bytes
    working = WorkingSet.of(problem, streamed_form(problem), columns, most)
    tree = StreamedTree.of(problem, working, settings)
    tree.n_nodes, tree.n_created = n_nodes, len(certificate.tree)
    tree.log, tree.is_rooted = ProofLog.resumed(certificate.tree), True
    _restore_root(tree, certificate, state)
    tree.pruned_bound = pruned_bound
    if x is not None:
        tree.keep(SupportFit(x, np.zeros(0), problem.objective(x)))
    _restore_nodes(tree, certificate.tree, branches)
    return tree


def _columns(
    problem: SparseQP, certificate: Certificate, state: RootState, x: FloatArray | None
) -> IntArray:
    """The columns of the incumbent and of all that the proof speaks of."""
    proof = certificate.tree
    parts = [
        np.flatnonzero(state.subproblem.fixed_in),
        proof.branch[proof.branch >= 0],
        proof.index,
        *(step.point.index for step in certificate.root),
    ]
    # Those that are proved zero are not needed, unless they are branched on.
    kept = ~state.subproblem.fixed_out
    kept[parts[1]] = True
    columns = np.unique(np.concatenate(parts)).astype(np.intp)
    known = problem.forced_in if x is None else np.flatnonzero(x)
    return np.union1d(columns[kept[columns]], known)


def _restore_root(
    tree: StreamedTree, certificate: Certificate, state: RootState
) -> None:
    """Restore what the steps at the root prove, and the best point among them."""
    tree.steps, tree.root_bound = list(certificate.root), state.lower_bound
    tree.unfixed = ~state.subproblem.fixed_out
    tree.fixed_in = np.flatnonzero(state.subproblem.fixed_in)
    tree.has_fixed = bool(np.isfinite(state.pruned_bound))
    cutoffs = [step.cutoff for step in tree.steps if step.cutoff is not None]
    tree.fixing_cutoff = min(cutoffs, default=np.inf)
    tree.is_improved = True
    if tree.steps:
        tree.start = _on_set(tree, tree.steps[0].point)


def _restore_nodes(
    tree: StreamedTree, proof: ProofTree, branches: list[OpenBranch]
) -> None:
    """Restore the open nodes, and those above them."""
    is_open = {branch.position: branch for branch in branches}
    nodes, order = {0: tree.root()}, [0]
    for position in order:
        for node in _children(tree, proof, nodes[position]):
            nodes[node.position] = node
            order.append(node.position)
    bounds = np.full(len(proof), np.inf)
    for position in reversed(order):
        node, branch = nodes[position], is_open.get(position)
        children = _numbers(proof, position)
        if children:
            bounds[position] = bounds[list(children)].min()
        if branch is not None:
            bounds[position] = branch.lower_bound
        node = node._replace(bound=float(bounds[position]))
        if branch is not None:
            heapq.heappush(tree.heap, node)
        elif children:
            tree.split_nodes[position] = SplitNode(node, children)
    tree.open_bound = float(bounds[0])
    tree.closed_share = 1.0 - sum(2.0**-branch.depth for branch in branches)


def _children(tree: StreamedTree, proof: ProofTree, node: Node) -> list[Node]:
    """The children of a node, with the point of the nearest node that has one."""
    record, branch = proof.record[node.position], int(proof.branch[node.position])
    if record >= 0:
        entries, values = _on_set(tree, proof.dual_point(int(record)))
        node = node._replace(entries=entries, values=values)
    children = []
    for number, child in enumerate(_numbers(proof, node.position)):
        status, height = node.status, node.height
        if branch >= 0:
            status, height = status.copy(), height - 1
            status[tree.working.position_of[branch]] = 1 - 2 * number
        children.append(node._replace(position=child, status=status, height=height))
    return children


def _numbers(proof: ProofTree, position: int) -> tuple[int, ...]:
    """The numbers of the children of a node."""
    first, count = int(proof.child[position]), 1 + (proof.branch[position] >= 0)
    return tuple(range(first, first + count)) if first else ()


def _on_set(tree: StreamedTree, point: DualPoint) -> SparsePoint:
    """The part of a dual point that is on the working set."""
    position_of = tree.working.position_of
    where = [position_of.get(int(j), -1) for j in point.index]
    position = np.array(where, dtype=np.intp)
    return SparsePoint(position[position >= 0], point.value[position >= 0])
