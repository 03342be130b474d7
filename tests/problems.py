"""Random problems of every kind, and the truth about them by enumeration.

Nothing here uses the library's solvers: a quadratic program on a support is turned into
a least-distance problem and solved by nonnegative least squares (Lawson and Hanson,
"Solving Least Squares Problems", chapter 23).
"""

import itertools
from collections import Counter

import numpy as np
import scipy.linalg
import scipy.optimize

from cardqp import SparseQP

KINDS = (
    "free",
    "penalty",
    "both",
    "bounds",
    "positive",
    "rows",
    "equality",
    "rows+bounds",
    "equality+penalty",
    "tied",
    "rank-deficient",
    "badly scaled",
    "nothing allowed",
    "everything allowed",
    "infeasible",
    "infeasible at this sparsity",
    "everything at once",
    "forced in",
    "forced in, penalty",
    "forced in, rows",
    "forced out",
    "two-sided rows",
    "thresholds",
    "thresholds, budget",
    "thresholds, forced",
    "thresholds, penalty",
    "infeasible thresholds",
    "groups",
    "groups alone",
    "groups, rows",
    "groups, thresholds",
    "groups, forced",
    "groups, penalty",
    "infeasible in groups",
    "blocks",
    "blocks, bounds",
    "blocks, rows",
    "blocks, penalty",
    "blocks, forced",
    "infeasible in blocks",
)


OWN_SWITCHES = tuple(kind for kind in KINDS if "blocks" not in kind)
"""Kinds of problems whose variables do not share switches."""


def n_switched(problem, switches):
    """How many switches are on, in all."""
    if problem.blocks is None:
        return switches.sum()
    return switches[np.unique(problem.blocks, return_index=True)[1]].sum()


def random_problem(kind, seed):
    """A small asymmetric problem of the given kind: n is 3 to 8, now and then 12."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n = 12 if seed % 16 == 15 else int(rng.integers(3, 9))
    rank = int(rng.integers(1, n)) if kind == "rank-deficient" else n + 2
    F = rng.standard_normal((rank, n)) * rng.uniform(0.3, 3.0, n)
    Q = F.T @ F / rank
    c = 4.0 * rng.standard_normal(n) + 0.5
    data = {
        "eta": 10.0 ** rng.uniform(-1, 2, n if rng.random() < 0.5 else None),
        "sparsity": int(rng.integers(1, n)),
        "constant": float(rng.uniform(0.0, 20.0)),
    }
    settings = _settings(kind, rng, n, data["sparsity"])
    if kind == "tied":
        Q = 2.0 * np.eye(n) + 0.5 * np.ones((n, n))
        c = -np.repeat([3.0, 3.0], [n - n // 2, n // 2])
        data["eta"] = 2.0
    if kind == "badly scaled":
        units = 10.0 ** rng.uniform(-4, 4, n)
        Q, c = units[:, None] * Q * units, units * c
        data["eta"] = data["eta"] / units**2
    data = {k: v for k, v in (data | settings).items() if v is not None}
    if rng.random() < 0.3 and kind != "tied":
        root = scipy.linalg.sqrtm(Q).real if kind == "free" else None
        if root is not None:
            return SparseQP.from_factor(root, c, **data)
    return SparseQP((Q + Q.T) / 2, c, **data)


def _settings(kind, rng, n, s):
    def rows(count):
        A = rng.standard_normal((count, n))
        return A, A @ sparse_point() - rng.uniform(-0.5, 0.5, count)

    def sparse_point():
        x = np.zeros(n)
        x[rng.choice(n, s, replace=False)] = rng.uniform(-0.6, 0.6, s)
        return x

    def box():
        return {"lower": -rng.uniform(0, 1, n), "upper": rng.uniform(0, 1, n)}

    penalty = float(10.0 ** rng.uniform(-2, 1))
    A, b = rows(int(rng.integers(1, 4)))
    A_eq = rng.standard_normal((min(2, s), n))
    b_eq = A_eq @ sparse_point()
    other = np.random.default_rng([n, s, int(1e6 * penalty)])
    forced = other.choice(n, int(other.integers(0, s + 1)), replace=False)
    thresholds = {
        "lower": other.choice([0.0, 0.2, 0.5, -1.0], n),
        "upper": other.uniform(0.6, 1.2, n),
    }
    budget = {"A_eq": np.ones((1, n)), "b_eq": [1.0]}
    labels = other.integers(-1, 3, n)
    labels[0] = 2
    counts = np.bincount(labels[forced] + 1, minlength=4)[1:]
    groups = {"groups": labels, "group_sparsity": other.integers(0, 3, 3)}
    roomy = {"groups": labels, "group_sparsity": np.maximum(counts, 1)}
    # No more blocks than a sparsity can ask for; some of one variable.
    shared = {
        "blocks": np.append(np.arange(min(s + 1, n)), other.integers(0, n, n))[:n]
    }
    everything = {"penalty": penalty, "A": A, "b": b, "A_eq": A_eq[:1]}
    return {
        "penalty": {"penalty": penalty, "sparsity": None},
        "both": {"penalty": penalty},
        "bounds": box(),
        "positive": {"lower": np.zeros(n)},
        "forced in": {"forced_in": forced},
        "forced in, penalty": {"forced_in": forced, "penalty": penalty},
        "forced in, rows": {"forced_in": forced, "A": A, "b": b},
        "forced out": {"forced_out": np.setdiff1d(np.arange(0, n, 2), forced)},
        "two-sided rows": {
            "A": A,
            "b": b,
            "b_lower": b - other.choice([0.1, np.inf]),
        },
        "thresholds": thresholds,
        "thresholds, budget": {**thresholds, **budget},
        "thresholds, forced": {**thresholds, "forced_in": forced, "A": A, "b": b},
        "thresholds, penalty": {**thresholds, "penalty": penalty, "A": A, "b": b},
        "groups": groups,
        "groups alone": {**groups, "sparsity": None},
        "groups, rows": {**groups, "A": A, "b": b, **box()},
        "groups, thresholds": {**groups, **thresholds, **budget},
        "groups, forced": {**roomy, "forced_in": forced, "lower": np.zeros(n)},
        "groups, penalty": {**groups, "penalty": penalty, "A": A[:1], "b": b[:1]},
        "infeasible in groups": {
            **{"groups": np.arange(n) % 2, "group_sparsity": [1, 0], "lower": 0.0},
            **{"upper": 0.9, **budget},
        },
        "blocks": shared,
        "blocks, bounds": {**shared, **box()},
        "blocks, rows": {**shared, "A": A, "b": b, "lower": 0.0},
        "blocks, penalty": {**shared, "penalty": penalty, "A": A[:1], "b": b[:1]},
        "blocks, forced": {**shared, "forced_in": forced[:1], "A": A, "b": b, **box()},
        "infeasible in blocks": {
            **{"blocks": np.arange(n) // 2, "sparsity": 1, "lower": 0.0, "upper": 0.4},
            **budget,
        },
        "infeasible thresholds": {"lower": 0.6, "upper": 0.9, **budget},
        "rows": {"A": A, "b": b},
        "equality": {"A_eq": A_eq, "b_eq": b_eq},
        "rows+bounds": {"A": A, "b": b, **box()},
        "equality+penalty": {
            "A_eq": A_eq[:1],
            "b_eq": b_eq[:1],
            "penalty": penalty,
            "sparsity": None,
        },
        "nothing allowed": {"sparsity": 0},
        "everything allowed": {"sparsity": n},
        "infeasible": {"A": np.vstack([A[0], -A[0]]), "b": [-1.0, 0.5]},
        "infeasible at this sparsity": {
            "A_eq": np.ones((1, n)),
            "b_eq": [s + 0.5],
            "lower": -np.ones(n),
            "upper": np.ones(n),
        },
        "everything at once": {**everything, "b_eq": b_eq[:1], **box()},
    }.get(kind, {})


def rebuilt(problem, **changes):
    """The same problem from its arguments, some of them changed."""
    names = ("c", "eta", "sparsity", "penalty", "A", "b", "A_eq", "b_eq", "lower")
    names += ("upper", "forced_in", "forced_out", "groups", "group_sparsity")
    names += ("blocks", "constant")
    return SparseQP(problem.Q, **{k: getattr(problem, k) for k in names} | changes)


def enumerate_optimum(problem):
    """The optimal value and a support, by trying every support; inf if none."""
    best, best_support = np.inf, ()
    penalty = problem.penalty or 0.0
    if problem.blocks is not None:
        return enumerate_blocks(problem)
    most = problem.n if problem.sparsity is None else problem.sparsity
    # Without a penalty and thresholds, larger supports are never worse.
    is_monotone = penalty == 0 and (problem.lower <= 0).all()
    is_monotone = is_monotone and problem.groups is None
    allowed = np.setdiff1d(np.arange(problem.n), problem.forced_out)
    most = min(most, len(allowed))
    sizes = [most] if is_monotone else range(most + 1)
    for size in sizes:
        for support in itertools.combinations(allowed, size):
            if not is_allowed(problem, support):
                continue
            value = support_optimum(problem, list(support))
            if value + penalty * size < best:
                best, best_support = value + penalty * size, support
    return best, best_support


def enumerate_blocks(problem):
    """The same where variables share switches."""
    best, best_support = np.inf, ()
    fixed_out = set(problem.blocks[problem.forced_out])
    names = [b for b in np.unique(problem.blocks) if b not in fixed_out]
    most = len(names) if problem.sparsity is None else problem.sparsity
    for size in range(min(most, len(names)) + 1):
        for chosen in itertools.combinations(names, size):
            support = np.flatnonzero(np.isin(problem.blocks, chosen)).tolist()
            if not is_allowed(problem, support):
                continue
            value = support_optimum(problem, support) + (problem.penalty or 0.0) * size
            if value < best:
                best, best_support = value, tuple(support)
    return best, best_support


def is_allowed(problem, support):
    """Whether a support has what is forced in, and no group has too many."""
    if not set(problem.forced_in) <= set(support):
        return False
    if problem.groups is None:
        return True
    used = Counter(problem.groups[list(support)].tolist())
    return all(used[g] <= k for g, k in enumerate(problem.group_sparsity))


def support_optimum(problem, support):
    """The least objective, without penalty, of points that vanish off the support."""
    A, b, A_eq, b_eq = problem.A, problem.b, problem.A_eq, problem.b_eq
    G = problem.Q[np.ix_(support, support)] + np.diag(1.0 / problem.eta[support])
    c = problem.c[support]
    eye = np.eye(len(support))
    upper, lower = problem.upper[support], problem.lower[support]
    above, below = np.isfinite(upper), np.isfinite(lower)
    lhs = np.vstack(
        [A[:, support], A_eq[:, support], -A_eq[:, support], eye[above], -eye[below]]
    )
    rhs = np.concatenate([b, b_eq, -b_eq, upper[above], -lower[below]])
    if not support:
        return problem.constant if (rhs >= -1e-9).all() else np.inf
    center = -0.5 * np.linalg.solve(G, c)
    if len(rhs) == 0:
        return problem.constant + 0.5 * float(c @ center)
    root = np.linalg.cholesky(G).T
    # y = root (x - center); minimise |y|^2 subject to  M y >= q.
    M = -np.linalg.solve(root.T, lhs.T).T
    q = lhs @ center - rhs
    scale = np.maximum(np.linalg.norm(M, axis=1), 1e-300)
    M, q = M / scale[:, None], q / scale
    size = max(1.0, float(np.abs(q).max()))
    E = np.vstack([M.T, q / size])
    target = np.append(np.zeros(len(support)), 1.0)
    weights, _ = scipy.optimize.nnls(E, target, maxiter=10_000)
    residual = E @ weights - target
    if np.linalg.norm(residual) < 1e-7:
        return np.inf
    y = -size * residual[:-1] / residual[-1]
    return problem.constant + float(y @ y) + 0.5 * float(c @ center)
