"""The base of all answers about weights."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import BackendNotFoundError
from cardqp.solution import Solution, Status
from cardqp.solution.reason import Words, why_infeasible


@dataclass(frozen=True, eq=False, repr=False)
class Allocation:
    """Weights of assets with a proof of how good they are.

    Attributes
    ----------
    names : tuple of str
        Names of all assets.
    solution : Solution
        The answer of :func:`cardqp.solve`, with its certificate and
        ``solution.verify()``.
    """

    _figures: ClassVar[tuple[str, ...]]
    """Numbers about the weights that a summary has, where they are known."""

    _main: ClassVar[tuple[str, ...]]
    """The most important of these."""

    names: tuple[str, ...]
    solution: Solution

    @property
    def weights(self) -> FloatArray | None:
        """The weight of each asset; None if no feasible portfolio was found."""
        x = self.solution.x
        return None if x is None else x[: len(self.names)].copy()

    @property
    def objective(self) -> float:
        """The value of the objective, ridge included; infinite without weights."""
        return self.solution.objective

    @property
    def lower_bound(self) -> float:
        """No portfolio that meets the constraints has a smaller objective."""
        return self.solution.lower_bound

    @property
    def gap(self) -> float:
        """``(objective - lower_bound) / |objective|``."""
        return self.solution.gap

    @property
    def status(self) -> Status:
        """Whether the answer is proved optimal, feasible, impossible or not known."""
        return self.solution.status

    @property
    def _words(self) -> Words:
        """How the rows of the problem, and what it chooses, are called."""
        raise NotImplementedError

    @property
    def reason(self) -> str:
        """Why no weights meet the limits: see :attr:`cardqp.Solution.reason`."""
        is_empty = self.status is Status.INFEASIBLE
        return why_infeasible(self.solution.problem, self._words) if is_empty else ""

    def named(self) -> dict[str, float]:
        """The nonzero weights by name, largest first."""
        weights = self.weights
        if weights is None:
            return {}
        order = np.argsort(-np.abs(weights), kind="stable")
        return {self.names[j]: float(weights[j]) for j in order if weights[j] != 0}

    def summary(self) -> str:
        """Status, figures and weights in a few lines."""
        solution = self.solution
        reason = self.reason
        lines = [f"{solution.status.name}: {solution.status.value}"]
        lines += [f"reason: {reason}"] if reason else []
        figures = {name: getattr(self, name) for name in self._figures}
        numbers = {name: v for name, v in figures.items() if not np.isnan(v)}
        for name in ("objective", "lower_bound", "gap"):
            numbers[name] = getattr(solution, name)
        lines += [
            f"  {name.replace('_', ' '):<18}{v:12.6g}" for name, v in numbers.items()
        ]
        held = self.named()
        if held:
            width = max(18, *(len(name) + 2 for name in held))
            lines += [f"{len(held)} of {len(self.names)} assets:"]
            lines += [f"  {name:<{width}}{w:12.4%}" for name, w in held.items()]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        main = "".join(f"{name}={getattr(self, name):.6g}, " for name in self._main)
        return (
            f"{type(self).__name__}({self.status.name}, {main}gap={self.gap:.2e}, "
            f"assets={list(self.named())})"
        )

    def to_series(self) -> Any:
        """All weights as a pandas Series; NaN if there are none."""
        try:
            import pandas as pd
        except ImportError as err:
            raise BackendNotFoundError(
                "`to_series` needs pandas: install it with `pip install pandas`, or "
                "use `named`."
            ) from err
        weights = np.nan if self.weights is None else self.weights
        return pd.Series(weights, index=self.names, name="weight")
