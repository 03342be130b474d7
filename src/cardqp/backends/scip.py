"""SCIP, by way of PySCIPOpt."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from cardqp._keywords import did_you_mean
from cardqp._typing import FloatArray
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
from cardqp.problem import SparseQP
from cardqp.solution.claim import Claim, ClaimStatus

_STATUS = {
    "optimal": ClaimStatus.OPTIMAL,
    "gaplimit": ClaimStatus.OPTIMAL,
    "infeasible": ClaimStatus.INFEASIBLE,
    # The objective is bounded below whatever the constraints.
    "inforunbd": ClaimStatus.INFEASIBLE,
}


@did_you_mean
@dataclass(frozen=True, slots=True)
class Scip:
    """SCIP (Apache 2.0), which solves problems of all kinds; it uses one thread.

    Its objectives are linear, so that the form is written as a sum of squares,
    ``loss_i >= (F y)_i^2``.

    Parameters
    ----------
    formulation : {"perspective", "sos1", "indicator", "big-m"}
        How variables are switched off.  ``"perspective"`` has the best bounds; where
        bounds do not switch a variable off, it has an indicator besides.
    parameters : mapping
        SCIP's own parameters, such as ``{"limits/nodes": 1000}``.
    """

    formulation: Formulation = "perspective"
    parameters: Parameters = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings("SCIP", self.formulation, self.parameters)

    def solve(self, problem: SparseQP, **limits: Unpack[Limits]) -> Claim:
        name = f"SCIP {package('SCIP', 'pyscipopt', 'scip').Model().version()}"
        return run(self._optimise, name, problem, self.formulation, **limits)

    def _optimise(self, task: Task) -> Outcome:
        model = _Model(task.program)
        model.set_start()
        solver = model.solver
        solver.setParam("limits/gap", task.gap)
        if (seconds := task.seconds_left) is not None:
            solver.setParam("limits/time", seconds)
        hand_over(self.parameters, solver.setParam, (KeyError,), "SCIP", "scipopt.org")
        solver.optimize()
        return model.outcome()


class _Model:
    """A program in SCIP, and its columns."""

    def __init__(self, program: Program) -> None:
        import pyscipopt

        self.program, self.solver = program, pyscipopt.Model()
        self.solver.hideOutput()
        self._total = pyscipopt.quicksum
        add = self.solver.addVar
        n, bounds = len(program.scale), program.column_bounds
        self.y = [add(lb=low, ub=high) for low, high in zip(*bounds, strict=True)]
        self.z = [
            add(vtype="B", lb=float(on), ub=float(not off))
            for on, off in zip(program.is_on, program.is_off, strict=True)
        ]
        self.t = [add() for _ in range(n if program.has_cones else 0)]
        self.residual = [add(lb=None) for _ in program.factor]
        self.loss = [add() for _ in program.factor]
        self._add_rows()
        self._add_switches()
        self._add_squares()
        self._set_objective()

    def _linear(self, coefficients: FloatArray, columns: list[Any]) -> Any:
        used = np.flatnonzero(coefficients)
        return self._total(float(coefficients[j]) * columns[j] for j in used)

    def _add_rows(self) -> None:
        rows = self.program.rows
        for row, rhs, is_equality in zip(
            rows.matrix, rows.rhs.tolist(), rows.is_equality, strict=True
        ):
            if row.any():
                total = self._linear(row, self.y)
                self.solver.addCons(total == rhs if is_equality else total <= rhs)
        for limit in self.program.limits:
            chosen = self._total(self.z[k] for k in limit.switches)
            self.solver.addCons(chosen <= limit.most)

    def _add_switches(self) -> None:
        program, add = self.program, self.solver.addCons
        for j in program.linked_below:
            add(self.y[j] >= float(program.lower[j]) * self.z[program.switch[j]])
        for j in program.linked_above:
            add(self.y[j] <= float(program.upper[j]) * self.z[program.switch[j]])
        switch_off = self._exclude if program.formulation == "sos1" else self._indicate
        self.helpers = [pair for j in program.unlinked for pair in switch_off(j)]

    def _exclude(self, j: int) -> Iterator[tuple[Any, float]]:
        """``y`` or ``1 - z`` is zero; the column of the latter and its start."""
        k = self.program.switch[j]
        off = self.solver.addVar(vtype="B")
        self.solver.addCons(off + self.z[k] == 1)
        self.solver.addConsSOS1([self.y[j], off])
        yield off, 1.0 - self.program.start_switches[k]

    def _indicate(self, j: int) -> Iterator[tuple[Any, float]]:
        """``z = 0`` implies ``y = 0``; the slacks that SCIP adds, and their starts.

        Some releases share one slack among all indicators of a switch.
        """
        program, k = self.program, self.program.switch[j]
        slack = 0.0
        if program.start is not None:
            slack = float(np.abs(program.start[program.switch == k]).max())
        for side in (self.y[j], -self.y[j]):
            row = self.solver.addConsIndicator(side <= 0, self.z[k], activeone=False)
            yield self.solver.getSlackVarIndicator(row), slack

    def _add_squares(self) -> None:
        program, add = self.program, self.solver.addCons
        for j, height in enumerate(self.t):
            add(self.y[j] * self.y[j] <= height * self.z[program.switch[j]])
        parts = zip(program.factor, self.residual, self.loss, strict=True)
        for row, residual, loss in parts:
            add(self._linear(row, self.y) == residual)
            add(residual * residual <= loss)

    def _set_objective(self) -> None:
        program = self.program
        total = self._linear(program.slope, self.y) + self._total(self.loss)
        if program.has_cones:
            total += self._linear(program.weights, self.t)
        if program.price > 0:
            total += program.price * self._total(self.z)
        self.solver.setObjective(total + program.constant)

    def set_start(self) -> None:
        """Hand over the start as a complete solution."""
        program = self.program
        if program.start is None:
            return
        residual = program.factor @ program.start
        parts = (
            (self.y, program.start),
            (self.z, program.start_switches),
            (self.t, program.start[: len(self.t)] ** 2),
            (self.residual, residual),
            (self.loss, residual**2),
        )
        found = self.solver.createSol()
        for columns, values in parts:
            for column, value in zip(columns, values.tolist(), strict=True):
                self.solver.setSolVal(found, column, value)
        for column, value in self.helpers:
            self.solver.setSolVal(found, column, value)
        self.solver.addSol(found)

    def outcome(self) -> Outcome:
        """The status, point and bound that the solver ended with."""
        solver, message = self.solver, str(self.solver.getStatus())
        best = solver.getBestSol() if solver.getNSols() > 0 else None

        def values(columns: list[Any]) -> FloatArray | None:
            if best is None:
                return None
            return np.array([solver.getSolVal(best, column) for column in columns])

        return Outcome(
            _STATUS.get(message, ClaimStatus.UNKNOWN),
            message,
            y=values(self.y),
            z=values(self.z),
            objective=np.inf if best is None else solver.getSolObjVal(best),
            bound=solver.getDualbound(),
            n_nodes=solver.getNTotalNodes(),
            is_interrupted=message == "userinterrupt",
        )
