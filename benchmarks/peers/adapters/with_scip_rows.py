"""SCIP on problems with rows and bounds, as a separable program with plain cones."""

import branching
import exchange
import numpy as np
from programs import Program, separable
from pyscipopt import Model, quicksum


def build(program: Program) -> tuple[Model, list]:
    """The model and its columns; SCIP has no quadratic objectives."""
    model = Model()
    model.hideOutput()
    kinds = np.where(program.is_binary, "B", "C")
    columns = zip(program.lower, program.upper, kinds, strict=True)
    v = [model.addVar(lb=low, ub=high, vtype=str(kind)) for low, high, kind in columns]
    for row in program.rows:
        terms = zip(row.coefficients, row.columns, strict=True)
        total = quicksum(factor * v[j] for factor, j in terms)
        model.addCons(total == row.rhs if row.is_equality else total <= row.rhs)
    for cone in program.cones:
        switch = 1.0 if cone.switch is None else v[cone.switch]
        model.addCons(v[cone.base] * v[cone.base] <= v[cone.height] * switch)
    total = quicksum(program.slope[j] * v[j] for j in np.flatnonzero(program.slope))
    model.setObjective(total + program.constant)
    return model, v


def solve(program: Program, clock: exchange.Clock) -> branching.Outcome:
    """Solve to the wanted gap."""
    model, v = build(program.with_plain_cones())
    model.setParam("limits/gap", program.problem.tolerance)
    model.setParam("limits/time", program.problem.time_limit)
    with clock:
        model.optimize()
    values = [model.getVal(column) for column in v] if model.getNSols() else None
    claims_optimal = model.getStatus() in ("optimal", "gaplimit")
    return branching.Outcome(values, model.getDualbound(), claims_optimal)


if __name__ == "__main__":
    branching.main(solve, forms=(separable,))
