"""Compile the kernels of the search, or load them from disk, before the clock starts.

Numba compiles on the first call, for the types of its arguments.  Which kernels a
problem needs depends on whether it has rows and groups; calls on a tiny problem of the
same kind make sure that they are there, so that no time limit counts compilation.
"""

from functools import cache
from typing import Any

import numpy as np

from cardqp.bounds.node_ridges import MinorantRest, NodeRidges
from cardqp.bounds.penalised_rows import PenalisedRows
from cardqp.bounds.top_sums import weighted_sums
from cardqp.branch_and_bound.clusters import choose_cluster, follow, require
from cardqp.branch_and_bound.dropping import Dropping, is_weak
from cardqp.branch_and_bound.settings import DroppingSettings
from cardqp.branch_and_bound.tree import Tree
from cardqp.certificate.completions import completion_bound, penalised_bound
from cardqp.certificate.dropping import searched_bound
from cardqp.certificate.strong_parts import cut_off_bound
from cardqp.heuristics.completed_supports import PenalisedSupports, Supports
from cardqp.heuristics.local_search import best_exchange
from cardqp.problem import SparseQP
from cardqp.relaxation.assessment import assess, largest_share, nonzeros
from cardqp.relaxation.relaxation import Effort, Relaxation
from cardqp.relaxation.scaled_data import NO_CLUSTERS, Batch
from cardqp.splitting.settings import DEFAULT
from cardqp.subproblems.support_qp import fit_support


def load_first(problem: SparseQP) -> None:
    """Load the kernels that a search begins with.

    A search by dropping variables may end it before anything is relaxed.
    """
    settings = DroppingSettings()
    is_small = problem.n <= settings.max_variables
    if is_small and is_weak(problem, settings.first_weak_ridge):
        load_dropping()
    else:
        load_for(problem)


def load_for(problem: SparseQP) -> None:
    """Load the kernels for the root of a problem's tree."""
    load_kernels(**_kind(problem))
    if not problem.is_unconstrained:
        load_fits()
    if problem.n > DEFAULT.diagonal.max_variables or problem.signs.any():
        load_split_kernels()


def load_dropping_for(problem: SparseQP) -> None:
    """Load the kernels that search by dropping variables, if they are made use of."""
    if is_weak(problem, DroppingSettings().weak_ridge):
        load_dropping()


def load_tree_for(problem: SparseQP) -> None:
    """Load the kernels for nodes, beyond those for the root."""
    load_tree_kernels(**_kind(problem), is_unconstrained=problem.is_unconstrained)


@cache
def load_kernels(*, has_rows: bool = False, has_groups: bool = False) -> None:
    """Call the kernels for the root once, on a tiny problem."""
    relaxation = Relaxation.prepare(_tiny_problem(has_rows, has_groups))
    relaxation.solve(relaxation.problem.root, *relaxation.start(), Effort(1.0))


@cache
def load_fits() -> None:
    """Call the kernels that fit and exchange supports with rows or bounds once."""
    problem = _tiny_problem(has_rows=True, has_groups=False)
    best_exchange(problem, fit_support(problem, np.arange(1)))


@cache
def load_split_kernels() -> None:
    """Call the kernels of sparse minorants once, for data as given and restricted."""
    given, signs = np.eye(2), np.zeros(2, dtype=np.int8)
    given.setflags(write=False)
    for Q in (given, np.eye(2)):
        weighted_sums(Q, np.eye(2), np.ones(2), signs, 1)
    problem = _tiny_problem(has_rows=False, has_groups=False)
    rest = MinorantRest(np.zeros((2, 2)), np.ones(2), np.zeros(2))
    NodeRidges.of(rest, problem).at(problem.root.status)


@cache
def load_tree_kernels(
    *, has_rows: bool = False, has_groups: bool = False, is_unconstrained: bool = True
) -> None:
    """Call the kernels for nodes once, on a tiny problem."""
    problem = _tiny_problem(has_rows, has_groups)
    root, relaxation = problem.root, Relaxation.prepare(problem)
    data, rows, margins = relaxation.data, relaxation.rows, relaxation.margins
    x, status = np.zeros(2), root.status
    start = relaxation.start()
    batch = Batch.single(status, root.remaining, NO_CLUSTERS, x, 0.0, *start)
    assess(data, rows, margins, batch, batch.x, batch.nu, 0.0)
    largest_share(x, status, x, x)
    nonzeros(x)
    supports, fixed_in, free = Supports.of(problem), np.arange(0), np.arange(2)
    if not is_unconstrained:
        load_fits()
        form, beta = PenalisedRows.of(problem), np.zeros(len(problem.rows))
        PenalisedSupports(form, 1).below(0.0, beta, fixed_in, free, 1)
        penalised_bound(form, beta, fixed_in, free, np.zeros((0, 1), dtype=np.intp))
    elif supports is not None:
        supports.best(fixed_in, free, 1)
        completion_bound(problem, fixed_in, free, 1, 0.0)
        supports.best_below(-1.0, fixed_in, free, 3)
        cut_off_bound(problem, fixed_in, np.arange(4) % 2, 3, -1.0, 0.0)


@cache
def load_clusters() -> None:
    """Call the kernels that branch on clusters once, on a tiny problem."""
    problem, x = _tiny_problem(has_rows=False, has_groups=False), np.zeros(2)
    status, free = problem.root.status, np.arange(2)
    is_near = np.ones((2, 2), dtype=bool)
    choose_cluster(is_near, status == 0, x, x, 1, 0.1)
    follow(status, require(NO_CLUSTERS, free, 2), 1)


@cache
def load_dropping() -> None:
    """Call the kernels that search by dropping variables once, on a tiny problem."""
    problem = SparseQP(np.eye(2), np.ones(2), eta=1e6, sparsity=1, constant=1.0)
    dropping = Dropping.begin(Tree.initial(problem))
    # Above what all variables reach together, so that there is something to search.
    cutoff = 0.9
    if dropping is not None:
        dropping.expected(cutoff, 1)
        dropping.advance(cutoff, 1)
    searched_bound(problem, np.arange(0), np.arange(2), cutoff, 1.0, 0.0)


def _kind(problem: SparseQP) -> dict[str, bool]:
    """The kind of a problem that decides which kernels it needs."""
    return {"has_rows": len(problem.rows) > 0, "has_groups": problem.groups is not None}


def _tiny_problem(has_rows: bool, has_groups: bool) -> SparseQP:
    settings: dict[str, Any] = {"eta": 1.0, "sparsity": 1}
    if has_rows:
        settings |= {"A": np.ones((1, 2)), "b": np.ones(1), "lower": np.zeros(2)}
    if has_groups:
        settings |= {"groups": np.zeros(2, dtype=int), "group_sparsity": 1}
    return SparseQP(np.eye(2), np.ones(2), **settings)
