"""CPLEX on problems with rows and bounds.

The Community Edition takes at most 1000 columns and 1000 rows.  Left to itself, it
may replace cones by planes, which costs most of its bound for factor models; so it is
told to solve quadratic relaxations.  Weights in cones make some of these fail, and are
moved to the costs.
"""

import branching
import cplex
import exchange
from cplex.exceptions import CplexError, error_codes
from programs import Program

QUADRATIC = 1
"""The strategy that solves a quadratically constrained relaxation at each node."""

OPTIMAL = ("MIP_optimal", "optimal_tolerance")
"""Names of the statuses that claim a proof."""


def start() -> cplex.Cplex:
    """An empty model that prints nothing."""
    model = cplex.Cplex()
    model.set_log_stream(None)
    model.set_results_stream(None)
    model.set_warning_stream(None)
    model.set_error_stream(None)
    return model


def fill(model: cplex.Cplex, program: Program) -> None:
    """Write the program to a model."""
    model.variables.add(
        obj=program.slope.tolist(),
        lb=program.lower.tolist(),
        ub=program.upper.tolist(),
        types="".join("B" if is_binary else "C" for is_binary in program.is_binary),
    )
    model.linear_constraints.add(
        lin_expr=[
            cplex.SparsePair(row.columns.tolist(), row.coefficients.tolist())
            for row in program.rows
        ],
        senses="".join("E" if row.is_equality else "L" for row in program.rows),
        rhs=[row.rhs for row in program.rows],
    )
    for cone in program.cones:
        model.quadratic_constraints.add(
            quad_expr=cplex.SparseTriple(
                [cone.base, cone.height], [cone.base, cone.switch], [cone.weight, -1.0]
            ),
            sense="L",
            rhs=0.0,
        )
    # CPLEX halves squares, and adds both x_i x_j and x_j x_i.
    model.objective.set_quadratic_coefficients(
        [(i, j, 2 * factor if i == j else factor) for i, j, factor in program.products]
    )
    model.objective.set_offset(program.constant)


def run(model: cplex.Cplex, clock: exchange.Clock) -> None:
    """Solve, unless the licence forbids it."""
    try:
        with clock:
            model.solve()
    except CplexError as error:
        if error.args[2] == error_codes.CPXERR_RESTRICTED_VERSION:
            raise branching.TooLargeError from error
        raise


def solve(program: Program, clock: exchange.Clock) -> branching.Outcome:
    """Solve to the wanted gap."""
    model = start()
    fill(model, program.with_plain_cones())
    model.parameters.mip.tolerances.mipgap.set(program.problem.tolerance)
    model.parameters.timelimit.set(program.problem.time_limit)
    model.parameters.threads.set(1)
    model.parameters.mip.strategy.miqcpstrat.set(QUADRATIC)
    run(model, clock)
    answer = model.solution
    values = answer.get_values() if answer.is_primal_feasible() else None
    status = answer.status[answer.get_status()]
    bound = answer.MIP.get_best_objective()
    return branching.Outcome(values, bound, status in OPTIMAL)


if __name__ == "__main__":
    branching.main(solve)
