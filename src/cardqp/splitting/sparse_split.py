"""Sparse minorants to start from: the part of ``Q`` above a level of its eigenvalues.

A split ``Q = P + R`` need only hold at points with at most ``s`` nonzeros, so that far
more than the least eigenvalue can be moved to the ridge: what ``R`` loses is bounded by
the largest entries of each row, as by Gershgorin (docs/theory.md#theorem-6).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.bounds.sparse_minorant import ridge_left, ridge_unit, sparse_minorant
from cardqp.exceptions import ProblemError
from cardqp.problem import SparseQP
from cardqp.problem.quadratic import Factor
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort
from cardqp.splitting.settings import DEFAULT, AscentSettings
from cardqp.splitting.split_bound import relax_minorant


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A sparse minorant and its bound on a node.

    Attributes
    ----------
    P : (n, n) array
        The part of ``Q`` that stays quadratic.
    minorant : SparseQP
        The problem with ``P`` in place of ``Q``.
    tangent_point : (n,) array
        The point whose tangent gives the bound (Theorem 1 for the minorant).
    bound : float
        A lower bound on the problem's objective over the node, constant included.
    weights : (n,) array or None
        The weights of the minorant.
    """

    P: FloatArray
    minorant: SparseQP
    tangent_point: FloatArray
    bound: float
    weights: FloatArray | None = None

    @classmethod
    def relax(
        cls,
        problem: SparseQP,
        subproblem: Subproblem,
        P: FloatArray,
        x: FloatArray,
        effort: Effort,
        weights: FloatArray | None = None,
    ) -> "Split | None":
        """Split by ``P``, and relax from ``x``; None if too little ridge is left."""
        try:
            minorant = sparse_minorant(problem, P, weights)
            nu = np.zeros(len(problem.rows))
            relaxed, _, bound = relax_minorant(minorant, subproblem, x, nu, effort)
        except ProblemError:
            return None
        return cls(P, minorant, relaxed.tangent_point, bound, weights)


def is_splittable(
    problem: SparseQP, subproblem: Subproblem, settings: AscentSettings
) -> bool:
    """Whether sparse minorants are supported: no penalty, no blocks, not too large."""
    is_plain = problem.rule.penalty == 0 and problem.blocks is None
    is_small = problem.n <= settings.max_variables
    return is_plain and subproblem.remaining >= 1 and is_small


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The eigenvalues of ``Q`` and its eigenvectors in the units where the ridge is 1.

    Attributes
    ----------
    values : (k,) array
        The eigenvalues, decreasing.
    vectors : (n, k) array
        The eigenvectors.
    unit : (n,) array
        The units.
    """

    values: FloatArray
    vectors: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, problem: SparseQP) -> "Levels":
        """Decompose the form of a problem, once for all levels."""
        form, unit = problem.quadratic, ridge_unit(problem)
        # With fewer rows than columns a factor's singular values are cheaper.
        if isinstance(form, Factor) and len(form.array) < problem.n:
            _, roots, rows = scipy.linalg.svd(
                form.array * unit, full_matrices=False, check_finite=False
            )
            return cls(roots**2, rows.T, unit)
        scaled = unit[:, None] * form.dense() * unit
        values, vectors = scipy.linalg.eigh(scaled, driver="evd", check_finite=False)
        return cls(values[::-1], vectors[:, ::-1], unit)

    def above(self, level: float) -> FloatArray:
        """``P``: what is above a level in each eigenvalue, in the problem's units."""
        keep = int(np.count_nonzero(self.values > level))
        roots = self.vectors[:, :keep] * np.sqrt(self.values[:keep] - level)
        roots /= self.unit[:, None]
        return np.asarray(roots @ roots.T)


def highest_level(
    problem: SparseQP,
    levels: Levels,
    is_over: Callable[[], bool] = lambda: False,
    settings: AscentSettings = DEFAULT.ascent,
) -> float:
    """Approximate highest level that leaves a sufficient share of every ridge.

    It is searched for by factors of 2, up or down from 1, and then of the root of 2.
    Once time is up, it is any level.
    """

    def leaves_enough(level: float) -> bool:
        if is_over():
            return False
        ridge = ridge_left(problem, levels.above(level))
        return bool((ridge >= settings.start_ridge_share * problem.ridge).all())

    # Coarse steps are enough for a start, and each level takes a product of matrices.
    level = 1.0
    while level > settings.least_level and not leaves_enough(level):
        level *= 0.5
    if level == 1.0:
        while level < levels.values[0] and leaves_enough(2.0 * level):
            level *= 2.0
    between = level * 2.0**0.5
    return between if leaves_enough(between) else level
