"""Cross-validation by good models without proofs, in a small part of the time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from cardqp._iterate import Progress, Watch
from cardqp._typing import FloatArray
from cardqp.gram import Moments
from cardqp.heuristics.support_path import point_path
from cardqp.problem import SparseQP
from cardqp.regression.cross_validation import (
    Budget,
    CrossValidation,
    error_on,
    others,
)
from cardqp.regression.design import Design, ScaledProblem

COMPARED = 0.8
"""The share of the time limit that comparisons may take: the rest is for a proof."""

Share = Callable[[Sequence[Callable[[], FloatArray]]], list[FloatArray]]
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
        The clock.  Sizes that a fold has no time for do not count, nor does a ridge
        that somebody breaks off.
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
    seconds = watch.seconds_left
    limit = None if seconds is None else COMPARED * seconds
    budget = Budget(limit, len(etas) * len(parts))
    for i, eta in enumerate(etas):
        folds = [
            Fold(training.with_eta(eta), design, tuple(sparsities), part, refit)
            for training, part in zip(trainings, parts, strict=True)
        ]
        if share is None:
            found = _in_turn(folds, eta, budget, watch)
        else:
            found = share([partial(fold.errors, budget.share()) for fold in folds])
        if len(found) < len(folds):
            if i == 0 and found:
                # Better judged by some folds than not at all.
                errors = errors[:, :, : len(found)]
                errors[0] = np.array(found).T
            break
        errors[i] = np.array(found).T
    unproved = np.full(errors.shape, np.inf)
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

    def errors(self, seconds: float | None) -> FloatArray:
        """Mean squared errors by size; NaN where a number of seconds is too few."""
        problem, sizes = self.training.problem, self.sparsities
        load_paths()  # in another process nobody has yet
        with Watch(seconds) as watch:
            points = point_path(
                problem, sizes[-1], lambda: watch.is_over, smallest=sizes[0]
            )
            is_cut_short = watch.is_over
        # Features that depend on those inside are not chosen: fewer must do then.
        reached = max(points, default=0) if is_cut_short else sizes[-1]
        known = {
            size: max((k for k in points if k <= size), default=0) for size in sizes
        }
        return np.array(
            [
                self._error(points[known[size]])
                if known[size] > 0 and size <= reached
                else np.nan
                for size in sizes
            ]
        )

    def _error(self, x: FloatArray) -> float:
        return error_on(self.left_out, self.training, x, self.design, refit=self.refit)


def _in_turn(
    folds: Sequence[Fold], eta: float, budget: Budget, watch: Watch
) -> list[FloatArray]:
    """Errors on folds one after the other, until somebody stops them."""
    found: list[FloatArray] = []
    for number, fold in enumerate(folds, start=1):
        stage = f"eta {eta:g}, fold {number} of {len(folds)}"
        watch.check(partial(Progress, stage, number))
        if not watch.is_unwanted:
            errors = fold.errors(budget.share())
        if watch.is_unwanted:
            break
        found.append(errors)
    return found


@cache
def load_paths() -> None:
    """Compile what paths need, or load it from disk, before a clock starts."""
    point_path(SparseQP(np.eye(3), [1.0, 2.0, 3.0], eta=1.0, sparsity=1), 2)
