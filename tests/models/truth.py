"""The best portfolio by enumeration, with a formulation and a solver of its own.

All supports are tried.  Purchases and sales of every asset are variables, and each
convex program is solved by an interior point method.
"""

import itertools

import clarabel
import numpy as np
import scipy.sparse


def best_portfolio(S, c, *, size, lower, upper, rows=(), holdings=None, turnover=None):
    """The least ``x'Sx + c'x`` over all supports of at most ``size`` assets.

    ``rows`` are pairs ``(row, limit)`` for ``row'x <= limit``.
    """
    n = len(c)
    supports = itertools.chain.from_iterable(
        itertools.combinations(range(n), k) for k in range(1, size + 1)
    )
    values = (
        _on_support(list(s), S, c, lower, upper, rows, holdings, turnover)
        for s in supports
    )
    return min(values, default=np.inf)


def _on_support(support, S, c, lower, upper, rows, holdings, turnover):
    n = len(c)
    width = 3 * n if turnover is not None else n
    weights = np.eye(n, width)
    outside = np.setdiff1d(np.arange(n), support)
    equal = [(np.ones(n) @ weights, 1.0), *((weights[j], 0.0) for j in outside)]
    below = [(row @ weights, limit) for row, limit in rows]
    below += [(weights[j], upper[j]) for j in support if np.isfinite(upper[j])]
    below += [(-weights[j], -lower[j]) for j in support if np.isfinite(lower[j])]
    if turnover is not None:
        trades = np.eye(width)[n:]
        bought, sold = trades[:n], trades[n:]
        equal += [(weights[j] - bought[j] + sold[j], holdings[j]) for j in range(n)]
        below += [(-trade, 0.0) for trade in trades]
        below += [(trades.sum(axis=0), turnover)]
    P = np.zeros((width, width))
    P[:n, :n] = 2 * S
    matrix = np.array([row for row, _ in equal + below])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    answer = clarabel.DefaultSolver(
        scipy.sparse.triu(P).tocsc(),
        np.pad(c, (0, width - n)),
        scipy.sparse.csc_matrix(matrix),
        np.array([limit for _, limit in equal + below]),
        [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(below))],
        settings,
    ).solve()
    name = str(answer.status)
    if "Infeasible" in name:
        return np.inf
    assert "Solved" in name, name
    return answer.obj_val
