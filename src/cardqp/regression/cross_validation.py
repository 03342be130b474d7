"""Cross-validation of certified models, with one pass over the rows."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from cardqp._iterate import Callback, Stop
from cardqp._typing import FloatArray
from cardqp.exceptions import NotSolvedError
from cardqp.gram import Moments, mean_squared_error, merge
from cardqp.methods import Method
from cardqp.pipeline.solve import solve
from cardqp.regression.design import Design, ScaledProblem
from cardqp.solution import Solution

SelectionName = Literal["min", "one-standard-error"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Errors on rows that were left out, for each ridge and each sparsity.

    Attributes
    ----------
    etas, sparsities : tuples
        The grid.
    errors : (etas, sparsities, folds) array
        Mean squared errors on the fold that was left out; NaN where it was not reached.
    gaps : (etas, sparsities, folds) array
        Proved gaps of the models behind them.
    solutions : tuple of tuples of Solution
        For each ridge the models on all rows, one per sparsity that was reached.
    """

    etas: tuple[float, ...]
    sparsities: tuple[int, ...]
    errors: FloatArray
    gaps: FloatArray
    solutions: tuple[tuple[Solution, ...], ...]

    @property
    def mean_errors(self) -> FloatArray:
        """Means over the folds."""
        return np.asarray(self.errors.mean(axis=2))

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of these means."""
        n_folds = self.errors.shape[2]
        return np.asarray(self.errors.std(axis=2, ddof=1) / np.sqrt(n_folds))

    def best(self, selection: SelectionName = "min") -> tuple[int, int]:
        """Where the chosen model is in the grid.

        Parameters
        ----------
        selection : {"min", "one-standard-error"}
            The least mean error; or, with the same ridge, the smallest model whose mean
            error is within one standard error of that.
        """
        mean = self.mean_errors
        i, j = np.unravel_index(int(np.nanargmin(mean)), mean.shape)
        if selection == "one-standard-error":
            most = mean[i, j] + self.standard_errors[i, j]
            j = np.flatnonzero(mean[i] <= most)[0]
        return int(i), int(j)


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


def cross_validate(
    parts: Sequence[Moments],
    design: Design,
    sparsities: Sequence[int],
    etas: Sequence[float],
    *,
    method: str | Method = "exact",
    gap: float = 1e-4,
    time_limit: float | None = None,
    callback: Callback | None = None,
    refit: bool = False,
    share: Callable[[Sequence[Fit]], Iterable[Solution]] | None = None,
) -> CrossValidation:
    """Fit models to all rows but those of one part, and judge them there.

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
    time_limit : float or None
        Seconds for everything.
    callback : callable, optional
        Called with a :class:`cardqp.Progress`; True ends everything, as Ctrl-C does.
    refit : bool
        Whether models are judged by coefficients without the ridge.
    share : callable, optional
        Runs the fits of several folds at a time, wherever it likes; one after the other
        by default.

    Returns
    -------
    CrossValidation
        With what was reached, if somebody stopped it.

    Raises
    ------
    KeyboardInterrupt, NotSolvedError
        If it was stopped before the first sparsity was done.
    """
    shape = len(etas), len(sparsities), len(parts)
    errors, gaps = np.full(shape, np.nan), np.full(shape, np.nan)
    solutions: list[list[Solution]] = [[] for _ in etas]
    scaled = [
        design.scaled(merge(rows), etas[0], sparsities[-1])
        for rows in (parts, *_all_but_one(parts))
    ]
    budget = Budget(time_limit, len(etas) * len(sparsities) * len(scaled))
    for i, j in np.ndindex(shape[:2]):
        start = solutions[i][-1].x if solutions[i] else None
        ridged = [each.with_eta(etas[i]).problem for each in scaled]
        problems = [each.with_limits(sparsity=sparsities[j]) for each in ridged]
        fits = [partial(solve, each, method=method, gap=gap) for each in problems]
        answers = _answers(fits, start, budget, callback, share)
        if _is_stopped(answers[-1]):
            _stop_early(answers[-1], is_empty=not solutions[0])
            break
        solutions[i].append(answers[0])
        errors[i, j] = [
            _error(design, *each, refit=refit)
            for each in zip(scaled[1:], answers[1:], parts, strict=True)
        ]
        gaps[i, j] = [answer.gap for answer in answers[1:]]
    kept = tuple(tuple(found) for found in solutions)
    return CrossValidation(tuple(etas), tuple(sparsities), errors, gaps, kept)


def _answers(
    fits: Sequence[Fit],
    start: FloatArray | None,
    budget: Budget,
    callback: Callback | None,
    share: Callable[[Sequence[Fit]], Iterable[Solution]] | None,
) -> list[Solution]:
    """The model of all rows, then those of the folds, until somebody stops them."""
    whole = fits[0](start=start, time_limit=budget.share(), callback=callback)
    if _is_stopped(whole):
        return [whole]
    # Folds differ little from all rows.
    shares = [
        partial(fit, start=whole.x, time_limit=budget.share()) for fit in fits[1:]
    ]
    return [whole, *(share(shares) if share else _in_turn(shares, callback))]


def _in_turn(fits: Sequence[Fit], callback: Callback | None) -> list[Solution]:
    """Fits one after the other, until somebody stops them."""
    answers: list[Solution] = []
    for fit in fits:
        answers.append(fit(callback=callback))
        if _is_stopped(answers[-1]):
            break
    return answers


def _is_stopped(answer: Solution) -> bool:
    return answer.stop in (Stop.INTERRUPTED, Stop.CALLBACK)


def _all_but_one(parts: Sequence[Moments]) -> Iterator[list[Moments]]:
    for k in range(len(parts)):
        yield [part for i, part in enumerate(parts) if i != k]


def _error(
    design: Design,
    training: ScaledProblem,
    answer: Solution,
    left_out: Moments,
    *,
    refit: bool,
) -> float:
    if answer.x is None:
        return np.inf
    coef = training.coefficients(answer.x)
    if refit:
        coef = design.refitted(training.rows, training.chosen(answer.x))
    return mean_squared_error(left_out, coef, training.intercept(coef))


def _stop_early(answer: Solution, *, is_empty: bool) -> None:
    """Go on with what is done; if there is nothing, there is no answer."""
    if is_empty and answer.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    if is_empty:
        raise NotSolvedError(f"Cross-validation has no model yet: {answer.stop.value}.")
