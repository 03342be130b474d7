"""SCIP on the big-M formulation: ``|x_j| <= M_j z_j``, ridge times ``sum x_j^2``.

``M_j`` is the largest ``|x_j|`` among all points, sparse or not, whose objective is no
worse than the best one known.  These points form an ellipsoid around the ridge
solution, so ``M_j`` has a closed form, and it is valid.
"""

import exchange
import numpy as np
import scip


def bounds_on_coefficients(task: exchange.Task) -> np.ndarray:
    """The big M of every variable."""
    inverse = np.linalg.inv(task.X.T @ task.X + task.ridge * np.eye(task.X.shape[1]))
    centre = inverse @ (task.X.T @ task.y)
    residual = task.y - task.X @ centre
    least = residual @ residual + task.ridge * (centre @ centre)
    room = max((1 + task.tolerance) * task.objective - least, 0.0)
    return np.abs(centre) + np.sqrt(room * np.diag(inverse))


def solve(task: exchange.Task, clock: exchange.Clock) -> exchange.Answer:
    """Solve to the wanted gap."""
    parts = scip.base(task)
    squares = [parts.model.addVar() for _ in parts.x]
    limits = parts.scale * bounds_on_coefficients(task)
    for x, z, square, limit in zip(parts.x, parts.z, squares, limits, strict=True):
        parts.model.addCons(x <= limit * z)
        parts.model.addCons(x >= -limit * z)
        parts.model.addCons(x * x <= square)
    return scip.optimise(task, clock, parts, squares)


if __name__ == "__main__":
    exchange.main(solve)
