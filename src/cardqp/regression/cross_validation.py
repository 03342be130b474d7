"""Cross-validation of certified models, with one pass over the rows."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from cardqp._iterate import Watch
from cardqp._typing import FloatArray
from cardqp.gram import Moments, mean_squared_error, merge
from cardqp.methods import Method
from cardqp.pipeline.solve import solve
from cardqp.regression.design import Design, ScaledProblem
from cardqp.solution import Solution

SelectionName = Literal["min", "one-standard-error"]


HALF = 0.5
"""Standard errors that a stronger ridge may cost, where the choice is ours."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Errors on rows that were left out, for each ridge and each sparsity.

    Attributes
    ----------
    etas, sparsities : tuples
        The grid.
    errors : (etas, sparsities, folds) array
        Mean squared errors on the fold that was left out; NaN where it was not reached.
        Where somebody broke off the first ridge, there are fewer folds.
    gaps : (etas, sparsities, folds) array
        Proved gaps of the models behind them, infinite where nothing was proved.
    solutions : tuple of tuples of Solution
        For each ridge the models on all rows, one per sparsity that was reached, if
        they were solved.
    """

    etas: tuple[float, ...]
    sparsities: tuple[int, ...]
    errors: FloatArray
    gaps: FloatArray
    solutions: tuple[tuple[Solution, ...], ...] = ()

    @property
    def mean_errors(self) -> FloatArray:
        """Means over the folds."""
        return np.asarray(self.errors.mean(axis=2))

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of these means."""
        return _standard_error(self.errors)

    @property
    def n_reached(self) -> int:
        """How many models were compared."""
        return int((~np.isnan(self.mean_errors)).sum())

    def best(
        self, selection: SelectionName = "min", *, is_stronger_better: bool = False
    ) -> tuple[int, int]:
        """Where the chosen model is in the grid.

        Parameters
        ----------
        selection : {"min", "one-standard-error"}
            The least mean error; or, with the same ridge, the smallest model whose mean
            error is within one standard error of that.
        is_stronger_better : bool
            Whether the ridge is the strongest one with a model whose excess over the
            least error is within half its standard error, as folds differ in it.
        """
        mean = self.mean_errors
        i, j = divmod(int(np.nanargmin(mean)), mean.shape[1])
        if is_stronger_better and self.errors.shape[2] > 1:
            excess = self.errors - self.errors[i, j]
            is_near = excess.mean(axis=2) <= HALF * _standard_error(excess)
            near = np.flatnonzero(is_near.any(axis=1)).tolist()
            i = min(near, key=self.etas.__getitem__)
            j = int(np.nanargmin(mean[i]))
        if selection == "one-standard-error" and self.errors.shape[2] > 1:
            most = mean[i, j] + self.standard_errors[i, j]
            j = int(np.flatnonzero(mean[i] <= most)[0])
        return i, j


def _standard_error(values: FloatArray) -> FloatArray:
    """The standard error of means over the last axis; NaN for means of one."""
    count = values.shape[-1]
    if count == 1:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.std(axis=-1, ddof=1) / np.sqrt(count))


@dataclass(slots=True)
class Budget:
    """Seconds for several fits: what one leaves over is shared by those after it."""

    seconds: float | None
    n_left: int
    started: float = field(default_factory=time.perf_counter)

    def share(self) -> float | None:
        """Seconds for the next fit."""
        self.n_left -= 1
        if self.seconds is None:
            return None
        left = self.seconds - (time.perf_counter() - self.started)
        return max(left, 0.0) / (self.n_left + 1)


Fit = Callable[..., Solution]
"""A model to be fitted: ``solve`` with all that it takes but for a callback."""

Share = Callable[[Sequence[Fit]], list[Solution]]
"""Runs fits wherever it likes; fewer solutions come back if somebody stops it."""


def cross_validate(
    parts: Sequence[Moments],
    design: Design,
    sparsities: Sequence[int],
    etas: Sequence[float],
    *,
    method: str | Method = "exact",
    gap: float = 1e-4,
    watch: Watch,
    refit: bool = False,
    share: Share | None = None,
) -> CrossValidation:
    """Fit certified models to all rows but those of one part, and judge them there.

    Parameters
    ----------
    parts : sequence of Moments
        The folds, at least two.
    design : Design
        What is asked of the models.
    sparsities, etas : sequences
        The grid, sparsities in increasing order.
    method, gap
        As for :func:`cardqp.solve`.
    watch : Watch
        The clock, whose time limit is for everything.
    refit : bool
        Whether models are judged by coefficients without the ridge.
    share : callable, optional
        Runs the fits of several folds at a time, wherever it likes; one after the other
        by default.

    Returns
    -------
    CrossValidation
        With what was reached, if somebody stopped it: a sparsity counts if no fold of
        it was cut short.
    """
    shape = len(etas), len(sparsities), len(parts)
    errors, gaps = np.full(shape, np.nan), np.full(shape, np.nan)
    solutions: list[list[Solution]] = [[] for _ in etas]
    scaled = [
        design.scaled(rows, etas[0], sparsities[-1])
        for rows in (merge(parts), *others(parts))
    ]
    budget = Budget(watch.time_limit, len(etas) * len(sparsities) * len(scaled))
    for i, j in np.ndindex(shape[:2]):
        start = solutions[i][-1].x if solutions[i] else None
        ridged = [each.with_eta(etas[i]).problem for each in scaled]
        problems = [each.with_limits(sparsity=sparsities[j]) for each in ridged]
        fits = [partial(solve, each, method=method, gap=gap) for each in problems]
        answers = _answers(fits, start, budget, watch, share)
        if watch.is_unwanted or len(answers) < len(fits):
            break
        solutions[i].append(answers[0])
        errors[i, j] = [
            error_on(part, training, answer.x, design, refit=refit)
            for training, answer, part in zip(
                scaled[1:], answers[1:], parts, strict=True
            )
        ]
        gaps[i, j] = [answer.gap for answer in answers[1:]]
    kept = tuple(tuple(found) for found in solutions)
    return CrossValidation(tuple(etas), tuple(sparsities), errors, gaps, kept)


def others(parts: Sequence[Moments]) -> Iterator[Moments]:
    """The moments of all parts but one, for each of them."""
    for k in range(len(parts)):
        yield merge([part for i, part in enumerate(parts) if i != k])


def error_on(
    left_out: Moments,
    training: ScaledProblem,
    x: FloatArray | None,
    design: Design,
    *,
    refit: bool,
) -> float:
    """The mean squared error of a model on rows that were left out.

    Infinite without a model; ``refit`` drops the ridge from its coefficients.
    """
    if x is None:
        return np.inf
    coef = training.coefficients(x)
    if refit:
        coef = design.refitted(training.rows, training.chosen(x))
    return mean_squared_error(left_out, coef, training.intercept(coef))


def _answers(
    fits: Sequence[Fit],
    start: FloatArray | None,
    budget: Budget,
    watch: Watch,
    share: Share | None,
) -> list[Solution]:
    """The model of all rows, then those of the folds, until somebody stops them."""
    callback = None if watch.callback is None else watch.relay
    whole = fits[0](start=start, time_limit=budget.share(), callback=callback)
    if watch.is_unwanted:
        return [whole]
    # Folds differ little from all rows.
    shares = [
        partial(fit, start=whole.x, time_limit=budget.share()) for fit in fits[1:]
    ]
    if share is not None:
        return [whole, *share(shares)]
    answers = [whole]
    for fit in shares:
        answers.append(fit(callback=callback))
        if watch.is_unwanted:
            break
    return answers
