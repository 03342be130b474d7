"""Types shared by adapters: a task, an outcome, and the claim made from it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypedDict, Unpack

import numpy as np

from cardqp._typing import FloatArray
from cardqp.backends.build import build
from cardqp.backends.program import FORMULATIONS, Formulation, Program
from cardqp.bounds.gap import relative_gap
from cardqp.exceptions import ParameterError, not_installed
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.solution.claim import Claim, ClaimStatus

Parameters = Mapping[str, object]
"""A solver's own parameters, by its own names."""

INFINITE = 1e19
"""Numbers beyond this are a solver's way of writing infinity."""

LEAST_TIME = 1e-3
"""Seconds that a solver gets in any case; some take zero for no limit."""


class Limits(TypedDict):
    """How far to solve a problem, and from where.

    Attributes
    ----------
    gap : float
        The relative gap to stop at.
    time_limit : float or None
        Seconds.
    start : (n,) array or None
        A point whose support is a good guess.
    threads : int
        Number of threads that the solver may use, if it can.
    """

    gap: float
    time_limit: float | None
    start: FloatArray | None
    threads: int


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A program, how far to solve it, until when, and with what."""

    program: Program
    gap: float
    deadline: float
    threads: int

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, always positive; None without a limit."""
        if self.deadline == np.inf:
            return None
        return max(self.deadline - time.perf_counter(), LEAST_TIME)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of a solver, in the program's units.

    Attributes
    ----------
    status : ClaimStatus
        ``UNKNOWN`` wherever the solver claims neither optimality nor infeasibility; it
        becomes ``FEASIBLE`` if there is a point.
    message : str
        The solver's own word.
    y, z : arrays or None
        Its point and switches.
    objective, bound : float
        Of the point, and of all points.
    n_nodes : int
        Branches.
    is_interrupted : bool
        Whether Ctrl-C ended it; solvers catch it themselves.
    """

    status: ClaimStatus
    message: str
    y: FloatArray | None = None
    z: FloatArray | None = None
    objective: float = np.inf
    bound: float = -np.inf
    n_nodes: int = 0
    is_interrupted: bool = False


def run(
    optimise: Callable[[Task], Outcome],
    solver: str,
    problem: SparseQP,
    formulation: Formulation,
    has_indicators: bool = True,
    **limits: Unpack[Limits],
) -> Claim:
    """Build the program, have it solved, and say what came out in the problem's units.

    Building counts as time, too.
    """
    begin = time.perf_counter()
    start, seconds = limits["start"], limits["time_limit"]
    program = build(problem, formulation, start, has_indicators=has_indicators)
    blank = program.impossible_row
    if blank is None:
        deadline = begin + (np.inf if seconds is None else seconds)
        outcome = optimise(Task(program, limits["gap"], deadline, limits["threads"]))
    else:
        message = f"row {blank} has no variables and does not hold"
        outcome = Outcome(ClaimStatus.INFEASIBLE, message)
    return _claim(program, outcome, solver, time.perf_counter() - begin)


def _claim(program: Program, outcome: Outcome, solver: str, seconds: float) -> Claim:
    status, x, objective = outcome.status, None, np.inf
    bound = outcome.bound / program.unit
    if abs(outcome.bound) >= INFINITE or np.isnan(outcome.bound):
        bound = -np.inf
    if status is ClaimStatus.INFEASIBLE:
        bound = np.inf
    elif outcome.y is not None and outcome.z is not None:
        x = program.point(outcome.y, outcome.z)
        objective = outcome.objective / program.unit
        if status is ClaimStatus.UNKNOWN:
            status = ClaimStatus.FEASIBLE
    elif status is ClaimStatus.OPTIMAL:
        status = ClaimStatus.UNKNOWN
    return Claim(
        solver=solver,
        status=status,
        x=x,
        objective=objective,
        bound=bound,
        gap=relative_gap(program.problem, x, objective, bound),
        seconds=seconds,
        n_nodes=outcome.n_nodes,
        message=outcome.message,
        is_interrupted=outcome.is_interrupted,
    )


def package(solver: str, name: str, extra: str) -> Any:
    """Import the package of a solver, which one of our extras installs."""
    try:
        return import_module(name)
    except ImportError as err:
        need = f"{solver} needs the package {name}, which is missing or broken ({err})"
        raise not_installed(need, extra) from err


def hand_over(
    parameters: Parameters,
    accept: Callable[[str, object], object],
    refusals: tuple[type[Exception], ...],
    solver: str,
    page: str,
) -> None:
    """Give a solver its own parameters, and say which one it refuses."""
    refused: tuple[type[Exception], ...] = (*refusals, TypeError, ValueError)
    for name, value in parameters.items():
        try:
            accept(name, value)
        except refused as err:
            raise ParameterError(
                "parameters",
                f"must be {solver}'s own",
                given=f"{name!r} = {value!r} is not ({err})",
                remedy=f"see the list of parameters on {page}",
            ) from err


def check_settings(
    solver: str,
    formulation: str,
    parameters: object,
    known: tuple[Formulation, ...] = FORMULATIONS,
) -> None:
    """Refuse a formulation that a solver, or everyone, does not have.

    Parameters must be a mapping; whether a solver knows them, it will say itself.
    """
    names = ", ".join(f'"{name}"' for name in known)
    rule = f"must be one of {names} for {solver}"
    check.demand(formulation in known, "formulation", rule, formulation)
    rule = "must be a mapping from a solver's own names to values"
    check.demand(isinstance(parameters, Mapping), "parameters", rule, parameters)
