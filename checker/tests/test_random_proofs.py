"""Proofs of random numbers: whatever a file says, nothing false follows from it."""

import numpy as np
import pytest

cardqp = pytest.importorskip("cardqp")

from tests.problems import KINDS, enumerate_optimum, random_problem  # noqa: E402

from cardqp_check import check  # noqa: E402
from cardqp_check.archives import Archive  # noqa: E402
from cardqp_check.problem import read_problem  # noqa: E402
from cardqp_check.tree_arrays import (  # noqa: E402
    COMPLETED,
    CUT_OFF,
    FULL,
    INHERITED,
    PENALISED,
    POINT,
    SEARCHED,
)

NONE = np.zeros(0, np.int64)
DEEPEST = 4


class Forger:
    """What makes up proofs of a problem that keep to the format, mostly.

    ``status`` is that of the variables that are left, as far as it is known: 1 for
    those that are in, -1 for those that are out, 0 for free ones.
    """

    def __init__(self, problem, optimum, rng):
        self.rng, self.rule, self.rows = rng, problem.rule, problem.rows
        self.near = optimum if np.isfinite(optimum) else 0.0
        self.c = np.array([float(e) for e in problem.c.entries()])
        Q = problem.Q
        if Q is None:
            F = problem.columns.take(slice(None))
            Q = float(problem.multiplier) * (F.T @ F)
        self.G = Q + np.diag([float(w) for w in problem.ridge])
        self.status = problem.status().astype(int)
        self.status[problem.forced_out] = -1
        self.status = self.whole(self.status)
        self.is_scaled = problem.target is not None
        self.arrays, self.records, self.clusters = {}, [], []

    def may(self, share):
        return self.rng.random() < share

    def whole(self, status):
        return self.rule.whole(status.astype(np.int8)).astype(int)

    def number(self):
        """A number near the truth."""
        return self.near + self.rng.normal() * 10.0 ** self.rng.integers(-3, 2)

    def point(self, status):
        """A point that may be best on its support, multipliers, and a scale."""
        size = int(self.rng.integers(0, (status >= 0).sum() + 1))
        S = self.rng.permutation(np.flatnonzero(status >= 0))[:size]
        a = np.linalg.lstsq(self.G[np.ix_(S, S)], -self.c[S] / 2, rcond=None)[0]
        a *= self.rng.choice([1.0, 1.0, 0.7])
        beta = self.rng.normal(size=len(self.rows.b)) * self.rng.choice([0.0, 0.3, 3.0])
        scale = self.rng.choice([1.0, 0.5, 0.0, 1.2]) if self.is_scaled else 1.0
        return S, a, beta, scale

    def proof(self):
        """The arrays of a proof."""
        count = int(self.rng.integers(0, 4))
        self.arrays["root.count"] = np.array(count)
        for k in range(count):
            self.step(f"root.{k}.", self.may(0.15) and k == count - 1)
        self.tree()
        return self.arrays

    def step(self, name, is_cut_off):
        keys = ("index", "value", "beta", "scale")
        numbers = map(np.asarray, self.point(self.status))
        self.arrays |= {
            name + key: part for key, part in zip(keys, numbers, strict=True)
        }
        if is_cut_off:
            self.arrays[name + "cutoff"] = np.array(self.number())
            return
        free = self.rng.permutation(np.flatnonzero(self.status == 0))
        fixed = free[: 1 if self.rule.blocks is not None else self.rng.integers(0, 3)]
        is_in = self.rng.random(len(fixed)) < 0.3
        self.arrays[name + "fixed_in"] = fixed[is_in]
        self.arrays[name + "fixed_out"] = fixed[~is_in]
        self.status[fixed] = np.where(is_in, 1, -1)
        self.status = self.whole(self.status)
        if self.may(0.6):
            self.rewrite(name)

    def rewrite(self, name):
        """Keep what is left, and rewrite the view."""
        kept = self.rng.permutation(np.flatnonzero(self.status >= 0))
        n, self.arrays[name + "kept"] = len(kept), kept
        self.status, self.c = self.status[kept], self.c[kept]
        self.rule, self.G = self.rule.restrict(kept), self.G[np.ix_(kept, kept)]
        diagonal = np.diagonal(self.G)
        if self.may(0.2):
            self.arrays[name + "drops_bounds"] = np.array(True)
        if self.may(0.4):
            shift = self.rng.uniform(-0.1, 0.6) * diagonal
            self.arrays[name + "diagonal_shift"] = shift
            self.is_scaled = False
        if self.may(0.5):
            self.is_scaled = False
            P = self.rng.choice([0.3, 0.9, 1.0]) * self.G
            P -= np.diag(self.rng.uniform(0.0, 0.5) * diagonal)
            self.arrays[name + "minorant"] = P
            self.arrays[name + "weights"] = self.rng.uniform(0.5, 2.0, n)
            if self.rows.b[self.rows.n_inequalities :].any() and self.may(0.5):
                self.arrays[name + "row_shift"] = 0.1 * self.rng.normal(size=n)

    def tree(self):
        """Nodes whose children stand at the end, as they are made."""
        waiting, nodes = [(self.status, 0)] if self.may(0.9) else [], []
        while len(nodes) < len(waiting):
            status, depth = waiting[len(nodes)]
            kind, variable, children, record = self.node(status, depth)
            first = len(waiting) if children else 0
            number = len(self.records) if record else -1
            self.records += [record] if record else []
            nodes.append((kind, variable, first, number))
            waiting += [(child, depth + 1) for child in children]
        table = np.array(nodes, int).reshape(-1, 4).T
        arrays = dict(zip(("kind", "branch", "child", "record"), table, strict=True))
        index, value, beta, scale, fixed = (
            zip(*self.records, strict=True) if (self.records) else ((),) * 5
        )
        arrays["beta"] = np.array(beta, float).reshape(len(beta), len(self.rows.b))
        arrays["scale"] = np.array(scale, float)
        arrays["value"] = np.concatenate([np.zeros(0), *value])
        for end, key, parts in (
            ("point_end", "index", index),
            ("fixed_end", "fixed", fixed),
            ("cluster_end", "cluster", self.clusters),
        ):
            arrays[end] = np.cumsum([0, *map(len, parts)])[1:]
            arrays[key] = np.concatenate([NONE, *parts])
        self.arrays |= {f"tree.{key}": array for key, array in arrays.items()}

    def node(self, status, depth):
        """Kind, variable, branches of the children, and the record of a node."""
        free = self.rng.permutation(np.flatnonzero(status == 0))
        kind, variable, children = int(self.rng.integers(0, 8)), -1, []
        record = [*self.point(status), NONE]
        places = self.rule.limit - int((status > 0).sum())
        if kind == PENALISED:
            if self.rule.blocks is not None or not 1 <= places < min(4, len(free)):
                return INHERITED, -1, [], None
            listed = [self.rng.permutation(free)[:places] for _ in range(depth, 2)]
            record[3:] = 1.0, np.concatenate([NONE, *listed]) + 1
            for support in listed:
                children.append(np.where(status > 0, 1, -1))
                children[-1][support] = 0
        elif kind in (INHERITED, POINT, FULL) and depth < DEEPEST and len(free):
            if kind != INHERITED and self.may(0.4):
                sign = int(self.rng.choice([1, -1]))
                record[4] = np.array([sign * (free[0] + 1)])
                status = self.decided(status, free[:1], sign)
            variable, children = self.children(status)
        elif kind in (SEARCHED, CUT_OFF):
            numbers = np.array([self.number(), 5.0][: 8 - kind])
            record[:2] = np.zeros(len(numbers), int), numbers
        return kind, variable, children, record if kind not in (0, COMPLETED) else None

    def decided(self, status, variables, value):
        status = status.copy()
        status[variables] = value
        return self.whole(status)

    def children(self, status):
        free = self.rng.permutation(np.flatnonzero(status == 0))
        if len(free) == 0 or self.may(0.1):
            return -1, [status]
        if self.may(0.3) and self.rule.groups is None and self.rule.blocks is None:
            self.clusters.append(free[: self.rng.integers(1, 4)])
            out = self.decided(status, self.clusters[-1], -1)
            return -1 - len(self.clusters), [status, out]
        j = free[:1]
        return int(j[0]), [self.decided(status, j, value) for value in (1, -1)]


def proved(paths, problem, optimum, seed):
    """What random proofs prove, those that are refused left out."""
    rng = np.random.default_rng(seed)
    problem.save(paths[0])
    read = read_problem(Archive(paths[0]))
    claims = {"format": "cardqp-solution-2", "problem_digest": read.digest}
    claims |= {"objective": np.inf, "gap": np.inf, "tolerance": 0.0}
    claims |= {"lower_bound": np.inf, "status": "UNKNOWN"}
    claims = {key: np.array(claim) for key, claim in claims.items()}
    for _ in range(12):
        np.savez(paths[1], **claims | Forger(read, optimum, rng).proof())
        yield check(*paths).lower_bound


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seed", [3, *(pytest.param(k, marks=pytest.mark.slow) for k in (4, 5))]
)
def test_nothing_false_is_proved(tmp_path, kind, seed):
    problem = random_problem(kind, seed)
    optimum, _ = enumerate_optimum(problem)
    paths = tmp_path / "problem.npz", tmp_path / "run.npz"
    more = optimum + 1e-9 * max(1.0, abs(optimum))
    for bound in proved(paths, problem, optimum, seed):
        assert bound <= more
