"""Gurobi on problems with rows and bounds.

Without a licence of one's own, at most 200 columns where anything is quadratic.
"""

import branching
import exchange
import gurobipy as gp
import numpy as np
from gurobipy import GRB
from programs import Program


def start() -> gp.Model:
    """An empty model."""
    try:
        return gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    except gp.GurobiError as error:
        if error.errno == GRB.Error.NO_LICENSE:
            raise branching.NoLicenceError from error
        raise


def fill(model: gp.Model, program: Program) -> list[gp.Var]:
    """Write the program to a model; its columns."""
    kinds = np.where(program.is_binary, GRB.BINARY, GRB.CONTINUOUS)
    columns = zip(program.lower, program.upper, kinds, strict=True)
    v = [model.addVar(low, high, vtype=str(kind)) for low, high, kind in columns]
    for row in program.rows:
        total = gp.LinExpr(row.coefficients, [v[j] for j in row.columns])
        model.addConstr(total == row.rhs if row.is_equality else total <= row.rhs)
    for cone in program.cones:
        square = cone.weight * v[cone.base] * v[cone.base]
        model.addConstr(square <= v[cone.height] * v[cone.switch])
    form = gp.quicksum(factor * v[i] * v[j] for i, j, factor in program.products)
    model.setObjective(form + gp.LinExpr(program.slope, v) + program.constant)
    return v


def solve(program: Program, clock: exchange.Clock) -> branching.Outcome:
    """Solve to the wanted gap."""
    model = start()
    v = fill(model, program)
    model.Params.MIPGap = program.problem.tolerance
    model.Params.TimeLimit = program.problem.time_limit
    model.Params.Threads = 1
    try:
        with clock:
            model.optimize()
    except gp.GurobiError as error:
        if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
            raise branching.TooLargeError from error
        raise
    values = [column.X for column in v] if model.SolCount else None
    return branching.Outcome(values, model.ObjBound, model.Status == GRB.OPTIMAL)


if __name__ == "__main__":
    branching.main(solve)
