"""Ascent to the split that gives the best bound.

Steps along supergradients ``G`` (see ``split_slope.py``) are taken in the metric of
``P`` itself, ``(I + t G) P (I + t G)``, so ``P`` stays positive semidefinite.  Whatever
comes out is judged by ``sparse_minorant``.
"""

import time
from collections.abc import Callable

import numpy as np

from cardqp._typing import FloatArray
from cardqp.bounds.sparse_minorant import ridge_unit
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort
from cardqp.splitting.sparse_split import (
    ACCURACY,
    Levels,
    Split,
    highest_level,
    is_splittable,
)
from cardqp.splitting.split_bound import Bounded, Point, in_units
from cardqp.splitting.supergradient import Slope, supergradient

MAX_STEPS = 160
"""The normal end of an ascent: a count, so that results can be reproduced."""

SAFETY = 30.0
"""Seconds after which an ascent ends in any case."""

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

FLAT = 1e-10
"""Eigenvalues below this share of the largest count as zero.  If more than half of them
are, there is little to be gained: a split must not lose what is tight already."""

MIXED = 0.1
"""The share of ``Q`` in the start of an ascent where signs are known."""


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
    subproblem: Subproblem,
    start: FloatArray,
    upper_bound: float,
    size: float,
    seconds: float = SAFETY,
    is_over: Callable[[], bool] = lambda: False,
    is_enough: Callable[[Split], bool] = lambda _: False,
) -> Split | None:
    """Improve a split for the sake of its bound on a branch.

    The best start is not the split with the best bound, but one at a high level: see
    :func:`cardqp.splitting.sparse_split.highest_level`.

    Parameters
    ----------
    problem : SparseQP
        The problem, with the variables that are switched off taken out.
    choice : Subproblem
        The branch.
    start : (n, n) array
        The matrix ``P`` to start from.
    upper_bound : float
        The objective at a feasible point.
    size : float
        The size of the objective, the unit of gaps.
    seconds : float
        When to be content with what was reached.  By default this is a safety: ascents
        end after ``MAX_STEPS`` steps, and are then reproducible.
    is_over : callable
        Whether time is up.
    is_enough : callable
        Whether a split is good enough; asked now and then.

    Returns
    -------
    Split or None
        A split whose bound is at least that of the start.  None for problems with a
        penalty, for large ones, for a start that leaves no ridge, and if time is up.
    """
    if not is_splittable(problem, subproblem):
        return None
    end = time.perf_counter() + seconds
    unit = ridge_unit(problem)
    function = Bounded(in_units(problem, unit), subproblem, STEP_ACCURACY * size)
    nothing = np.zeros(problem.n), np.zeros(len(problem.rows))
    first = function.at(start * unit[:, None] * unit, *nothing)
    if first is None:
        return None
    ascent = Ascent(function, first, upper_bound)
    effort = Effort(ACCURACY * size, is_over=is_over)

    def split_at(point: Point) -> Split | None:
        P, x = point.P / unit[:, None] / unit, point.x * unit
        return Split.relax(problem, subproblem, P, x, effort)

    for n_steps in range(MAX_STEPS):
        if is_over():
            return None
        if ascent.aim < LEAST_AIM * size or time.perf_counter() > end:
            break
        if n_steps in CHECKPOINTS:
            split = split_at(ascent.best)
            if split is not None and is_enough(split):
                return split
        if not ascent.step():
            break
    splits = (split_at(ascent.best), None if is_over() else split_at(first))
    return max((s for s in splits if s), key=lambda s: s.bound, default=None)


def level_start(
    problem: SparseQP,
    subproblem: Subproblem,
    is_over: Callable[[], bool] = lambda: False,
) -> FloatArray | None:
    """Where to start an ascent: what is above a high level of the eigenvalues.

    None where splits are not looked for, or would not gain much, or time is up.
    """
    if is_over() or not is_splittable(problem, subproblem):
        return None
    levels = Levels.of(problem)
    if np.count_nonzero(levels.values > FLAT * levels.values[0]) < 0.5 * problem.n:
        return None
    level = highest_level(problem, levels, is_over)
    return None if is_over() else levels.above(level)


def signed_start(
    problem: SparseQP, is_over: Callable[[], bool] = lambda: False
) -> FloatArray | None:
    """Where to start an ascent if signs are known; None if time is up.

    Little may be left of ``Q`` above a high level then, and steps relative to ``P``
    would lead nowhere: something of ``Q`` itself is mixed in.
    """
    levels = Levels.of(problem)
    level = highest_level(problem, levels, is_over)
    if is_over():
        return None
    start = levels.above(level)
    return np.asarray((1.0 - MIXED) * start + MIXED * problem.quadratic.dense())
