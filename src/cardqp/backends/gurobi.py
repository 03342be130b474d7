"""Gurobi, by way of gurobipy."""

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
    hand_over,
    package,
    run,
)
from cardqp.backends.program import Formulation, Program
from cardqp.exceptions import BackendError
from cardqp.problem import SparseQP
from cardqp.solution.claim import Claim, ClaimStatus

_STATUS = {
    "OPTIMAL": ClaimStatus.OPTIMAL,
    "INFEASIBLE": ClaimStatus.INFEASIBLE,
    # The objective is bounded below whatever the constraints.
    "INF_OR_UNBD": ClaimStatus.INFEASIBLE,
}

WITHOUT_CONES = 100
"""How many variables fit without a licence if there are two columns for each."""


@did_you_mean
@dataclass(frozen=True, slots=True)
class Gurobi:
    """Gurobi (commercial), which solves problems of all kinds.

    Without a licence of one's own it accepts 200 columns at most where anything is
    quadratic: 66 variables as ``"perspective"``, 100 as ``"indicator"``.

    Parameters
    ----------
    formulation : {"perspective", "sos1", "indicator", "big-m"}
        How variables are switched off.  ``"perspective"`` has the best bounds; where
        bounds do not switch a variable off, it has an indicator besides.
    parameters : mapping
        Gurobi's own parameters, such as ``{"NodeLimit": 1000}``.
    """

    formulation: Formulation = "perspective"
    parameters: Parameters = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings("Gurobi", self.formulation, self.parameters)

    def solve(self, problem: SparseQP, **limits: Unpack[Limits]) -> Claim:
        version = package("Gurobi", "gurobipy", "gurobi").gurobi.version()
        name = f"Gurobi {'.'.join(map(str, version))}"
        return run(self._optimise, name, problem, self.formulation, **limits)

    def _optimise(self, task: Task) -> Outcome:
        import gurobipy

        try:
            with (
                gurobipy.Env(params={"OutputFlag": 0}) as env,
                gurobipy.Model(env=env) as solver,
            ):
                model = _Model(task.program, solver)
                solver.Params.MIPGap = task.gap
                solver.Params.Threads = task.threads
                if (seconds := task.seconds_left) is not None:
                    solver.Params.TimeLimit = seconds
                refusals = (gurobipy.GurobiError,)
                page = "docs.gurobi.com"
                hand_over(self.parameters, solver.setParam, refusals, "Gurobi", page)
                solver.optimize()
                return model.outcome()
        except gurobipy.GurobiError as err:
            raise _explained(err, len(task.program.scale)) from err


def _explained(err: Any, n: int) -> BackendError:
    """An error of Gurobi's in one sentence."""
    from gurobipy import GRB

    if err.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
        other = 'formulation="indicator"' if n <= WITHOUT_CONES else '"scip"'
        return BackendError(
            "Gurobi without a licence accepts 200 columns where anything is quadratic, "
            f"which this problem of {n} variables exceeds: install a licence or use "
            f"{other}."
        )
    if err.errno == GRB.Error.NO_LICENSE:
        return BackendError(
            f'Gurobi found no valid licence ({err}): install one, or use "scip".'
        )
    return BackendError(f"Gurobi failed: {err} (error {err.errno}).")


class _Model:
    """A program in Gurobi, and its columns: ``y``, ``z`` and the heights ``t``."""

    def __init__(self, program: Program, solver: Any) -> None:
        n, m = len(program.scale), program.n_switches
        heights = n if program.has_cones else 0
        low, high = program.column_bounds
        columns = solver.addMVar(
            n + m + heights,
            lb=np.concatenate([low, program.is_on, np.zeros(heights)]),
            ub=np.concatenate([high, ~program.is_off, np.full(heights, np.inf)]),
            vtype=["C"] * n + ["B"] * m + ["C"] * heights,
        )
        self.program, self.solver = program, solver
        self.y, self.z, self.t = columns[:n], columns[n : n + m], columns[n + m :]
        weights = program.weights[:heights]
        slope = np.concatenate([program.slope, np.full(m, program.price), weights])
        solver.setMObjective(
            program.form, slope, program.constant, self.y, self.y, columns
        )
        self._add_rows()
        self._add_switches()
        if program.start is not None:
            values = [
                program.start,
                program.start_switches,
                program.start[:heights] ** 2,
            ]
            columns.Start = np.concatenate(values)

    def _add_rows(self) -> None:
        rows = self.program.rows
        if len(rows):
            sense = np.where(rows.is_equality, "=", "<")
            self.solver.addMConstr(rows.matrix, self.y, sense, rows.rhs)
        for limit in self.program.limits:
            self.solver.addConstr(self.z[limit.switches].sum() <= limit.most)

    def _add_switches(self) -> None:
        program, add = self.program, self.solver.addConstr
        below, above = program.linked_below, program.linked_above
        switch = program.switch
        add(self.y[below] >= program.lower[below] * self.z[switch[below]])
        add(self.y[above] <= program.upper[above] * self.z[switch[above]])
        y, z = self.y.tolist(), self.z.tolist()
        for j in program.unlinked:
            self._switch_off(y[j], z[switch[j]])
        for j, height in enumerate(self.t.tolist()):
            add(y[j] * y[j] <= height * z[switch[j]])

    def _switch_off(self, y: Any, z: Any) -> None:
        """``z = 0`` implies ``y = 0``."""
        if self.program.formulation == "sos1":
            off = self.solver.addVar(vtype="B")
            self.solver.addConstr(off + z == 1)
            self.solver.addSOS(1, [y, off])
        else:
            self.solver.addGenConstrIndicator(z, False, y, "=", 0.0)

    def outcome(self) -> Outcome:
        """The status, point and bound that the solver ended with."""
        solver = self.solver
        message = _name_of(solver.Status)
        has_point = solver.SolCount > 0
        return Outcome(
            _STATUS.get(message, ClaimStatus.UNKNOWN),
            message,
            y=np.asarray(self.y.X) if has_point else None,
            z=np.asarray(self.z.X) if has_point else None,
            objective=solver.ObjVal if has_point else np.inf,
            bound=solver.ObjBound,
            n_nodes=int(solver.NodeCount),
            is_interrupted=message == "INTERRUPTED",
        )


def _name_of(status: int) -> str:
    """Gurobi's name of a status."""
    from gurobipy import GRB

    names = [name for name in dir(GRB.Status) if name.isupper()]
    known = {getattr(GRB.Status, name): name for name in names}
    return str(known.get(status, status))
