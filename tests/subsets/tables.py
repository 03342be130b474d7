"""Small tables, and all of their subsets by NumPy's least squares."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np


@dataclass
class Table:
    """A small regression, and what is asked of its subsets."""

    X: np.ndarray
    y: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def labels(self):
        """What is chosen together."""
        blocks = self.options.get("blocks")
        return list(range(self.X.shape[1])) if blocks is None else blocks


KINDS = ("plain", "duplicate", "dependent", "weighted", "no intercept", "blocks", "in")


def random_table(seed: int, kind: str) -> Table:
    """A table of two to twelve columns."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 13 if seed % 10 == 0 else 9))
    N = n + int(rng.integers(3, 40))
    X = rng.standard_normal((N, n)) @ (np.eye(n) + 0.5 * rng.standard_normal((n, n)))
    X += rng.integers(-2, 3, n)
    coef = np.where(rng.random(n) < 0.5, 0.0, 1.0) / X.std(axis=0)
    y = 3.0 + X @ coef + rng.uniform(0.1, 2.0) * rng.standard_normal(N)
    options: dict[str, Any] = {}
    if kind == "duplicate":
        X[:, -1] = X[:, 0]
    elif kind == "dependent" and n > 2:
        X[:, -1] = X[:, 0] - 2.0 * X[:, 1]
    X *= 10.0 ** rng.integers(-3, 4, n)
    if kind == "weighted":
        options["sample_weight"] = rng.uniform(0.2, 3.0, N)
    elif kind == "no intercept":
        options["fit_intercept"] = False
    elif kind == "blocks":
        options["blocks"] = np.sort(rng.integers(0, max(n // 2, 2), n)).tolist()
    elif kind == "in":
        options["always_include"] = [int(rng.integers(n))]
    return Table(X, y, options)


def enumerated(
    table: Table, most: int | None = None
) -> dict[int, list[tuple[float, tuple[int, ...]]]]:
    """Sums of squares and columns of all subsets by size, the best first.

    Those with dependent columns are left out: each is a smaller one in disguise.
    """
    X, y, options = table.X, table.y, table.options
    root = np.sqrt(options.get("sample_weight", np.ones(len(y))))
    if options.get("fit_intercept", True):
        share = root**2 / (root**2).sum()
        X, y = X - share @ X, y - share @ y
    X, y = root[:, None] * X, root * y
    X = X / np.sqrt((X**2).sum(axis=0))
    labels, inside = np.array(table.labels), set(options.get("always_include", ()))
    units = sorted(set(labels.tolist()))
    found: dict[int, list[tuple[float, tuple[int, ...]]]] = {}
    for size in range((most or len(units)) + 1):
        rows = []
        for chosen in combinations(units, size):
            support = np.flatnonzero(np.isin(labels, chosen))
            coef, _, rank, _ = np.linalg.lstsq(X[:, support], y, rcond=1e-9)
            if rank == len(support) and inside <= set(support.tolist()):
                residual = y - X[:, support] @ coef
                rows.append((float(residual @ residual), tuple(support.tolist())))
        if rows:
            found[size] = sorted(rows)
    return found
