"""The base of all answers about weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.exceptions import BackendNotFoundError
from cardqp.solution import Solution, Status


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

    def named(self) -> dict[str, float]:
        """The nonzero weights by name, largest first."""
        weights = self.weights
        if weights is None:
            return {}
        order = np.argsort(-np.abs(weights), kind="stable")
        return {self.names[j]: float(weights[j]) for j in order if weights[j] != 0}

    def to_series(self) -> Any:
        """All weights as a pandas Series; NaN if there are none."""
        try:
            import pandas as pd
        except ImportError as err:
            raise BackendNotFoundError(
                "`to_series` needs pandas: install it with `pip install pandas`, or "
                "use `named`."
            ) from err
        weights = np.full(len(self.names), np.nan)
        found = self.weights
        return pd.Series(
            weights if found is None else found, index=self.names, name="weight"
        )


def describe(allocation: Allocation, figures: Mapping[str, float]) -> str:
    """A few lines for people: status, figures and nonzero weights."""
    solution = allocation.solution
    lines = [f"{solution.status.name}: {solution.status.value}"]
    proof = ("objective", "lower_bound", "gap")
    numbers = dict(figures) | {name: getattr(solution, name) for name in proof}
    lines += [f"  {name.replace('_', ' '):<18}{v:12.6g}" for name, v in numbers.items()]
    held = allocation.named()
    if held:
        width = max(18, *(len(name) + 2 for name in held))
        lines += [f"{len(held)} of {len(allocation.names)} assets:"]
        lines += [f"  {name:<{width}}{weight:12.4%}" for name, weight in held.items()]
    return "\n".join(lines)
