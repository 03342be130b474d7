"""Quasi-Newton ascent to the best sparse minorant, with its weights.

Steps by supergradients zigzag where the bound is not smooth, and come to a halt far
from the best split.  A quasi-Newton method learns how the bound bends, and moves the
weights at the same time.  Whatever comes out is judged by ``sparse_minorant``.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg

from cardqp._typing import FloatArray
from cardqp.bounds.sparse_minorant import ridge_unit
from cardqp.problem import SparseQP
from cardqp.problem.sparsity import Subproblem
from cardqp.relaxation.relaxation import Effort
from cardqp.splitting.joint_bound import JointBound, JointPoint
from cardqp.splitting.quasi_newton import Memory
from cardqp.splitting.settings import DEFAULT, JointSettings
from cardqp.splitting.sparse_split import Split
from cardqp.splitting.split_bound import in_units


class JointAscent:
    """The state of an ascent in a split, from a matrix ``P``, and its weights.

    Variables that are switched off have been taken out of the problem.  The ``point``
    where it is is None if the start leaves no ridge.
    """

    def __init__(
        self,
        problem: SparseQP,
        subproblem: Subproblem,
        start: FloatArray,
        weights: FloatArray,
        size: float,
        settings: JointSettings = DEFAULT.joint,
    ) -> None:
        self.problem, self.subproblem, self.settings = problem, subproblem, settings
        self.size = size
        self.unit = 1.0 / np.sqrt(problem.quadratic.diagonal + problem.ridge)
        self.function = JointBound(
            in_units(problem, self.unit),
            subproblem,
            size,
            settings.iterations,
            settings,
        )
        self.memory = Memory(settings.memory, settings.first_length)
        logs = np.log(ridge_unit(problem) * weights / self.unit)
        scaled = start * self.unit[:, None] * self.unit
        factor = _factor(scaled, settings.least_eigenvalue)
        place = np.column_stack((factor, logs - logs.mean()))
        nothing = np.zeros(problem.n), np.zeros(len(problem.rows))
        self.point = self.function.at(place, *nothing)

    @property
    def bound(self) -> float:
        """The bound that is reached, but for rounding; minus infinity if none is."""
        return -np.inf if self.point is None else self.point.bound

    def step(self) -> bool:
        """Take a step; False if there is no way up."""
        if self.point is None:
            return False
        direction = self.memory.direction(self.point.gradient)
        found = self._search(self.point, direction)
        if found is None:
            return self._refine(self.point)
        length, point = found
        self.memory.add(length * direction, self.point.gradient - point.gradient)
        self.point = point
        return True

    def _search(
        self, start: JointPoint, direction: FloatArray
    ) -> tuple[float, JointPoint] | None:
        """A step that rises enough, to where it is less steep: its length and end.

        None if there is no such step (conditions of Armijo and Wolfe).
        """
        settings, slope = self.settings, float(np.vdot(start.gradient, direction))
        if not slope > 0:
            return None
        shortest, longest, length = 0.0, np.inf, 1.0
        for _ in range(settings.max_trials):
            place = start.place + length * direction
            point = self.function.at(place, start.x, start.nu)
            least = start.value + settings.least_rise * length * slope
            if point is None or not point.value >= least:
                longest = length
            elif np.vdot(point.gradient, direction) > settings.steep * slope:
                shortest = length
            else:
                return length, point
            is_bounded = longest < np.inf
            length = 0.5 * (shortest + longest) if is_bounded else 2.0 * length
        return None

    def _refine(self, point: JointPoint) -> bool:
        """Relax more accurately from now on; False if that is done already.

        What looks like a kink may be the error of relaxations.
        """
        if self.function.iterations >= self.settings.max_iterations:
            return False
        self.function = self.function.refined()
        self.point = self.function.at(point.place, point.x, point.nu)
        return True

    def split(self, is_over: Callable[[], bool] = lambda: False) -> Split | None:
        """The split that is reached, and what it proves; None if it leaves no ridge."""
        if self.point is None:
            return None
        factor, logs = self.point.place[:, :-1], self.point.place[:, -1]
        P = (factor @ factor.T) / self.unit[:, None] / self.unit
        weights = np.exp(logs) * self.unit / ridge_unit(self.problem)
        weights /= np.exp(np.log(weights).mean())
        effort = Effort(self.settings.final_accuracy * self.size, is_over=is_over)
        x = self.point.x * self.unit
        return Split.relax(self.problem, self.subproblem, P, x, effort, weights)


def optimise_jointly(
    ascents: Sequence[JointAscent],
    seconds: float | None = None,
    is_over: Callable[[], bool] = lambda: False,
    is_enough: Callable[[JointAscent], bool] = lambda _: False,
    settings: JointSettings = DEFAULT.joint,
    least: float = -np.inf,
) -> JointAscent | None:
    """Take the first steps of all ascents, and go on with the best.

    By default the time limit is ``settings.max_seconds``, a safety: ascents end after
    ``settings.max_steps``, and are then reproducible.  Whether a split is good enough
    is asked at ``settings.checkpoints``; the ``least`` bound has to be passed within
    ``settings.trial_steps``.  None if no start leaves a ridge, if that bound is out of
    reach, and if time is up.
    """
    end = time.perf_counter() + (settings.max_seconds if seconds is None else seconds)

    def has_time() -> bool:
        return time.perf_counter() < end and not is_over()

    def climb(ascent: JointAscent, count: int) -> bool:
        """Take some steps; False if there is no way up or no time."""
        return all(has_time() and ascent.step() for _ in range(count))

    open_ascents = [ascent for ascent in ascents if ascent.point is not None]
    if not open_ascents:
        return None
    if len(open_ascents) > 1:
        for ascent in open_ascents:
            climb(ascent, settings.race_steps)
    best = max(open_ascents, key=lambda ascent: ascent.bound)
    n_steps = 0
    for checkpoint in (*settings.checkpoints, settings.max_steps):
        count, since = min(checkpoint, settings.max_steps) - n_steps, best.bound
        goes_on, n_steps = climb(best, count), checkpoint
        is_late = checkpoint >= settings.trial_steps
        if is_over() or (is_late and best.bound < least):
            return None
        has_stalled = best.bound - since < count * settings.least_gain * best.size
        if not goes_on or has_stalled or is_enough(best):
            break
    return best


def _factor(matrix: FloatArray, least: float) -> FloatArray:
    """A factor of the part of a matrix whose eigenvalues are not below the least.

    What is next to nothing in a factor hardly moves, and steps cost less without.
    """
    values, vectors = scipy.linalg.eigh(matrix, check_finite=False)
    # One column at least: the factor of nothing is zero.
    kept = values >= min(least, values[-1])
    return np.asarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0)))
