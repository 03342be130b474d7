"""Checks that branches cover all supports, and that their bounds are proved."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cardqp._typing import IntArray
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.solution import Solution, Verification


def recheck(problem: SparseQP, solution: Solution, threads: int = 1) -> Verification:
    """Check the solution of a branch; of its problem, only what is forced is used."""
    own = solution.problem
    try:
        part = problem.with_forced(forced_in=own.forced_in, forced_out=own.forced_out)
    except ProblemError as err:
        return Verification(np.inf, -np.inf, np.inf, None, (str(err),))
    return replace(solution, problem=part).verify(threads=threads)


def switches(problem: SparseQP, members: IntArray) -> Iterator[IntArray]:
    """Variables one by one, or block by block."""
    if problem.blocks is None:
        yield from members[:, None]
        return
    for block in np.unique(problem.blocks[members]):
        yield np.flatnonzero(problem.blocks == block)


def covers(
    problem: SparseQP, leaves: Sequence[SparseQP], supports: Sequence[IntArray]
) -> bool:
    """Whether each support is in a leaf or includes one of those that are given.

    Follows the splits from the top: a variable is decided if all leaves that are in
    question decide it.  Never true without cause; false for leaves that do not come
    from splits.  A leaf is the problem with more variables forced in and out.
    """
    if any(leaf.n != problem.n for leaf in leaves):
        return False
    listed = [frozenset(support.tolist()) for support in supports]
    status = np.zeros((len(leaves), problem.n), dtype=np.int8)
    for row, leaf in zip(status, leaves, strict=True):
        row[leaf.forced_in], row[leaf.forced_out] = 1, -1
    start = np.zeros(problem.n, dtype=np.int8)
    start[problem.forced_in], start[problem.forced_out] = 1, -1
    todo = [(start, np.arange(len(leaves)))]
    while todo:
        decided, rows = todo.pop()
        rows = rows[(status[rows] * decided >= 0).all(axis=1)]
        fixed_in = set(np.flatnonzero(decided == 1).tolist())
        is_undecided = decided == 0
        if any(support <= fixed_in for support in listed):
            continue
        if (status[rows][:, is_undecided] == 0).all(axis=1).any():
            continue
        shared = np.flatnonzero(is_undecided & (status[rows] != 0).all(axis=0))
        if len(rows) == 0 or len(shared) == 0:
            return False
        for sign in (1, -1):
            part = decided.copy()
            part[next(switches(problem, shared[:1]))] = sign
            todo.append((part, rows))
    return True
