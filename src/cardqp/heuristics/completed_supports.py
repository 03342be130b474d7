"""The best completion of a support, where the last variables can be enumerated."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.arithmetic.rounding import COMPLETION_UNIT
from cardqp.bounds.penalised_rows import PenalisedRows
from cardqp.certificate.completions import completion_bound, gain_error
from cardqp.certificate.strong_parts import cut_off_bound
from cardqp.heuristics.settings import DEFAULT, HeuristicSettings
from cardqp.problem import SparseQP
from cardqp.relaxation.completion import best_completion, list_completions
from cardqp.relaxation.strong_pairs import best_beyond

_NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Supports:
    """The optimal values of supports, for a problem without rows and bounds.

    Attributes
    ----------
    G : (n, n) array
        ``Q`` with the ridge on its diagonal.
    c : (n,) array
        The linear cost.
    constant : float
        The objective at zero.
    error : float
        By how much, relatively, a gain may be larger than computed.
    dependent : SparseQP or None
        The problem, if supports with dependent columns do not count.  A replay, which
        adds up in another order, may find such a one to gain more: it is asked, then.
    """

    G: FloatArray
    c: FloatArray
    constant: float
    error: float
    dependent: SparseQP | None = None

    @classmethod
    def of(
        cls, problem: SparseQP, settings: HeuristicSettings = DEFAULT
    ) -> "Supports | None":
        """Prepare a problem.

        Returns None if it has rows, bounds or a penalty, or is too large or too badly
        conditioned.
        """
        is_plain = problem.is_unconstrained and problem.rule.penalty == 0
        if not is_plain or problem.n > settings.max_completion_variables:
            return None
        G = problem.quadratic.dense().copy()
        G[np.diag_indices(problem.n)] += problem.ridge
        # A weak ridge makes gains ill-conditioned; the checker has the same margin.
        error = gain_error(problem, problem.rule.limit)
        if not error < settings.max_completion_error:
            return None
        dependent = problem if problem.independence > 0.0 else None
        return cls(G, problem.c.copy(), problem.constant, error, dependent)

    def best(
        self, fixed_in: IntArray, free: IntArray, remaining: int
    ) -> tuple[float, IntArray]:
        """A lower bound on all supports of a node, and the best of them.

        Of more free variables than remain to be chosen these may be two at most.
        """
        replayed = np.inf
        if self.dependent is not None:
            replayed = completion_bound(
                self.dependent, fixed_in, free, remaining, self.error
            )
        if remaining <= 0:
            free = _NONE
        elif len(free) <= remaining:
            fixed_in, free, remaining = np.concatenate([fixed_in, free]), _NONE, 0
        gain, chosen = best_completion(
            self.G, self.c, fixed_in, free, max(remaining, 0)
        )
        bound = min(self._bound(gain), replayed)
        return bound, np.sort(np.concatenate([fixed_in, chosen]))

    def best_below(
        self, cutoff: float, fixed_in: IntArray, free: IntArray, remaining: int
    ) -> tuple[float, IntArray | None] | None:
        """A lower bound on all supports of a node, and the best of them.

        If none is below the cutoff, the bound is the cutoff, without a support.  None
        if there are too many to be tried; ``remaining`` is 3 or 4.
        """
        # The largest gain that leaves the cutoff, with twice the margins of a replay.
        margin = 4.0 * COMPLETION_UNIT * (abs(self.constant) + abs(cutoff))
        least = (self.constant - cutoff - margin) / (1.0 + 2.0 * self.error)
        gain, chosen = best_beyond(self.G, self.c, fixed_in, free, remaining, least)
        if np.isnan(gain):
            return None
        bound = self._bound(gain) if gain > least else cutoff
        if self.dependent is not None:
            branch = self.dependent, fixed_in, free, remaining
            bound = min(bound, cut_off_bound(*branch, bound, self.error))
        if not gain > least:
            return bound, None
        return bound, np.sort(np.concatenate([fixed_in, chosen]))

    def _bound(self, gain: float) -> float:
        """The objective with a gain, less the margin for rounding."""
        # Twice what a replay allows for, which is then sure to find no less.
        bound = self.constant - gain * (1.0 + 2.0 * self.error)
        return bound - 2.0 * COMPLETION_UNIT * (abs(self.constant) + gain)

    def is_fine(self, bound: float, tolerance: float) -> bool:
        """Whether a bound loses no more than a tolerance to rounding."""
        loss = 2.0 * self.error * abs(bound - self.constant)
        return bool(np.isfinite(bound) and loss <= tolerance)

    def estimate(self, support: IntArray) -> float:
        """The objective of the best point on a support, up to rounding."""
        gain, _ = best_completion(self.G, self.c, support, _NONE, 0)
        return self.constant - gain


@dataclass(frozen=True, slots=True)
class PenalisedSupports:
    """Supports bounded without their rows and bounds, to be solved only if need be.

    At most ``max_hits`` are listed for a node.
    """

    form: PenalisedRows
    max_hits: int

    @classmethod
    def of(
        cls, problem: SparseQP, settings: HeuristicSettings = DEFAULT
    ) -> "PenalisedSupports | None":
        """Prepare a problem.

        Returns None if it has a penalty, blocks, thresholds, or points as far out as
        one likes, and if it is large.  Without rows and bounds there is nothing to
        gain: :class:`Supports` is exact.
        """
        has_price = problem.rule.penalty != 0 or problem.blocks is not None
        is_large = problem.n > settings.max_completion_variables
        if problem.is_unconstrained or has_price or is_large:
            return None
        if problem.is_semicontinuous.any():
            # A support that is left over would not be a quadratic program.
            return None
        form = PenalisedRows.of(problem)
        return cls(form, settings.max_hits) if np.isfinite(form.reach) else None

    def below(
        self,
        cutoff: float,
        beta: FloatArray,
        fixed_in: IntArray,
        free: IntArray,
        remaining: int,
    ) -> IntArray | None:
        """The completions that may hold a point below a cutoff; None if too many.

        Those within a larger one are not listed: it has their points.
        """
        objective = self.form.at(beta)
        least = objective.least_gain(cutoff)
        count, hits = list_completions(
            self.form.G, objective.c, fixed_in, free, remaining, least, self.max_hits
        )
        return hits if count <= self.max_hits else None
