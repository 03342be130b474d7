"""Local search over blocks of variables that share a switch."""

from collections.abc import Callable
from itertools import product

import numpy as np

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.heuristics.exchange_bounds import costs_alone, slope_at
from cardqp.problem import SparseQP
from cardqp.subproblems.support_qp import SupportFit, fit_support


def exchange_blocks(
    problem: SparseQP,
    fit: SupportFit,
    n_entering: int,
    is_over: Callable[[], bool],
) -> SupportFit:
    """The best fit with one block less, one more, or one exchanged.

    Only ``n_entering`` blocks may enter: those that gain most while all others stay as
    they are.  Once time is up, it is the best of those that were fitted.
    """
    blocks, best = problem.rule.blocks, fit
    if fit.x is None or blocks is None:
        return fit
    is_in = np.zeros(problem.n, dtype=bool)
    is_in[problem.support_of(fit.x)] = True
    order = _ranked(problem, fit.x, fit.beta, blocks.labels, is_in)
    entering = order[:n_entering]
    leaving = np.unique(blocks.labels[is_in])
    leaving = np.setdiff1d(leaving, blocks.labels[problem.forced_in])
    # -1 is no block: nothing leaves, or nothing enters.
    for out, enters in product((-1, *leaving), (-1, *entering)):
        if is_over():
            break
        mask = (is_in & (blocks.labels != out)) | (blocks.labels == enters)
        support = np.flatnonzero(mask)
        if problem.rule.excess(support) == 0 and (mask != is_in).any():
            found = fit_support(problem, support)
            best = found if found.objective < best.objective else best
    return best


def _ranked(
    problem: SparseQP,
    x: FloatArray,
    beta: FloatArray,
    labels: IntArray,
    is_in: BoolArray,
) -> IntArray:
    """Blocks that may enter, first those that gain most if all else stays as it is."""
    _, cost = costs_alone(problem, slope_at(problem, x, beta))
    total = np.bincount(labels, cost)
    total[labels[is_in]] = np.inf
    total[labels[problem.forced_out]] = np.inf
    order = np.argsort(total, kind="stable")
    return order[np.isfinite(total[order])]
