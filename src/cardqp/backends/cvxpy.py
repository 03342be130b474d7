"""Whatever mixed-integer cone solver CVXPY finds: MOSEK, Xpress, CPLEX, COPT, ..."""

import warnings
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from cardqp._keywords import did_you_mean
from cardqp.backends.adapter import (
    Limits,
    Outcome,
    Parameters,
    Task,
    check_settings,
    package,
    run,
)
from cardqp.backends.dialects import DIALECTS, Dialect
from cardqp.backends.program import Formulation, Program
from cardqp.exceptions import BackendError, BackendNotFoundError
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.solution.claim import Claim, ClaimStatus

FORMULATIONS: tuple[Formulation, ...] = ("perspective", "big-m")
"""Those that need neither special ordered sets nor indicators."""

LATE = 0.1
"""A solver that fails so many seconds before its limit has run out of time."""


_STATUS = {
    "optimal": ClaimStatus.OPTIMAL,
    "gaplimit": ClaimStatus.OPTIMAL,
    "infeasible": ClaimStatus.INFEASIBLE,
    # The objective is bounded below whatever the constraints.
    "infeasible_or_unbounded": ClaimStatus.INFEASIBLE,
    "inforunbd": ClaimStatus.INFEASIBLE,
}


@did_you_mean
@dataclass(frozen=True, slots=True)
class Cvxpy:
    """A mixed-integer cone solver behind CVXPY.

    Parameters
    ----------
    solver : str
        ``"SCIP"``, ``"GUROBI"``, ``"COPT"``, ``"MOSEK"``, ``"CPLEX"`` or ``"XPRESS"``.
    formulation : {"perspective", "big-m"}
        How variables are switched off.  There are neither special ordered sets nor
        indicators in CVXPY: with ``"perspective"``, cones switch variables off, and
        bounds where they are given or can be proved.
    parameters : mapping
        The solver's own parameters.
    """

    solver: str
    formulation: Formulation = "perspective"
    parameters: Parameters = field(default_factory=dict)

    def __post_init__(self) -> None:
        check.one_of("solver", self.solver, DIALECTS)
        check_settings("CVXPY", self.formulation, self.parameters, FORMULATIONS)

    def solve(self, problem: SparseQP, **limits: Unpack[Limits]) -> Claim:
        cvxpy = package(self.solver, "cvxpy", "cvxpy")
        if self.solver not in cvxpy.installed_solvers():
            raise BackendNotFoundError(
                f"CVXPY finds no {self.solver}: install it with "
                f"`pip install {DIALECTS[self.solver].package}`."
            )
        return run(
            self._optimise,
            f"{self.solver} by CVXPY {cvxpy.__version__}",
            problem,
            self.formulation,
            has_indicators=False,
            **limits,
        )

    def _optimise(self, task: Task) -> Outcome:
        import cvxpy

        model = _Model(task.program)
        try:
            with warnings.catch_warnings():
                # CVXPY warns of points that are not proved optimal.
                warnings.simplefilter("ignore")
                model.cvxpy.solve(
                    solver=self.solver,
                    warm_start=task.program.start is not None,
                    **self._settings(task),
                )
        except cvxpy.SolverError as err:
            # Not having found a point in time is a failure to CVXPY.
            if task.seconds_left is not None and task.seconds_left < LATE:
                return Outcome(ClaimStatus.UNKNOWN, "time limit, no point")
            raise self._failure(err) from err
        except Exception as err:
            raise self._failure(err) from err
        return model.outcome(DIALECTS[self.solver])

    def _settings(self, task: Task) -> dict[str, Any]:
        dialect = DIALECTS[self.solver]
        settings: dict[str, Any] = {dialect.gap: task.gap}
        if (seconds := task.seconds_left) is not None:
            settings[dialect.time] = seconds
        if dialect.threads is not None:
            settings[dialect.threads] = task.threads
        if self.solver == "GUROBI":
            settings["env"] = _quiet_gurobi()
        settings |= self.parameters
        return settings if dialect.under is None else {dialect.under: settings}

    def _failure(self, err: Exception) -> BackendError:
        return BackendError(
            f"{self.solver} failed behind CVXPY, or was interrupted "
            f"({type(err).__name__}: {err}): check its licence, which may limit sizes, "
            'and `parameters`, or use "scip".'
        )


def _quiet_gurobi() -> Any:
    """An environment that does not print its licence, which CVXPY's own does."""
    import gurobipy

    return gurobipy.Env(params={"OutputFlag": 0})


class _Model:
    """A program in CVXPY, and its variables."""

    def __init__(self, program: Program) -> None:
        import cvxpy as cp

        n, low_high = len(program.scale), program.column_bounds
        self.y = cp.Variable(n, bounds=list(low_high))
        self.z = cp.Variable(program.n_switches, boolean=True)
        # With the constant in the objective, gaps are relative to the whole.
        one = cp.Variable(bounds=[1.0, 1.0])
        cost = program.slope @ self.y + program.price * cp.sum(self.z)
        cost += program.constant * one
        constraints = _rows(program, self.y, self.z)
        if program.has_cones:
            squares, cones = _cones(program, self.y, self.z)
            constraints += cones
        else:
            squares = cp.sum_squares(program.factor @ self.y)
        self.cvxpy = cp.Problem(cp.Minimize(cost + squares), constraints)
        if program.start is not None:
            # CVXPY refuses a start that is outside of bounds, by rounding even.
            self.y.value = np.clip(program.start, *low_high)
            self.z.value = program.start_switches

    def outcome(self, dialect: Dialect) -> Outcome:
        """The status, point and bound that the solver ended with."""
        message, stats = self.cvxpy.status, self.cvxpy.solver_stats.extra_stats
        numbers: dict[str, Any] = {}
        if stats is not None and dialect.bound and dialect.nodes:
            numbers = {"bound": dialect.bound(stats), "n_nodes": dialect.nodes(stats)}
        if stats is not None and dialect.word:
            message = dialect.word(stats)
        status = _STATUS.get(message, ClaimStatus.UNKNOWN)
        if self.y.value is not None and self.cvxpy.value is not None:
            numbers |= {"y": np.asarray(self.y.value), "z": np.asarray(self.z.value)}
            numbers["objective"] = float(self.cvxpy.value)
        return Outcome(status, message, **numbers)


def _rows(program: Program, y: Any, z: Any) -> list[Any]:
    """Rows, decided switches, limits on switches, and bounds that switch off."""
    import cvxpy as cp

    rows, switch = program.rows, program.switch
    equal, has_any = rows.is_equality, rows.matrix.any(axis=1)
    below, above = program.linked_below, program.linked_above
    found = []
    for used, is_equality in ((equal & has_any, True), (~equal & has_any, False)):
        if used.any():
            left, right = rows.matrix[used] @ y, rows.rhs[used]
            found.append(left == right if is_equality else left <= right)
    for decided, value in ((program.is_on, 1.0), (program.is_off, 0.0)):
        if decided.any():
            found.append(z[np.flatnonzero(decided)] == value)
    for limit in program.limits:
        found.append(cp.sum(z[limit.switches]) <= limit.most)
    if len(below):
        found.append(y[below] >= cp.multiply(program.lower[below], z[switch[below]]))
    if len(above):
        found.append(y[above] <= cp.multiply(program.upper[above], z[switch[above]]))
    return found


def _cones(program: Program, y: Any, z: Any) -> tuple[Any, list[Any]]:
    """Cost and cones of the squares: one cone each, which solvers cut best."""
    import cvxpy as cp

    k, n = program.factor.shape
    t, on = cp.Variable(n, nonneg=True), z[program.switch]
    cost = program.weights @ t
    cones = [cp.SOC(t + on, cp.vstack([2.0 * y, t - on]), axis=0)]
    if k:
        loss = cp.Variable(k, nonneg=True)
        cost += cp.sum(loss)
        sides = cp.vstack([2.0 * (program.factor @ y), loss - 1.0])
        cones.append(cp.SOC(loss + 1.0, sides, axis=0))
    if program.start is not None:
        t.value = program.start**2
        if k:
            loss.value = (program.factor @ program.start) ** 2
    return cost, cones
