"""The bound of a sparse minorant on a node, as a function of the split."""

from dataclasses import dataclass

import numpy as np

from cardqp._typing import FloatArray
from cardqp.bounds.sparse_minorant import offdiagonal_loss, ridge_unit, top_row_sums
from cardqp.bounds.tangent_bound import tangent_bound
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Gram
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort, Relaxation, Relaxed
from cardqp.relaxation.settings import DEFAULT as RELAXATION
from cardqp.relaxation.settings import RelaxationSettings
from cardqp.splitting.settings import DEFAULT, AscentSettings


def relax_minorant(
    minorant: SparseQP,
    subproblem: Subproblem,
    x: FloatArray,
    nu: FloatArray,
    effort: Effort,
    settings: RelaxationSettings = RELAXATION,
) -> tuple[Relaxed, FloatArray, float]:
    """The relaxation of a minorant from ``x, nu``, its minimiser, and the bound."""
    relaxation = Relaxation.prepare(minorant, settings=settings)
    relaxed = relaxation.solve(subproblem, x / relaxation.unit, nu, effort)
    bound = tangent_bound(minorant, relaxed.tangent_point, relaxed.beta)
    return relaxed, relaxed.x * relaxation.unit, bound.value(subproblem)


@dataclass(frozen=True, slots=True, eq=False)
class SplitPoint:
    """A split and its relaxation, in the units of the ascent.

    Attributes
    ----------
    P, R : (n, n) arrays
        The split ``Q = P + R``.
    offdiagonal_loss : (n, n) array
        What the entries of ``R`` off its diagonal can take off the objective.
    ridge : (n,) array
        The ridge of the minorant.
    threshold : (n,) array
        The least entry in each row of the loss that counts: the last of the ``K - 1``
        largest.
    x, z : (n,) arrays
        The relaxed minimiser and its switches.
    nu : (m,) array
        The multipliers of the rows at which its relaxation ended.
    bound : float
        The bound, without rounding margins of the split.
    """

    P: FloatArray
    R: FloatArray
    offdiagonal_loss: FloatArray
    ridge: FloatArray
    threshold: FloatArray
    x: FloatArray
    z: FloatArray
    nu: FloatArray
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class SplitBound:
    """The function to be maximised: the bound of a split on a node.

    Attributes
    ----------
    problem : SparseQP
        The problem in units in which the products of two variables are shared evenly;
        without weights, its ridge is 1.
    subproblem : Subproblem
        The node.
    tolerance : float
        Accuracy of relaxations.
    least_ridge : (n,) array
        The domain: the least ridges.
    settings : AscentSettings
        The rest of the domain: the largest ``P``.
    """

    problem: SparseQP
    subproblem: Subproblem
    tolerance: float
    least_ridge: FloatArray
    settings: AscentSettings = DEFAULT.ascent

    def at(self, P: FloatArray, x: FloatArray, nu: FloatArray) -> SplitPoint | None:
        """The bound at ``P``, starting at ``x, nu``; None outside the domain."""
        Q = self.problem.quadratic.array
        # Long steps may overflow; this refuses what is not a number as well.
        if not np.abs(P).max() <= self.settings.max_growth * np.abs(Q).max():
            return None
        R = Q - P
        entries = offdiagonal_loss(R, self.problem.signs)
        reach, threshold = top_row_sums(entries, self.problem.rule.limit)
        ridge = self.problem.ridge + R.diagonal() - reach
        if not (ridge >= self.least_ridge).all():
            return None
        # P is positive semidefinite by construction; sparse_minorant proves it later.
        minorant = self.problem.with_quadratic(Gram(P, np.zeros(len(P))), ridge)
        # The next step starts from here, so that one chunk of iterations is plenty.
        effort = Effort(self.tolerance, is_over=lambda: True)
        relaxed, x, bound = relax_minorant(minorant, self.subproblem, x, nu, effort)
        z, nu = relaxed.switches, relaxed.nu
        return SplitPoint(P, R, entries, ridge, threshold, x, z, nu, bound)


def least_ridge(
    problem: SparseQP, weights: FloatArray | None, settings: AscentSettings
) -> FloatArray:
    """The least ridges of splits: a share of the ridge as given.

    Weights are for problems whose own ridge is next to nothing, less than what rounding
    may take off the minorant's: a share of the diagonal is the least then.
    """
    least = settings.least_ridge_share * problem.ridge
    if weights is None:
        return np.asarray(least)
    return np.maximum(least, settings.least_diagonal_share * problem.quadratic.diagonal)


def weighted_unit(problem: SparseQP, weights: FloatArray | None) -> FloatArray:
    """The units in which products of two variables are shared evenly."""
    unit = ridge_unit(problem)
    return unit if weights is None else unit * weights


def in_units(problem: SparseQP, unit: FloatArray) -> SparseQP:
    """The problem in which a variable is its old value over the unit."""
    Q = unit[:, None] * problem.quadratic.dense() * unit
    return SparseQP(
        Gram(Q, problem.quadratic.psd_violation * unit**2),
        problem.c * unit,
        eta=problem.eta / unit**2,
        sparsity=problem.sparsity,
        A=problem.A * unit,
        b=problem.b,
        A_eq=problem.A_eq * unit,
        b_eq=problem.b_eq,
        lower=problem.lower / unit,
        upper=problem.upper / unit,
        groups=problem.groups,
        group_sparsity=problem.group_sparsity,
        constant=problem.constant,
    )
