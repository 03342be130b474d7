"""What the two SCIP formulations share: the loss, the cardinality and the solve.

The loss is the sum over rows of ``loss_i >= residual_i^2``, which outer approximations
handle far better than one dense quadratic form.  All numbers are scaled so that the
best known objective is ``UNIT``, to keep SCIP's absolute tolerances harmless.  Building
the model is not timed.
"""

from dataclasses import dataclass

import exchange
import numpy as np
from pyscipopt import Model, quicksum

UNIT = 1000.0
"""The best known objective in SCIP's units."""


@dataclass(frozen=True)
class Base:
    """A model with the loss and the cardinality, and its variables."""

    model: Model
    x: list
    z: list
    loss: list
    scale: float


def base(task: exchange.Task) -> Base:
    """The part of the model that does not depend on the formulation."""
    model = Model()
    model.hideOutput()
    # Scaling y scales x alike, and the objective by the square.
    scale = np.sqrt(UNIT / task.objective)
    n = task.X.shape[1]
    x = [model.addVar(lb=None) for _ in range(n)]
    z = [model.addVar(vtype="B") for _ in range(n)]
    rows = zip(task.X, scale * task.y, strict=True)
    loss = [_row_loss(model, x, row, y) for row, y in rows]
    model.addCons(quicksum(z) <= task.sparsity)
    return Base(model, x, z, loss, scale)


def _row_loss(model: Model, x: list, row: np.ndarray, y: float) -> object:
    residual, loss = model.addVar(lb=None), model.addVar()
    used = np.flatnonzero(row)
    model.addCons(quicksum(row[j] * x[j] for j in used) + residual == y)
    model.addCons(residual * residual <= loss)
    return loss


def optimise(
    task: exchange.Task, clock: exchange.Clock, parts: Base, squares: list
) -> exchange.Answer:
    """Minimise the loss plus the ridge times the squares."""
    model = parts.model
    model.setObjective(quicksum(parts.loss) + task.ridge * quicksum(squares))
    model.setParam("limits/gap", task.tolerance)
    model.setParam("limits/time", task.time_limit)
    with clock:
        model.optimize()
    bound = model.getDualbound() / parts.scale**2
    claims_optimal = model.getStatus() in ("optimal", "gaplimit")
    x = np.zeros(len(parts.x))
    if model.getNSols() > 0:
        values = np.array([model.getVal(variable) for variable in parts.x])
        chosen = np.array([model.getVal(variable) for variable in parts.z]) > 0.5
        x[chosen] = values[chosen] / parts.scale
    return exchange.Answer(x, bound if np.isfinite(bound) else np.nan, claims_optimal)
