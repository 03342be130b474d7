"""Gurobi, by way of gurobipy."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cardqp._typing import FloatArray
from cardqp.backends.adapter import (
    Outcome,
    Parameters,
    Task,
    check_formulation,
    check_parameters,
    run,
)
from cardqp.backends.program import Formulation, Program
from cardqp.exceptions import BackendError, BackendNotFoundError, ParameterError
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
        check_formulation("Gurobi", self.formulation)
        check_parameters(self.parameters)

    def solve(
        self,
        problem: SparseQP,
        *,
        gap: float,
        time_limit: float | None,
        start: FloatArray | None,
        threads: int,
    ) -> Claim:
        try:
            import gurobipy
        except ImportError as err:
            raise BackendNotFoundError(
                "Gurobi needs the package gurobipy, which is missing or broken "
                f"({err}): install it with `pip install 'cardqp[gurobi]'`."
            ) from err
        version = ".".join(map(str, gurobipy.gurobi.version()))
        return run(
            self._optimise,
            f"Gurobi {version}",
            problem,
            self.formulation,
            gap=gap,
            time_limit=time_limit,
            start=start,
            threads=threads,
        )

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
                self._set_own(solver)
                solver.optimize()
                return model.outcome()
        except gurobipy.GurobiError as err:
            raise _explained(err, len(task.program.scale)) from err

    def _set_own(self, solver: Any) -> None:
        import gurobipy

        for name, value in self.parameters.items():
            try:
                solver.setParam(name, value)
            except (gurobipy.GurobiError, TypeError, ValueError) as err:
                raise ParameterError(
                    "parameters",
                    "must be Gurobi's own",
                    given=f"{name!r} = {value!r} is not ({err})",
                    remedy="see the list of parameters on docs.gurobi.com",
                ) from err


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
        status = _STATUS.get(message, ClaimStatus.UNKNOWN)
        numbers: dict[str, Any] = {
            "bound": solver.ObjBound,
            "n_nodes": int(solver.NodeCount),
            "is_interrupted": message == "INTERRUPTED",
        }
        if solver.SolCount == 0:
            return Outcome(status, message, **numbers)
        return Outcome(
            status,
            message,
            y=np.asarray(self.y.X),
            z=np.asarray(self.z.X),
            objective=solver.ObjVal,
            **numbers,
        )


def _name_of(status: int) -> str:
    """Gurobi's name of a status."""
    from gurobipy import GRB

    names = [name for name in dir(GRB.Status) if name.isupper()]
    known = {getattr(GRB.Status, name): name for name in names}
    return str(known.get(status, status))
