r"""The bound of a sparse minorant on a node, as a function of split and weights.

The split is kept as a factor, :math:`P = F F^\top`, so that it is positive semidefinite
whatever the steps are, and units as their logarithms.  What is maximised is the bound,
in units of the objective, and a small reward for high ridges: those of variables that
the relaxation does not choose count in nodes, and steps need room.  The gradient is
derived in docs/theory.md#joint-ascent.
"""

from dataclasses import dataclass, replace

import numpy as np

from cardqp._typing import BoolArray, FloatArray
from cardqp.bounds.sparse_minorant import offdiagonal_loss, top_row_sums
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort
from cardqp.relaxation.settings import DEFAULT as RELAXATION
from cardqp.splitting.settings import DEFAULT, JointSettings
from cardqp.splitting.split_bound import relax_minorant


@dataclass(frozen=True, slots=True, eq=False)
class JointPoint:
    """A split with its weights, and the relaxation of its minorant.

    Attributes
    ----------
    place : (n, k + 1) array
        The factor ``F`` and, in the last column, the logarithms of the units.
    value, gradient : float, (n, k + 1) array
        What is maximised, and its gradient.
    bound : float
        The bound, without rounding margins of the split.
    x, nu : (n,) and (m,) arrays
        The relaxed minimiser, and the multipliers of rows at which it ended.
    """

    place: FloatArray
    value: float
    gradient: FloatArray
    bound: float
    x: FloatArray
    nu: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """What a split leaves of the form.

    Attributes
    ----------
    losses : (n, n) array
        In row ``j``, the most that each entry takes off, over ``x_j^2``.
    counts : (n, n) bool array
        The entries of each row that count.
    slopes : (n, n) array
        The derivative of the losses in the entries of ``P``.
    ridge : (n,) array
        The ridge of the minorant.
    """

    losses: FloatArray
    counts: BoolArray
    slopes: FloatArray
    ridge: FloatArray

    @classmethod
    def of(cls, problem: SparseQP, P: FloatArray, logs: FloatArray) -> "_Rest":
        """The rest of a problem's form over ``P``, shared out by units."""
        R = problem.quadratic.array - P
        shares = np.exp(logs - logs[:, None])
        losses = offdiagonal_loss(R, problem.signs) * shares
        row_sums, least = top_row_sums(losses, problem.rule.limit)
        counts = (losses >= least[:, None]) & (losses > 0)
        slopes = np.where(counts, -np.sign(R) * shares, 0.0)
        ridge = problem.ridge + R.diagonal() - row_sums
        return cls(losses, counts, slopes, ridge)


@dataclass(frozen=True, slots=True, eq=False)
class JointBound:
    """The function to be maximised, in units in which numbers are of about one size.

    Relaxations take so many iterations at most.
    """

    problem: SparseQP
    subproblem: Subproblem
    size: float
    iterations: int
    settings: JointSettings = DEFAULT.joint

    def refined(self) -> "JointBound":
        """The same function, evaluated with twice as many iterations."""
        return replace(self, iterations=2 * self.iterations)

    def at(self, place: FloatArray, x: FloatArray, nu: FloatArray) -> JointPoint | None:
        """The function at a place, starting at ``x, nu``; None outside its domain."""
        factor, logs, settings = place[:, :-1], place[:, -1], self.settings
        with np.errstate(all="ignore"):
            P = factor @ factor.T
            rest = _Rest.of(self.problem, P, logs)
        # What is not a number is outside as well.
        if not (rest.ridge >= settings.least_ridge).all():
            return None
        minorant = self.problem.with_quadratic(Gram(P, np.zeros(len(P))), rest.ridge)
        # The next place starts from here, so that few iterations add up.
        few = replace(RELAXATION, chunk=self.iterations)
        effort = Effort(settings.step_accuracy * self.size, is_over=lambda: True)
        relaxed, x, reached = relax_minorant(
            minorant, self.subproblem, x, nu, effort, few
        )
        reward = settings.ridge_reward * float(np.log(rest.ridge).mean())
        # The derivatives in the ridges, of bound and reward.
        weights = np.where(relaxed.switches > 1e-12, x**2, 0.0) / np.maximum(
            relaxed.switches, 1e-12
        )
        weights /= self.size
        weights += settings.ridge_reward / (len(x) * rest.ridge)
        gradient = self._gradient(factor, rest, x, weights)
        value = reached / self.size + reward
        return JointPoint(place, value, gradient, reached, x, relaxed.nu)

    def _gradient(
        self, factor: FloatArray, rest: _Rest, x: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """The gradient in factor and logarithms, from the weights of the ridges."""
        sloping = rest.slopes * (-0.5 * weights)[:, None]
        matrix = sloping + sloping.T
        matrix[np.diag_indices(len(x))] -= weights
        # The part of rank one is added to the product with the factor.
        product = matrix @ factor + np.multiply.outer(x / self.size, x @ factor)
        counted = np.where(rest.counts, rest.losses, 0.0) * weights[:, None]
        logs = counted.sum(axis=1) - counted.sum(axis=0)
        return np.column_stack((2.0 * product, logs))
