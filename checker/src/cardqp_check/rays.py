"""Rays, which prove that a branch is empty, in rational arithmetic (section 6)."""

import math

import numpy as np
from flint import arb, fmpq, fmpq_mat

from cardqp_check.branches import Branch, bound
from cardqp_check.points import Terms
from cardqp_check.problem import Rule
from cardqp_check.rounding import Floats, below
from cardqp_check.views import View

MOST_ROWS = 100
"""The most rows whose multipliers are changed: rational numbers grow."""


def proves_empty(view: View, rule: Rule, beta: Floats, branch: Branch) -> bool:
    """Whether rows that are combined by multipliers contradict each other."""
    beta = view.rows.valid(beta)
    used = np.flatnonzero(beta)
    A = [[rational(a) for a in row] for row in view.rows.A[used].tolist()]
    weights = [rational(x) for x in beta[used].tolist()]
    may_be_in = branch.status > 0
    if branch.places(rule) > 0:
        may_be_in |= branch.status == 0
    is_free = may_be_in & ~(np.isfinite(view.lower) & np.isfinite(view.upper))
    is_inequality = used < view.rows.n_inequalities
    slopes, is_balanced = _slopes(A, weights, view.n), np.zeros(view.n, dtype=bool)
    costs = _costs(view, slopes)
    while np.isneginf(costs[may_be_in]).any():
        # What vanishes already must go on to do so, and what did not need to may now.
        vanishes = np.array([slope == 0 for slope in slopes]) | np.isneginf(costs)
        if len(used) > MOST_ROWS or not (is_free & vanishes & ~is_balanced).any():
            return False
        is_balanced |= is_free & vanishes
        weights = _balanced(A, weights, np.flatnonzero(is_balanced))
        if any(x < 0 for x, one in zip(weights, is_inequality, strict=True) if one):
            return False
        slopes = _slopes(A, weights, view.n)
        costs = _costs(view, slopes)
    rhs = [rational(x) for x in view.rows.b[used].tolist()]
    base = -sum((x * r for x, r in zip(weights, rhs, strict=True)), fmpq(0))
    without_penalty = Rule(
        rule.limit, rule.width, 0.0, rule.groups, rule.group_limits, rule.blocks
    )
    terms = Terms(below(arb(base)), np.where(may_be_in, costs, 0.0))
    return bound(without_penalty, terms, branch) > 0


def rational(x: float) -> fmpq:
    """The number that a float is."""
    return fmpq(*float(x).as_integer_ratio())


def _slopes(A: list[list[fmpq]], weights: list[fmpq], n: int) -> list[fmpq]:
    """The combination of the rows."""
    return [
        sum((x * row[j] for x, row in zip(weights, A, strict=True)), fmpq(0))
        for j in range(n)
    ]


def _costs(view: View, slopes: list[fmpq]) -> Floats:
    """At most the least of each term of the combined rows, within the bounds."""
    costs = np.zeros(view.n)
    for j, slope in enumerate(slopes):
        if slope != 0:
            nearest = float(view.lower[j] if slope > 0 else view.upper[j])
            costs[j] = -math.inf
            if math.isfinite(nearest):
                costs[j] = below(arb(slope * rational(nearest)))
    return costs


def _balanced(
    A: list[list[fmpq]], weights: list[fmpq], columns: np.ndarray
) -> list[fmpq]:
    """The multipliers nearest to some whose combination of these columns vanishes.

    What is taken off is the part in the span of the columns, of which independent ones
    are used.
    """
    part = fmpq_mat([[row[j] for j in columns] for row in A])
    reduced, rank = part.rref()
    pivots = [
        next(j for j in range(len(columns)) if reduced[i, j] != 0) for i in range(rank)
    ]
    basis = fmpq_mat([[part[i, j] for j in pivots] for i in range(len(A))])
    beta = fmpq_mat([[x] for x in weights])
    transposed = basis.transpose()
    share = (transposed * basis).solve(transposed * beta)
    return list((beta - basis * share).entries())
