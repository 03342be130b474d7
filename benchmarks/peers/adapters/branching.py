"""What adapters for mixed-integer solvers share: forms to try, refusals, the answer."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import exchange
import numpy as np
from programs import (
    INFINITE,
    NoBoundsError,
    Problem,
    Program,
    big_m,
    perspective,
)


class TooLargeError(RuntimeError):
    """The program is larger than the solver's licence allows."""


class NoLicenceError(RuntimeError):
    """The solver does not start without a licence."""


@dataclass(frozen=True)
class Outcome:
    """What a solver says about a program.

    Attributes
    ----------
    values : array or None
        Its columns, if it has found a point.
    bound : float
        Its lower bound.
    claims_optimal : bool
        Whether it claims that the gap is within the tolerance.
    """

    values: np.ndarray | None
    bound: float
    claims_optimal: bool


Solve = Callable[[Program, exchange.Clock], Outcome]
Form = Callable[[Problem], Program]


def main(solve: Solve, forms: tuple[Form, ...] = (perspective, big_m)) -> None:
    """Solve the task named on the command line in the first form that is accepted."""
    task_path, answer_path, marker_path = sys.argv[1:]
    problem = Problem.load(task_path)
    for form in forms:
        clock = exchange.Clock(Path(marker_path))
        try:
            program = form(problem)
            answer = _answer(program, solve(program, clock))
        except (TooLargeError, NoBoundsError):
            continue
        except NoLicenceError:
            exchange.refuse("no licence")
        exchange.write(answer_path, answer, clock)
        return
    exchange.refuse("size limit")


def _answer(program: Program, outcome: Outcome) -> exchange.Answer:
    """The outcome in the units of the problem."""
    x = np.zeros(len(program.problem.c))
    if outcome.values is not None:
        x = program.point(np.asarray(outcome.values, dtype=float))
    has_bound = abs(outcome.bound) < INFINITE
    bound = outcome.bound / program.problem.unit if has_bound else np.nan
    return exchange.Answer(x, bound, outcome.claims_optimal)
