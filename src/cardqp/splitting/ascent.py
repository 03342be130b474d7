"""Supergradient ascent to the sparse minorant with the best bound.

The bound is concave in ``P`` (docs/theory.md#split-ascent).  Steps along smoothed
supergradients ``G`` (see ``supergradient.py``) are taken in the metric of ``P`` itself,
``(I + t G) P (I + t G)``, so that ``P`` stays positive semidefinite without a
projection, which would take an eigendecomposition in each step.  Whatever comes out is
judged by ``sparse_minorant``.
"""

import time
from collections.abc import Callable

import numpy as np

from cardqp._typing import FloatArray
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort
from cardqp.splitting.settings import DEFAULT, AscentSettings
from cardqp.splitting.sparse_split import Levels, Split, highest_level, is_splittable
from cardqp.splitting.split_bound import (
    SplitBound,
    SplitPoint,
    in_units,
    least_ridge,
    weighted_unit,
)
from cardqp.splitting.supergradient import Slope, supergradient


class Ascent:
    """The state of an ascent: where it is, where it was best, the gain it aims at.

    Step lengths are Polyak's, with a target in place of the unknown maximum: the gain
    aimed at over the derivative along the step.  The target adapts to what steps gain.
    """

    def __init__(
        self, function: SplitBound, start: SplitPoint, upper_bound: float
    ) -> None:
        self.function, self.upper_bound = function, upper_bound
        self.settings = function.settings
        self.point = self.best = start
        self.aim = self.settings.first_gain * (upper_bound - start.bound)
        self.length, self.n_failed = np.inf, 0
        self.slope: Slope | None = None

    def step(self) -> bool:
        """Take a step, or return to the best point; False if there is no way up."""
        smoothing = self.settings.supergradient
        new = supergradient(self.point, self.function.problem.rule.limit, smoothing)
        averages = () if self.slope is None else (self.slope.averaged(new, smoothing),)
        # The average need not be an ascent direction any more; the newest one starts
        # a new average then.
        for slope in (*averages, new):
            product = slope.times(self.point.P)
            rise = 2.0 * new.inner(product)
            if rise > 0:
                self.slope = slope
                longest = self.settings.max_lengthening * self.length
                length = min(self.aim / rise, longest)
                found = self._moved(slope, product, length)
                self._judge(found, length, length * rise)
                return True
        is_stuck, self.slope = self.point is self.best, None
        self._draw_back()
        return not is_stuck

    def _moved(
        self, slope: Slope, product: FloatArray, length: float
    ) -> SplitPoint | None:
        """The point after a step; ``product`` is that of the slope and ``P``."""
        # P + t (G P + P G) + t^2 G P G, in place: these are the largest matrices here.
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

    def _judge(self, found: SplitPoint | None, length: float, expected: float) -> None:
        """Keep a point or return to the best, and adapt the gain that steps aim at."""
        self.length = length
        # A step that loses more than it was to gain was too long.
        if found is None or found.bound < self.best.bound - self.aim:
            self.length *= self.settings.decrease
            self._draw_back()
            return
        gain = found.bound - self.point.bound
        self.point = found
        if found.bound > self.best.bound:
            self.best, self.n_failed = found, 0
            # The bound is concave: a gain near the linear prediction asks for more.
            if gain > 0.5 * expected:
                most = self.settings.max_gain * (self.upper_bound - found.bound)
                self.aim = min(self.settings.increase * self.aim, most)
            return
        self.n_failed += 1
        if self.n_failed >= self.settings.patience:
            self._draw_back()

    def _draw_back(self) -> None:
        """Return to the best point and aim at less."""
        self.point, self.n_failed = self.best, 0
        self.aim *= self.settings.decrease


def optimise_split(
    problem: SparseQP,
    subproblem: Subproblem,
    start: FloatArray,
    upper_bound: float,
    size: float,
    seconds: float | None = None,
    is_over: Callable[[], bool] = lambda: False,
    is_enough: Callable[[Split], bool] = lambda _: False,
    settings: AscentSettings = DEFAULT.ascent,
    weights: FloatArray | None = None,
) -> Split | None:
    """Improve a split for the sake of its bound on a node, from a matrix ``P``.

    The best start is not the split with the best bound, but one at a high level: see
    :func:`cardqp.splitting.sparse_split.highest_level`.  Variables that are switched
    off have been taken out of the problem.  The weights of the minorant are kept; gaps
    are relative to the ``size`` of the objective.

    By default the time limit is ``settings.max_seconds``, a safety: ascents end after
    ``settings.max_steps`` steps, and are then reproducible.  Whether a split is good
    enough is asked at ``settings.checkpoints``.

    The bound of what is returned is at least that of the start.  None for problems with
    a penalty, for large ones, for a start that leaves no ridge, and if time is up.
    """
    if not is_splittable(problem, subproblem, settings):
        return None
    end = time.perf_counter() + (settings.max_seconds if seconds is None else seconds)
    unit = weighted_unit(problem, weights)
    scaled = in_units(problem, unit)
    function = SplitBound(
        scaled,
        subproblem,
        settings.step_accuracy * size,
        least_ridge(scaled, weights, settings),
        settings,
    )
    nothing = np.zeros(problem.n), np.zeros(len(problem.rows))
    first = function.at(start * unit[:, None] * unit, *nothing)
    if first is None:
        return None
    ascent = Ascent(function, first, upper_bound)
    effort = Effort(settings.final_accuracy * size, is_over=is_over)

    def split_at(point: SplitPoint) -> Split | None:
        P, x = point.P / unit[:, None] / unit, point.x * unit
        return Split.relax(problem, subproblem, P, x, effort, weights)

    for n_steps in range(settings.max_steps):
        if is_over():
            return None
        if ascent.aim < settings.least_gain * size or time.perf_counter() > end:
            break
        if n_steps in settings.checkpoints:
            split = split_at(ascent.best)
            if split is not None and is_enough(split):
                return split
        if not ascent.step():
            break
    # Steps were judged without margins for rounding and with rough relaxations, so the
    # start may be better after all.
    splits = (split_at(ascent.best), None if is_over() else split_at(first))
    return max((s for s in splits if s), key=lambda s: s.bound, default=None)


def level_start(
    problem: SparseQP,
    subproblem: Subproblem,
    is_over: Callable[[], bool],
    settings: AscentSettings,
) -> FloatArray | None:
    """The matrix ``P`` to start an ascent from: ``Q`` above a high level.

    None where sparse minorants are not supported or would not gain much, and if time is
    up.
    """
    if is_over() or not is_splittable(problem, subproblem, settings):
        return None
    levels = Levels.of(problem)
    least = settings.rank_tolerance * levels.values[0]
    if np.count_nonzero(levels.values > least) < 0.5 * problem.n:
        return None
    level = highest_level(problem, levels, is_over, settings)
    return None if is_over() else levels.above(level)


def signed_start(
    problem: SparseQP,
    is_over: Callable[[], bool] = lambda: False,
    settings: AscentSettings = DEFAULT.ascent,
) -> FloatArray | None:
    """The matrix ``P`` to start an ascent from if signs are known; None if time is up.

    Little may be left of ``Q`` above a high level then, and steps relative to ``P``
    would lead nowhere: a share of ``Q`` itself is mixed in.
    """
    levels = Levels.of(problem)
    level = highest_level(problem, levels, is_over, settings)
    if is_over():
        return None
    start, mixed = levels.above(level), settings.mixed_share
    return np.asarray((1.0 - mixed) * start + mixed * problem.quadratic.dense())
