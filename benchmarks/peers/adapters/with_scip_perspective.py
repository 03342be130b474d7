"""SCIP on the perspective formulation: ``x_j^2 <= t_j z_j``, ridge times ``sum t``."""

import exchange
import scip


def solve(task: exchange.Task, clock: exchange.Clock) -> exchange.Answer:
    """Solve to the wanted gap."""
    parts = scip.base(task)
    squares = [parts.model.addVar() for _ in parts.x]
    for x, z, square in zip(parts.x, parts.z, squares, strict=True):
        parts.model.addCons(x * x <= square * z)
    return scip.optimise(task, clock, parts, squares)


if __name__ == "__main__":
    exchange.main(solve)
