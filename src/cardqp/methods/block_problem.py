"""The problem of a few variables while all others keep their values."""

from collections.abc import Callable

import numpy as np

from cardqp._iterate import Watch, iterate
from cardqp._typing import FloatArray, IntArray
from cardqp.branch_and_bound.precompile import load_for, load_tree_for
from cardqp.branch_and_bound.search import BranchAndBound
from cardqp.methods.best_subset import best_subset
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram

GAP = 1e-6
"""Relative gap to which blocks with rows or bounds are solved."""


def load_block_kernels(problem: SparseQP) -> None:
    """Compile the functions for blocks of a problem, or load them from disk."""
    if problem.is_unconstrained:
        best_subset(np.eye(2), np.ones(2), 1, 0.0)
    else:
        load_for(problem)
        load_tree_for(problem)


def solve_block(
    problem: SparseQP,
    x: FloatArray,
    part: IntArray,
    proximal: float,
    is_over: Callable[[], bool] = lambda: False,
) -> FloatArray:
    """Return a feasible point with a part of it reoptimised, the rest unchanged.

    The squared distance from ``x``, weighted by ``proximal`` times the curvature of
    each variable, is added.  Once time is over, it is the best point so far.
    """
    if len(part) == 0:
        return x
    weight = proximal * (problem.quadratic.diagonal + problem.ridge)[part]
    if problem.is_unconstrained:
        found = _try_all(problem, x, part, weight)
    else:
        found = _branch(problem, x, part, weight, is_over)
    changed = x.copy()
    changed[part] = found
    return changed


def _try_all(
    problem: SparseQP, x: FloatArray, part: IntArray, weight: FloatArray
) -> FloatArray:
    """Try all supports in compiled code, forced variables being eliminated first."""
    H = problem.quadratic.block(part) + np.diag(problem.ridge[part] + weight)
    slope = _slope(problem, x, part) - 2.0 * weight * x[part]
    others = np.setdiff1d(problem.support_of(x), part)
    remaining = problem.rule.limit - len(others)
    fixed_in = np.flatnonzero(np.isin(part, problem.forced_in))
    free = np.setdiff1d(np.arange(len(part)), fixed_in)
    share = np.linalg.solve(H[np.ix_(fixed_in, fixed_in)], H[np.ix_(fixed_in, free)])
    rest = H[np.ix_(free, free)] - H[np.ix_(free, fixed_in)] @ share
    left = slope[free] - slope[fixed_in] @ share
    _, chosen = best_subset(rest, left, remaining - len(fixed_in), problem.rule.penalty)
    support = np.union1d(fixed_in, free[chosen])
    y = np.zeros(len(part))
    y[support] = np.linalg.solve(H[np.ix_(support, support)], -0.5 * slope[support])
    return y


def _branch(
    problem: SparseQP,
    x: FloatArray,
    part: IntArray,
    weight: FloatArray,
    is_over: Callable[[], bool],
) -> FloatArray:
    """Solve the block by branch and bound, with its current values as incumbent."""
    block = block_problem(problem, x, part, weight)
    search = BranchAndBound(
        GAP, is_over=is_over, proof_memory=0.0, optimise_split=False
    )
    watch = Watch(callback=lambda _: is_over())
    tree, _ = iterate(search, search.initial_tree(block, x[part]), watch)
    best = tree.best
    return x[part] if best.x is None else best.x


def block_problem(
    problem: SparseQP, x: FloatArray, part: IntArray, weight: FloatArray
) -> SparseQP:
    """Return the problem of some variables, with the objective of all.

    They are whole blocks, where they share switches; all others keep their values at
    the feasible point ``x``.  The squared distance from it is added with a weight for
    each variable of the part.
    """
    rest, form, rows = x.copy(), problem.quadratic, problem.rows
    rest[part] = 0.0
    others = np.setdiff1d(problem.support_of(x), part)
    own = x[part]
    groups = problem.rule.groups
    # The current point meets its rows only up to rounding: right-hand sides are relaxed
    # so that it stays feasible for the block.
    taken, is_equal = rows.matrix[:, part] @ own, rows.is_equality
    rhs = np.maximum(rows.rhs - rows.matrix @ rest, taken)
    rhs[is_equal] = taken[is_equal]
    paid = problem.penalty * problem.rule.count(others) if problem.penalty else 0.0
    fixed = problem.c @ rest + rest @ form.apply(rest) + problem.ridge @ rest**2
    return SparseQP(
        Gram(form.block(part), form.psd_violation[part]),
        _slope(problem, x, part) - 2.0 * weight * own,
        eta=1.0 / (problem.ridge[part] + weight),
        sparsity=min(problem.rule.limit - problem.rule.count(others), len(part)),
        penalty=problem.penalty,
        A=rows.matrix[~is_equal][:, part],
        b=rhs[~is_equal],
        A_eq=rows.matrix[is_equal][:, part],
        b_eq=rhs[is_equal],
        lower=problem.lower[part],
        upper=problem.upper[part],
        forced_in=np.flatnonzero(np.isin(part, problem.forced_in)),
        forced_out=np.flatnonzero(np.isin(part, problem.forced_out)),
        groups=None if groups is None else groups.labels[part],
        group_sparsity=None if groups is None else groups.room(others),
        blocks=None if problem.blocks is None else problem.blocks[part],
        constant=float(problem.constant + paid + fixed + weight @ own**2),
    )


def _slope(problem: SparseQP, x: FloatArray, part: IntArray) -> FloatArray:
    """Return the gradient with respect to some variables, at zero in these."""
    rest = x.copy()
    rest[part] = 0.0
    return np.asarray(problem.c[part] + 2.0 * problem.quadratic.apply(rest)[part])
