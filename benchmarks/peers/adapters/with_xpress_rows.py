"""Xpress on problems with rows and bounds.

The Community licence takes at most 200 rows and columns together where anything is
quadratic.
"""

import warnings

import branching
import exchange
import numpy as np
import xpress as xp
from programs import Program

TOO_LARGE = "?120 "
"""How the complaint about a program too large begins."""


def start() -> xp.problem:
    """An empty model that prints nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the licence is the Community's
        try:
            model = xp.problem()
        except xp.InterfaceError as error:
            raise branching.NoLicenceError from error
    model.controls.outputlog = 0
    return model


def fill(model: xp.problem, program: Program) -> list[xp.var]:
    """Write the program to a model; its columns."""
    kinds = [
        xp.binary if is_binary else xp.continuous for is_binary in program.is_binary
    ]
    columns = zip(program.lower, program.upper, kinds, strict=True)
    v = [
        model.addVariable(lb=low, ub=high, vartype=kind) for low, high, kind in columns
    ]
    for row in program.rows:
        terms = zip(row.coefficients, row.columns, strict=True)
        total = xp.Sum(factor * v[j] for factor, j in terms)
        model.addConstraint(total == row.rhs if row.is_equality else total <= row.rhs)
    for cone in program.cones:
        square = cone.weight * v[cone.base] * v[cone.base]
        model.addConstraint(square <= v[cone.height] * v[cone.switch])
    form = xp.Sum(factor * v[i] * v[j] for i, j, factor in program.products)
    slope = xp.Sum(program.slope[j] * v[j] for j in np.flatnonzero(program.slope))
    model.setObjective(form + slope + program.constant)
    return v


def run(model: xp.problem, clock: exchange.Clock) -> None:
    """Solve, unless the licence forbids it."""
    try:
        with clock:
            model.optimize()
    except xp.SolverError as error:
        if str(error).startswith(TOO_LARGE):
            raise branching.TooLargeError from error
        raise


def solve(program: Program, clock: exchange.Clock) -> branching.Outcome:
    """Solve to the wanted gap."""
    model = start()
    v = fill(model, program)
    model.controls.miprelstop = program.problem.tolerance
    model.controls.timelimit = program.problem.time_limit
    model.controls.threads = 1
    run(model, clock)
    found = model.attributes.solstatus
    has_point = found in (xp.SolStatus.OPTIMAL, xp.SolStatus.FEASIBLE)
    values = model.getSolution(v) if has_point else None
    bound = model.attributes.bestbound
    return branching.Outcome(values, bound, found == xp.SolStatus.OPTIMAL)


if __name__ == "__main__":
    branching.main(solve)
