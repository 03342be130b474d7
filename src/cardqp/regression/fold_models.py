"""Cross-validation by good models without proofs, in a small part of the time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from cardqp._iterate import Progress, Watch
from cardqp._typing import FloatArray
from cardqp.gram import Moments
from cardqp.heuristics.support_path import point_path
from cardqp.problem import SparseQP
from cardqp.regression.cross_validation import (
    CrossValidation,
    error_on,
    others,
)
from cardqp.regression.design import Design, ScaledProblem

Task = Callable[[Watch], FloatArray]
"""What is to be done for one fold, until a watch says that it is over."""

Share = Callable[[Iterable[Callable[[], FloatArray]]], list[FloatArray]]
"""Runs tasks wherever it likes; fewer results come back if somebody stops it."""


def compare_models(
    parts: Sequence[Moments],
    design: Design,
    sparsities: Sequence[int],
    etas: Sequence[float],
    *,
    watch: Watch,
    refit: bool = False,
    share: Share | None = None,
) -> CrossValidation:
    """Judge good models of all rows but one part's on that part.

    Parameters
    ----------
    parts : sequence of Moments
        The folds, at least two.
    design : Design
        What is asked of the models.
    sparsities, etas : sequences
        The grid, sparsities in increasing order.
    watch : Watch
        The clock.  Ridges that time is up for are left out.
    refit : bool
        Whether models are judged by coefficients without the ridge.
    share : callable, optional
        Runs the work for several folds at a time; one after the other by default.
    """
    with watch.paused():
        load_paths()
    shape = len(etas), len(sparsities), len(parts)
    errors = np.full(shape, np.nan)
    trainings = [design.scaled(rows, etas[0], sparsities[-1]) for rows in others(parts)]
    for i, eta in enumerate(etas):
        tasks = [
            Fold(training.with_eta(eta), design, tuple(sparsities), part, refit).errors
            for training, part in zip(trainings, parts, strict=True)
        ]
        if share is None:
            found = _in_turn(tasks, eta, watch)
        else:
            found = share(partial(_apart, task, watch.seconds_left) for task in tasks)
        if watch.is_over or len(found) < len(tasks):
            break
        errors[i] = np.array(found).T
    unproved = np.full(shape, np.inf)
    return CrossValidation(tuple(etas), tuple(sparsities), errors, unproved)


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows to fit models to, and rows that judge them.

    Attributes
    ----------
    training : ScaledProblem
        The problem on the rows of the fit.
    design : Design
        What is asked of the models.
    sparsities : tuple of int
        Sizes of the models, in increasing order.
    left_out : Moments
        The rows that judge.
    refit : bool
        Whether they judge coefficients without the ridge.
    """

    training: ScaledProblem
    design: Design
    sparsities: tuple[int, ...]
    left_out: Moments
    refit: bool

    def errors(self, watch: Watch) -> FloatArray:
        """Mean squared errors by size; incomplete once time is up."""
        largest = min(self.sparsities[-1], self.design.n_units)
        is_over = partial(getattr, watch, "is_over")
        smallest = self.sparsities[0]
        points = point_path(self.training.problem, largest, is_over, smallest=smallest)
        errors = np.full(len(self.sparsities), np.nan)
        for j, size in enumerate(self.sparsities):
            # Features that depend on those inside are not chosen: fewer must do then.
            known = [k for k in points if k <= size]
            if known:
                x = points[max(known)]
                errors[j] = error_on(
                    self.left_out, self.training, x, self.design, refit=self.refit
                )
        return errors


def _in_turn(tasks: Sequence[Task], eta: float, watch: Watch) -> list[FloatArray]:
    """Results of tasks one after the other, until somebody stops them."""
    found: list[FloatArray] = []
    for number, task in enumerate(tasks, start=1):
        stage = f"eta {eta:g}, fold {number} of {len(tasks)}"
        if watch.check(partial(Progress, stage, number)) is not None:
            break
        found.append(task(watch))
    return found


def _apart(task: Task, seconds: float | None) -> FloatArray:
    """The result of a task in another process."""
    with Watch(seconds) as watch:
        return task(watch)


@cache
def load_paths() -> None:
    """Compile what paths need, or load it from disk, before a clock starts."""
    point_path(SparseQP(np.eye(3), [1.0, 2.0, 3.0], eta=1.0, sparsity=1), 2)
