"""Supports whose exact value is cheap: the last slots are filled by trying them all."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import UNIT_ROUNDOFF, FloatArray, IntArray
from cardqp.certificate.completions import gain_error
from cardqp.heuristics.settings import DEFAULT, HeuristicSettings
from cardqp.problem import SparseQP
from cardqp.relaxation.completion import best_completion

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Supports:
    """The values of supports of a free problem.

    Attributes
    ----------
    G : (n, n) array
        ``Q`` with the ridge on its diagonal.
    c : (n,) array
        The slope.
    constant : float
        The objective at zero.
    error : float
        How much larger, relatively, a gain may be than computed.
    """

    G: FloatArray
    c: FloatArray
    constant: float
    error: float

    @classmethod
    def of(
        cls, problem: SparseQP, settings: HeuristicSettings = DEFAULT
    ) -> "Supports | None":
        """The supports of a problem.

        None if it has rows, bounds or a penalty, or is too large or too badly
        conditioned.
        """
        is_plain = problem.is_unconstrained and problem.rule.penalty == 0
        if not is_plain or problem.n > settings.max_completion_variables:
            return None
        G = problem.quadratic.dense().copy()
        G[np.diag_indices(problem.n)] += problem.ridge
        error = gain_error(problem, problem.rule.limit)
        if not error < settings.max_completion_error:
            return None
        return cls(G, problem.c.copy(), problem.constant, error)

    def best(
        self, fixed_in: IntArray, free: IntArray, remaining: int
    ) -> tuple[float, IntArray]:
        """A bound on all supports of a branch, and the best of them."""
        if remaining <= 0:
            free = _NONE
        elif len(free) <= remaining:
            fixed_in, free, remaining = np.concatenate([fixed_in, free]), _NONE, 0
        gain, chosen = best_completion(
            self.G, self.c, fixed_in, free, max(remaining, 0)
        )
        bound = self.constant - gain * (1.0 + 2.0 * self.error)
        bound -= 8 * UNIT_ROUNDOFF * (abs(self.constant) + gain)
        return bound, np.sort(np.concatenate([fixed_in, chosen]))

    def is_fine(self, bound: float, tolerance: float) -> bool:
        """Whether the error in a bound is small."""
        loss = 2.0 * self.error * abs(bound - self.constant)
        return bool(np.isfinite(bound) and loss <= tolerance)

    def estimate(self, support: IntArray) -> float:
        """The objective of the best point on a support, about."""
        gain, _ = best_completion(self.G, self.c, support, _NONE, 0)
        return self.constant - gain
