r"""Ascent to the split that gives the best bound.

The bound of a sparse minorant, :math:`B(P)`, is concave in ``P``.  With ``x`` and ``z``
the relaxed minimiser and its switches, :math:`\omega_j = x_j^2 / z_j`, and
``R = Q - P``, a supergradient is

.. math::
    G = x x^\top - \mathrm{diag}(\omega) + \text{for each row } j:\;
    \tfrac12 \omega_j \operatorname{sign}(R_{ij}) \text{ at } (i, j) \text{ and } (j, i)

for ``i`` among the ``K - 1`` entries of the row that count most (see ``minorant.py``).
It is sparse but for a term of rank one.  Steps are taken in the metric of ``P`` itself,
``(I + t G) P (I + t G)``, so ``P`` stays positive semidefinite.  As gradients jump,
they are averaged over steps, and entries near the cut count in part.  Variables at
which ``x`` is zero do not appear in ``G``; those whose ridge gets low are held up as if
they did.  Whatever comes out is judged by ``sparse_minorant``.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import FloatArray, IntArray
from cardqp.dual.bound import tangent_bound
from cardqp.exact.relaxation import Effort, Relaxation
from cardqp.exact.sparse_split import (
    ACCURACY,
    Levels,
    Split,
    highest_level,
    is_splittable,
)
from cardqp.minorant import drag, ridge_unit, sparse_reach
from cardqp.problem import SparseQP
from cardqp.quadratic import Gram
from cardqp.sparsity import Choice

MAX_STEPS = 160
"""The normal end of an ascent: a count, so that results can be reproduced."""

CHECKPOINTS = (16, 24, 32, 44, 58, 80, 110)
"""Steps after which it is asked whether the split is good enough."""

STEP_ACCURACY = 1e-4
"""How well the relaxation is solved in each step, as a share of the objective."""

FIRST_AIM, MOST_AIM, LEAST_AIM = 0.1, 0.2, 2e-5
"""The gain that a step aims at: the first and the largest as a share of the gap, and
the one at which an ascent ends as a share of the objective."""

LONGER, SHORTER, GROWTH = 1.1, 0.5, 1.2
"""Factors of the aim after good and bad steps; how much longer than the last one a step
may be."""

PATIENCE = 4
"""After so many steps without a new best, go back to the best and aim at less."""

MEMORY, FADED = 0.85, 0.02
"""Weight of the old average when a new gradient comes in; terms of rank one with less
than the second share of the newest one's weight are dropped."""

NEGLIGIBLE = 1e-3
"""Entries of the average below this share of the largest are dropped."""

SOFTNESS = 0.15
"""Entries of a row within this share of the cut count in part."""

LOW_RIDGE, LEAST_RIDGE = 0.5, 0.01
"""Ridges below this share of the median are held up; none may fall below the second
share of the original."""

FLAT = 1e-10
"""Eigenvalues below this share of the largest count as zero.  If more than half of them
are, there is little to be gained: a split must not lose what is tight already."""

MIXED = 0.1
"""The share of ``Q`` in the start of an ascent where signs are known."""

LARGEST_GROWTH = 1e3
"""A step must not let ``P`` outgrow ``Q`` by more than this."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A split and its relaxation, in the units where the ridge is 1.

    Attributes
    ----------
    P, R : (n, n) arrays
        The split ``Q = P + R``.
    drag : (n, n) array
        What the entries of ``R`` off its diagonal can take off the objective.
    ridge : (n,) array
        The ridge of the minorant.
    cut : (n,) array
        The least entry in each row of the drag that counts.
    x, z : (n,) arrays
        The relaxed minimiser and its switches.
    nu : (m,) array
        The multipliers of the rows at which its relaxation ended.
    bound : float
        The bound, without rounding margins of the split.
    """

    P: FloatArray
    R: FloatArray
    drag: FloatArray
    ridge: FloatArray
    cut: FloatArray
    x: FloatArray
    z: FloatArray
    nu: FloatArray
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """The function to be maximised: the bound of a split on a branch.

    ``problem`` has the ridge 1.
    """

    problem: SparseQP
    choice: Choice
    tolerance: float

    def at(self, P: FloatArray, x: FloatArray, nu: FloatArray) -> Point | None:
        """The bound at ``P``, starting at ``x, nu``; None outside the domain."""
        Q = self.problem.quadratic.array
        if not np.abs(P).max() <= LARGEST_GROWTH * np.abs(Q).max():
            return None
        R = Q - P
        entries = drag(R, self.problem.signs)
        reach, cut = sparse_reach(entries, self.problem.rule.limit)
        ridge = 1.0 + R.diagonal() - reach
        if not ridge.min() >= LEAST_RIDGE:
            return None
        minorant = self.problem.with_quadratic(Gram(P, np.zeros(len(P))), ridge)
        relaxation = Relaxation.prepare(minorant)
        # One chunk of iterations is plenty from a warm start.
        effort = Effort(self.tolerance, is_over=lambda: True)
        start = x / relaxation.unit
        relaxed = relaxation.solve(self.choice, start, nu, effort)
        bound = tangent_bound(minorant, relaxed.anchor, relaxed.beta)
        return Point(
            P,
            R,
            entries,
            ridge,
            cut,
            relaxed.x * relaxation.unit,
            relaxed.switches,
            relaxed.nu,
            bound.value(self.choice),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """A symmetric matrix: a sparse one plus ``X diag(weights) X'``.

    Attributes
    ----------
    sparse : (n, n) CSR array
        The sparse part.
    X : (n, k) array
        The vectors of the part of low rank.
    weights : (k,) array
        Their weights.
    """

    sparse: Any
    X: FloatArray
    weights: FloatArray

    def times(self, M: FloatArray) -> FloatArray:
        """The product with a dense matrix."""
        product = self.sparse @ M
        product += (self.X * self.weights) @ (self.X.T @ M)
        return np.asarray(product)

    def inner(self, M: FloatArray) -> float:
        """The inner product with a dense matrix."""
        entries = self.sparse.tocoo()
        scattered = entries.data @ M[entries.row, entries.col]
        low_rank = np.einsum("ik,ik,k->", self.X, M @ self.X, self.weights)
        return float(scattered + low_rank)

    def averaged(self, new: "Slope") -> "Slope":
        """The running average after one more gradient."""
        weights = np.concatenate([MEMORY * self.weights, (1.0 - MEMORY) * new.weights])
        keep = weights > FADED * weights[-1]
        X = np.concatenate([self.X, new.X], axis=1)
        sparse = MEMORY * self.sparse + (1.0 - MEMORY) * new.sparse
        size = np.abs(sparse.data)
        sparse.data[size < NEGLIGIBLE * size.max(initial=0.0)] = 0.0
        sparse.eliminate_zeros()
        return Slope(sparse, X[:, keep], weights[keep])


def supergradient(point: Point, limit: int) -> Slope:
    """The supergradient at a point, softened at the cut and propped at low ridges."""
    n = len(point.x)
    omega = _ridge_weights(point)
    rows = np.flatnonzero(omega > 1e-9 * omega.max())
    entries = _row_weights(point, rows, min(limit, n) - 1)
    entries *= (0.5 * omega[rows])[:, None] * np.sign(point.R[rows])
    entries[np.arange(len(rows)), rows] -= 0.5 * omega[rows]
    i, j = entries.nonzero()
    half = scipy.sparse.csr_array((entries[i, j], (rows[i], j)), shape=(n, n))
    return Slope((half + half.T).tocsr(), point.x[:, None], np.ones(1))


def _ridge_weights(point: Point) -> FloatArray:
    """The slope of the bound in each ridge; where one is low, as if it were steeper."""
    omega = point.x**2 / np.maximum(point.z, 1e-12)
    usual = omega.sum() / max(np.count_nonzero(omega), 1)
    lacking = LOW_RIDGE * float(np.median(point.ridge)) / point.ridge - 1.0
    return np.asarray(omega + usual * np.maximum(lacking, 0.0))


def _row_weights(point: Point, rows: IntArray, count: int) -> FloatArray:
    """How much each entry counts: the largest fully, those near the cut in part."""
    if count <= 0:
        return np.zeros((len(rows), len(point.x)))
    entries = point.drag[rows]
    least = NEGLIGIBLE**2 * entries.max(initial=0.0) + 1e-300
    weights = entries / np.maximum(point.cut[rows], least)[:, None]
    weights -= 1.0 - SOFTNESS
    weights /= 2.0 * SOFTNESS
    np.clip(weights, 0.0, 1.0, out=weights)
    weights *= (count / np.maximum(weights.sum(axis=1), 1e-12))[:, None]
    return np.asarray(np.minimum(weights, 1.0, out=weights))


class Ascent:
    """The state of an ascent: where it is, where it was best, how far it aims."""

    def __init__(self, function: Bounded, start: Point, upper_bound: float) -> None:
        self.function, self.upper_bound = function, upper_bound
        self.point = self.best = start
        self.aim = FIRST_AIM * (upper_bound - start.bound)
        self.length, self.n_failed = np.inf, 0
        self.slope: Slope | None = None

    def step(self) -> bool:
        """Take a step or draw back; False if there is no way up."""
        new = supergradient(self.point, self.function.problem.rule.limit)
        averages = () if self.slope is None else (self.slope.averaged(new),)
        for slope in (*averages, new):
            product = slope.times(self.point.P)
            rise = 2.0 * new.inner(product)
            if rise > 0:
                self.slope = slope
                length = min(self.aim / rise, GROWTH * self.length)
                found = self._moved(slope, product, length)
                self._judge(found, length, length * rise)
                return True
        is_stuck, self.slope = self.point is self.best, None
        self._draw_back()
        return not is_stuck

    def _moved(self, slope: Slope, product: FloatArray, length: float) -> Point | None:
        """The point after a step; ``product`` is that of the slope and ``P``."""
        transposed = np.ascontiguousarray(product.T)
        P = slope.times(transposed)
        with np.errstate(over="ignore", invalid="ignore"):
            P *= length
            P += product
            P += transposed
            P *= length
            P += self.point.P
            P = 0.5 * (P + P.T)
        return self.function.at(P, self.point.x, self.point.nu)

    def _judge(self, found: Point | None, length: float, expected: float) -> None:
        self.length = length
        if found is None or found.bound < self.best.bound - self.aim:
            self.length *= SHORTER
            self._draw_back()
            return
        gain = found.bound - self.point.bound
        self.point = found
        if found.bound > self.best.bound:
            self.best, self.n_failed = found, 0
            if gain > 0.5 * expected:
                most = MOST_AIM * (self.upper_bound - found.bound)
                self.aim = min(LONGER * self.aim, most)
            return
        self.n_failed += 1
        if self.n_failed >= PATIENCE:
            self._draw_back()

    def _draw_back(self) -> None:
        self.point, self.n_failed = self.best, 0
        self.aim *= SHORTER


def optimise_split(
    problem: SparseQP,
    choice: Choice,
    start: FloatArray,
    upper_bound: float,
    size: float,
    seconds: float = 30.0,
    is_over: Callable[[], bool] = lambda: False,
    is_enough: Callable[[Split], bool] = lambda _: False,
) -> Split | None:
    """Improve a split for the sake of its bound on a branch.

    The best start is not the split with the best bound, but one at a high level: see
    :func:`cardqp.exact.sparse_split.highest_level`.

    Parameters
    ----------
    problem : SparseQP
        The problem, with the variables that are switched off taken out.
    choice : Choice
        The branch.
    start : (n, n) array
        The matrix ``P`` to start from.
    upper_bound : float
        The objective at a feasible point.
    size : float
        The size of the objective, the unit of gaps.
    seconds : float
        A safety: ascents end after ``MAX_STEPS`` steps, and are then reproducible.
    is_over : callable
        Whether time is up.
    is_enough : callable
        Whether a split is good enough; asked now and then.

    Returns
    -------
    Split or None
        A split whose bound is at least that of the start.  None for problems with a
        penalty, for large ones, and for a start that leaves no ridge.
    """
    if not is_splittable(problem, choice):
        return None
    end = time.monotonic() + seconds
    unit = ridge_unit(problem)
    function = Bounded(in_units(problem, unit), choice, STEP_ACCURACY * size)
    nothing = np.zeros(problem.n), np.zeros(len(problem.rows))
    first = function.at(start * unit[:, None] * unit, *nothing)
    if first is None:
        return None
    ascent = Ascent(function, first, upper_bound)
    effort = Effort(ACCURACY * size, is_over=is_over)

    def split_at(point: Point) -> Split | None:
        P, x = point.P / unit[:, None] / unit, point.x * unit
        return Split.relax(problem, choice, P, x, effort)

    for n_steps in range(MAX_STEPS):
        if ascent.aim < LEAST_AIM * size or is_over() or time.monotonic() > end:
            break
        if n_steps in CHECKPOINTS:
            split = split_at(ascent.best)
            if split is not None and is_enough(split):
                return split
        if not ascent.step():
            break
    splits = (split_at(ascent.best), split_at(first))
    return max((s for s in splits if s), key=lambda s: s.bound, default=None)


def in_units(problem: SparseQP, unit: FloatArray) -> SparseQP:
    """A problem in other units of the variables."""
    Q = unit[:, None] * problem.quadratic.dense() * unit
    return SparseQP(
        Gram(Q, problem.quadratic.defect * unit**2),
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


def level_start(problem: SparseQP, choice: Choice) -> FloatArray | None:
    """Where to start an ascent: what is above a high level of the eigenvalues.

    None where splits are not looked for, or would not gain much.
    """
    if not is_splittable(problem, choice):
        return None
    levels = Levels.of(problem)
    if np.count_nonzero(levels.values > FLAT * levels.values[0]) < 0.5 * problem.n:
        return None
    return levels.above(highest_level(problem, levels))


def signed_start(problem: SparseQP) -> FloatArray:
    """Where to start an ascent if signs are known.

    Little may be left of ``Q`` above a high level then, and steps relative to ``P``
    would lead nowhere: something of ``Q`` itself is mixed in.
    """
    levels = Levels.of(problem)
    start = levels.above(highest_level(problem, levels))
    return np.asarray((1.0 - MIXED) * start + MIXED * problem.quadratic.dense())
