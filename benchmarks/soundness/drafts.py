"""Random data around a point that is feasible unless a feature breaks it."""

from typing import Any

import numpy as np

GREY = 1e-9
"""How much some contradictions contradict: less than the tolerance allows for."""

MARKS = {
    *("sparsity", "integers", "negative", "weak", "mixed", "no_ridge", "some_ridge"),
    *("wide", "long", "clusters", "streamed", "stopped"),
}
"""Features that change how others are drawn."""


class Draft:
    """A problem in ordinary units, to which features are added one after the other."""

    def __init__(self, rng: np.random.Generator, features: tuple[str, ...]) -> None:
        self.rng, self.features = rng, features
        self.n = n = self._draw_size()
        self.is_whole = "integers" in features or rng.random() < 0.35
        self.has_binary_units = False
        self.F = self._numbers((n + 2, n))
        self.c = self._numbers(n) * 2
        self.settings: dict[str, Any] = {}
        self.form = "factor" if rng.random() < 0.2 else "matrix"
        self._draw_point()
        self._draw_limits()
        for feature in features:
            if feature not in MARKS:
                getattr(self, f"_add_{feature}")()
        self._draw_ridge()

    def _draw_size(self) -> int:
        """Number of variables."""
        return int(self.rng.choice(8, p=np.array([1, 2, 3, 3, 3, 2, 1, 1]) / 16)) + 1

    def _draw_count(self, most: int) -> int:
        """How many switches are on at the point."""
        return int(self.rng.integers(0, most + 1))

    def _numbers(self, shape: Any) -> np.ndarray:
        """Floats, or small integers whose sums have no rounding."""
        if self.is_whole:
            return self.rng.integers(-3, 4, shape).astype(float)
        return self.rng.standard_normal(shape)

    def _draw_point(self) -> None:
        """The point; blocks first, as they are zero together."""
        rng, n = self.rng, self.n
        self.blocks = np.arange(n)
        if "blocks" in self.features:
            self.blocks = rng.integers(0, max(1, n // 2) + 1, n)
        names = np.unique(self.blocks)
        self.n_switches = len(names)
        self.n_on = self._draw_count(len(names))
        on = np.isin(self.blocks, rng.permutation(names)[: self.n_on])
        size = rng.integers(1, 5, n) / 4 if self.is_whole else rng.uniform(0.2, 1.2, n)
        sign = rng.choice([-1.0, 1.0], n)
        if {"positive", "thresholds", "budget"} & set(self.features):
            sign = np.ones(n)
        if "negative" in self.features:
            sign = -np.ones(n)
        self.point = np.where(on, size * sign, 0.0)

    def _draw_limits(self) -> None:
        rng = self.rng
        if "penalty" not in self.features or "sparsity" in self.features:
            most = int(rng.integers(self.n_on, self.n_switches + 1))
            self.settings["sparsity"] = min(most, self.n_on + 2)
        self.settings["constant"] = float(rng.choice([0.0, 0.0, 3.0, -7.5, 20.0, 1e6]))

    def _add_penalty(self) -> None:
        self.settings["penalty"] = float(
            self.rng.choice(
                [0.0, 0.5, 10.0 ** self.rng.uniform(-3, 1)], p=[0.1, 0.2, 0.7]
            )
        )

    def _add_no_sparsity(self) -> None:
        del self.settings["sparsity"]

    def _add_nothing(self) -> None:
        self.point[:] = 0.0
        self.settings["sparsity"] = 0

    def _add_everything(self) -> None:
        self.settings["sparsity"] = self.n

    def _add_bounds(self) -> None:
        rng, n = self.rng, self.n
        slack = rng.choice([0.0, 0.5, 1.0, np.inf], (2, n), p=[0.15, 0.35, 0.35, 0.15])
        self.settings["lower"] = np.minimum(self.point, 0.0) - slack[0]
        self.settings["upper"] = np.maximum(self.point, 0.0) + slack[1]

    def _add_boxed(self) -> None:
        """Finite bounds."""
        slack = self.rng.choice([0.0, 0.5, 1.0], (2, self.n), p=[0.2, 0.4, 0.4])
        self.settings["lower"] = np.minimum(self.point, 0.0) - slack[0]
        self.settings["upper"] = np.maximum(self.point, 0.0) + slack[1]

    def _add_positive(self) -> None:
        self.settings["lower"] = np.zeros(self.n)
        if self.rng.random() < 0.3:
            self.settings["upper"] = np.maximum(self.point, 0.5)

    def _add_cone(self) -> None:
        """Signs, and no other bounds."""
        self.settings["lower"] = np.where(self.rng.random(self.n) < 0.7, 0.0, -np.inf)

    def _add_thresholds(self) -> None:
        """Zero, or beyond a threshold; on either side."""
        rng, n = self.rng, self.n
        share = rng.choice([0.0, 0.5, 1.0], n, p=[0.2, 0.5, 0.3])
        near = np.where(self.point != 0, np.abs(self.point), rng.uniform(0.2, 0.8, n))
        near, far = share * near, np.maximum(near, rng.choice([1.0, 1.5, np.inf], n))
        if "negative" in self.features:
            near, far = -far, -near
        self.settings |= {"lower": near, "upper": far}

    def _add_rows(self) -> None:
        rng = self.rng
        A = self._some_rows(int(rng.integers(1, 4)))
        slack = rng.choice([0.0, 0.25, 1.0], len(A), p=[0.3, 0.4, 0.3])
        self._append("A", "b", A, A @ self.point + slack)

    def _add_two_sided(self) -> None:
        rng = self.rng
        A = self._some_rows(int(rng.integers(1, 3)))
        width = rng.choice(
            [0.0, 0.25, 0.5, np.inf], (2, len(A)), p=[0.2, 0.3, 0.3, 0.2]
        )
        self.settings |= {"A": A, "b": A @ self.point + width[0]}
        self.settings["b_lower"] = A @ self.point - width[1]

    def _add_equalities(self) -> None:
        """No more than there are nonzeros: with more, rounding would contradict."""
        most = max(1, min(2, self.n_on))
        A = self._some_rows(int(self.rng.integers(1, most + 1)))
        self._append("A_eq", "b_eq", A, A @ self.point)

    def _add_any_rows(self) -> None:
        """Rows that need not hold anywhere."""
        A = self._some_rows(int(self.rng.integers(2, 5)))
        self._append("A", "b", A, self._numbers(len(A)) - 1)

    def _add_any_equalities(self) -> None:
        A = self._some_rows(int(self.rng.integers(1, 3)))
        self._append("A_eq", "b_eq", A, self._numbers(len(A)))

    def _add_budget(self) -> None:
        A = np.ones((1, self.n))
        self._append("A_eq", "b_eq", A, A @ self.point)

    def _some_rows(self, count: int) -> np.ndarray:
        """Rows some of whose entries are zero, now and then all."""
        A = self._numbers((count, self.n))
        return A * (self.rng.random(A.shape) < self.rng.choice([0.5, 1.0]))

    def _append(self, matrix: str, rhs: str, A: np.ndarray, b: np.ndarray) -> None:
        known = self.settings.get(matrix)
        self.settings[matrix] = A if known is None else np.vstack([known, A])
        self.settings[rhs] = np.append(self.settings.get(rhs, []), b)

    def _add_again(self) -> None:
        """Rows a second time: as they are, doubled, or with two signs."""
        factor = float(self.rng.choice([1.0, 2.0, 0.5]))
        for matrix, rhs in (("A", "b"), ("A_eq", "b_eq")):
            if matrix in self.settings:
                A, b = self.settings[matrix], self.settings[rhs]
                sign = -1.0 if matrix == "A_eq" and self.rng.random() < 0.5 else 1.0
                self._append(matrix, rhs, sign * factor * A, sign * factor * b)

    def _add_contradiction(self) -> None:
        """A row that cannot hold with the first one.

        Rounding would make it not quite parallel, and leave points very far away.
        """
        self.has_binary_units = True
        by = float(self.rng.choice([1.0, 0.1, 1e-3, GREY], p=[0.4, 0.3, 0.2, 0.1]))
        if "A_eq" in self.settings:
            A, b = self.settings["A_eq"][:1], self.settings["b_eq"][:1]
            self._append("A_eq", "b_eq", A, b + by * (np.abs(b) + 1))
        else:
            A, b = self.settings["A"][:1], self.settings["b"][:1]
            self._append("A", "b", -A, -b - by * (np.abs(b) + 1))

    def _add_too_few(self) -> None:
        n, s = self.n, self.settings["sparsity"]
        self.settings |= {"lower": -np.ones(n), "upper": np.ones(n)}
        self._append("A_eq", "b_eq", np.ones((1, n)), np.array([s + 0.5]))

    def _add_impossible_thresholds(self) -> None:
        self.settings |= {"lower": np.full(self.n, 0.6), "upper": np.full(self.n, 0.9)}
        self._append("A_eq", "b_eq", np.ones((1, self.n)), np.ones(1))

    def _add_forced(self) -> None:
        """Some of what is on at the point, and some of what is off; not all blocks."""
        on = np.flatnonzero(self.point)
        off = np.flatnonzero(np.isin(self.blocks, self.blocks[on], invert=True))
        for name, some in (("forced_in", on), ("forced_out", off)):
            count = int(self.rng.integers(0, len(some) + 1))
            self.settings[name] = np.sort(self.rng.permutation(some)[:count])

    def _add_groups(self) -> None:
        labels = self.rng.integers(-1, 3, self.n)
        used = np.bincount(labels[self.point != 0] + 1, minlength=4)[1:]
        more = self.rng.choice([0, 0, 1], 3)
        self.settings |= {"groups": labels, "group_sparsity": used + more}

    def _add_blocks(self) -> None:
        self.settings["blocks"] = self.blocks

    def _add_zero(self) -> None:
        self.F = np.zeros((1, self.n))

    def _add_hollow(self) -> None:
        """Columns that only the ridge curves; now and then all others are apart."""
        if self.rng.random() < 0.5:
            self.F = np.diag(self.rng.integers(-3, 4, self.n).astype(float))
        else:
            self.F[:, self.rng.random(self.n) < 0.6] = 0.0

    def _add_deficient(self) -> None:
        """Fewer rows than columns; mostly integers, so that ``F'F`` is as deficient."""
        self.is_whole = self.is_whole or self.rng.random() < 0.7
        self.F = self._numbers((int(self.rng.integers(1, max(self.n, 2))), self.n))

    def _add_duplicated(self) -> None:
        """Two columns that are the same in the objective, often in integers."""
        self.is_whole = True
        self.F = self._numbers((self.n + 1, self.n))
        self.F[:, -1] = self.F[:, 0]
        self.c[-1] = self.c[0]

    def _add_in_range(self) -> None:
        """A linear cost that is flat where the form is: there is a least objective."""
        self.c = -2.0 * self.F.T @ self._numbers(len(self.F))

    def _add_tied(self) -> None:
        """Variables that cannot be told apart."""
        self.F = np.vstack([np.ones((1, self.n)), 2.0 * np.eye(self.n)])
        self.c[:] = self.c[0]

    def _add_factor(self) -> None:
        self.form = "factor"

    def _add_factor_model(self) -> None:
        self.form = "factor model"
        self.F = self._numbers((2, self.n))

    def _add_regression(self) -> None:
        self.form = "regression"
        self._draw_data()

    def _add_data(self) -> None:
        self.form = "data"
        self._draw_data()

    def _draw_data(self) -> None:
        N = int(self.rng.integers(2, 13))
        self.F = self._numbers((N, self.n))
        noise = self.rng.choice([0.0, 0.1, 1.0])
        self.y = self.F @ self.point + noise * self._numbers(N)

    def _add_far(self) -> None:
        """Rows hold only at points that are large, and the objective is as it was."""
        reach = 10.0 ** self.rng.uniform(2, 14)
        for name in ("A", "A_eq"):
            if name in self.settings:
                self.settings[name] = self.settings[name] / reach
        for name in ("lower", "upper"):
            if name in self.settings:
                self.settings[name] = self.settings[name] * reach

    def _draw_ridge(self) -> None:
        rng = self.rng
        low, high = (-1, 2) if rng.random() < 0.4 else (-6, 14)
        if "weak" in self.features:
            low, high = 5, 14
        eta = 10.0 ** rng.uniform(low, high)
        if rng.random() < 0.3:
            eta = 2.0 ** round(np.log2(eta))
        if rng.random() < 0.4:
            eta = eta * 10.0 ** rng.uniform(-1, 1, self.n)
        self.eta = np.full(self.n, eta)
        if "no_ridge" in self.features:
            self.eta[:] = np.inf
        if "some_ridge" in self.features:
            self.eta[rng.random(self.n) < 0.6] = np.inf
