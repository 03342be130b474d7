"""Problems of a dozen variables whose columns are correlated: there are trees."""

import numpy as np

from benchmarks.soundness.drafts import Draft


class WideDraft(Draft):
    """More variables, of which few are nonzero, and a ridge that may be weak."""

    def _draw_size(self) -> int:
        low = 12 if "long" in self.features else 8
        return int(self.rng.integers(low, 15))

    def _draw_count(self, most: int) -> int:
        low, high = (5, 7) if "long" in self.features else (2, 6)
        return min(int(self.rng.integers(low, high + 1)), most)

    def _draw_limits(self) -> None:
        super()._draw_limits()
        if "sparsity" in self.settings:
            more = int(self.rng.random() < 0.3)
            self.settings["sparsity"] = min(self.n_on + more, self.n_switches)

    def _add_correlated(self) -> None:
        """Columns made of a few common ones, and of something of their own."""
        n, rng = self.n, self.rng
        common = self._numbers((n + 3, int(rng.integers(2, 5))))
        own = rng.choice([0.0625, 0.25, 0.5]) * self._numbers((n + 3, n))
        self._set_columns(common @ self._numbers((common.shape[1], n)) + own)

    def _add_local(self) -> None:
        """Columns that are correlated with their neighbours."""
        n = self.n
        share = self.rng.uniform(0.6, 0.95)
        C = share ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        noise = self.rng.standard_normal((n + 6, n))
        self._set_columns(noise @ np.linalg.cholesky(C).T)

    def _add_dependent(self) -> None:
        """Columns of small integers, more of them than rows."""
        self.is_whole = True
        rows = int(self.rng.integers(3, self.n))
        self._set_columns(self._numbers((rows, self.n)))

    def _add_table(self) -> None:
        """Data with local correlation, for regressions."""
        self._add_local()
        self.form = "data"
        if self.rng.random() < 0.3:
            self.F = self.F[: int(self.rng.integers(4, len(self.F)))]
        self.y = self._target()

    def _set_columns(self, F: np.ndarray) -> None:
        """A form, and the cost of a regression with it.

        With the constant that makes the objective a sum of squares, gaps are large.
        """
        self.F = F
        y = self._target()
        self.c = -2.0 * F.T @ y
        if self.rng.random() < 0.8:
            self.settings["constant"] = float(y @ y)

    def _target(self) -> np.ndarray:
        noise = self.rng.choice([0.0, 0.25, 1.0, 4.0], p=[0.05, 0.15, 0.4, 0.4])
        return self.F @ self.point + noise * self._numbers(len(self.F))

    def _add_far_bounds(self) -> None:
        """Bounds that no good point is near."""
        self.settings["lower"] = np.full(self.n, -8.0)
        self.settings["upper"] = np.full(self.n, 8.0)

    def _add_tracking(self) -> None:
        """Follow an index with few of its shares."""
        rng, n = self.rng, self.n
        self.point = np.abs(self.point)
        weights = rng.dirichlet(np.ones(n))
        target = self.F @ weights
        self.c = -2.0 * self.F.T @ target
        self.settings["constant"] = float(target @ target)
        self.settings |= {"lower": np.zeros(n), "A_eq": np.ones((1, n)), "b_eq": [1.0]}

    def _draw_ridge(self) -> None:
        super()._draw_ridge()
        eta = 10.0 ** self.rng.uniform(0, 9)
        curvature = np.maximum((self.F**2).sum(axis=0), 1e-3)
        self.eta = np.where(np.isinf(self.eta), np.inf, eta / curvature)
