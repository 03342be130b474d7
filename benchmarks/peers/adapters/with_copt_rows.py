"""COPT on problems with rows and bounds.

Without a licence of one's own, its size is limited, too.  With binary columns, release
8.0.7 takes the factor of a square that is bounded by a product for its own square
(``16 x^2 <= t z`` for ``256 x^2 <= t z``), so the factor is put on the other side.
"""

import branching
import coptpy as cp
import exchange
import numpy as np
from coptpy import COPT
from programs import Program

LICENCE = 4
"""The code of errors about licences, at the start and for a program too large."""


def start() -> cp.Model:
    """An empty model that prints nothing."""
    try:
        model = cp.Envr().createModel()
    except cp.CoptError as error:
        if error.retcode == LICENCE:
            raise branching.NoLicenceError from error
        raise
    model.setParam(COPT.Param.Logging, 0)
    return model


def fill(model: cp.Model, program: Program) -> list[cp.Var]:
    """Write the program to a model; its columns."""
    kinds = np.where(program.is_binary, COPT.BINARY, COPT.CONTINUOUS)
    columns = zip(program.lower, program.upper, kinds, strict=True)
    v = [model.addVar(low, high, vtype=str(kind)) for low, high, kind in columns]
    for row in program.rows:
        terms = zip(row.columns, row.coefficients, strict=True)
        total = cp.LinExpr([(v[j], factor) for j, factor in terms])
        model.addConstr(total == row.rhs if row.is_equality else total <= row.rhs)
    for cone in program.cones:
        product = v[cone.height] * v[cone.switch]
        model.addQConstr(v[cone.base] * v[cone.base] <= (1.0 / cone.weight) * product)
    form = cp.quicksum(factor * v[i] * v[j] for i, j, factor in program.products)
    slope = cp.LinExpr(list(zip(v, program.slope, strict=True)))
    model.setObjective(form + slope + program.constant)
    return v


def solve(program: Program, clock: exchange.Clock) -> branching.Outcome:
    """Solve to the wanted gap."""
    model = start()
    v = fill(model, program)
    model.setParam(COPT.Param.RelGap, program.problem.tolerance)
    model.setParam(COPT.Param.TimeLimit, program.problem.time_limit)
    model.setParam(COPT.Param.Threads, 1)
    try:
        with clock:
            model.solve()
    except cp.CoptError as error:
        if error.retcode == LICENCE:
            raise branching.TooLargeError from error
        raise
    values = [column.x for column in v] if model.hasmipsol else None
    return branching.Outcome(values, model.bestbnd, model.status == COPT.OPTIMAL)


if __name__ == "__main__":
    branching.main(solve)
