"""SCIP on problems with rows and bounds, in the perspective formulation.

Reads a problem as :meth:`cardqp.SparseQP.save` writes it.  The form is written as a sum
of squares, ``loss_i >= (F x)_i^2``, after its least eigenvalue has joined the ridge;
``x_j^2 <= t_j z_j`` carries the ridge, and bounds become ``l_j z_j <= x_j <= u_j z_j``.
Objectives are scaled to be about ``UNIT``.  Building the model is not timed.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import exchange
import numpy as np
from pyscipopt import Model, quicksum

UNIT = 1000.0
"""The best known objective in SCIP's units."""


@dataclass(frozen=True)
class Problem:
    """What the file holds, and how far to solve it."""

    Q: np.ndarray
    c: np.ndarray
    ridge: np.ndarray
    sparsity: int
    A: np.ndarray
    b: np.ndarray
    A_eq: np.ndarray
    b_eq: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    constant: float
    objective: float
    tolerance: float
    time_limit: float

    @classmethod
    def load(cls, path: str) -> "Problem":
        """Read a problem and move its least eigenvalue to the ridge."""
        with np.load(path) as file:
            data = dict(file)
        Q = data["F"].T @ data["F"] if "F" in data else data["Q"]
        spare = max(0.999 * float(np.linalg.eigvalsh(Q)[0]), 0.0)
        numbers = ("constant", "objective", "tolerance", "time_limit")
        arrays = ("c", "A", "b", "A_eq", "b_eq", "lower", "upper")
        return cls(
            Q=Q - spare * np.eye(len(Q)),
            ridge=1.0 / data["eta"] + spare,
            sparsity=int(data["sparsity"]),
            **{name: data[name] for name in arrays},
            **{name: float(data[name]) for name in numbers},
        )


def factor(Q: np.ndarray) -> np.ndarray:
    """``F`` with ``F'F = Q``, without the rows that vanish."""
    values, vectors = np.linalg.eigh(Q)
    kept = values > 1e-12 * values[-1]
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T


def solve(problem: Problem, clock: exchange.Clock) -> exchange.Answer:
    """Solve to the wanted gap."""
    model, n, unit = Model(), len(problem.c), UNIT / abs(problem.objective)
    model.hideOutput()
    x = [model.addVar(lb=None) for _ in range(n)]
    z = [model.addVar(vtype="B") for _ in range(n)]
    squares = [model.addVar() for _ in range(n)]
    for j in range(n):
        model.addCons(x[j] * x[j] <= squares[j] * z[j])
        if np.isfinite(problem.lower[j]):
            model.addCons(x[j] >= problem.lower[j] * z[j])
        if np.isfinite(problem.upper[j]):
            model.addCons(x[j] <= problem.upper[j] * z[j])
    losses = []
    for row in np.sqrt(unit) * factor(problem.Q):
        part, loss = model.addVar(lb=None), model.addVar()
        model.addCons(quicksum(row[j] * x[j] for j in range(n)) == part)
        model.addCons(part * part <= loss)
        losses.append(loss)
    for row, rhs in zip(problem.A, problem.b, strict=True):
        model.addCons(quicksum(row[j] * x[j] for j in np.flatnonzero(row)) <= rhs)
    for row, rhs in zip(problem.A_eq, problem.b_eq, strict=True):
        model.addCons(quicksum(row[j] * x[j] for j in np.flatnonzero(row)) == rhs)
    model.addCons(quicksum(z) <= problem.sparsity)
    linear = quicksum(unit * problem.c[j] * x[j] for j in range(n))
    ridge = quicksum(unit * problem.ridge[j] * squares[j] for j in range(n))
    model.setObjective(linear + ridge + quicksum(losses) + unit * problem.constant)
    model.setParam("limits/gap", problem.tolerance)
    model.setParam("limits/time", problem.time_limit)
    with clock:
        model.optimize()
    point = np.zeros(n)
    if model.getNSols() > 0:
        chosen = np.array([model.getVal(switch) for switch in z]) > 0.5
        point[chosen] = np.array([model.getVal(v) for v in x])[chosen]
    bound = model.getDualbound() / unit
    claims_optimal = model.getStatus() in ("optimal", "gaplimit")
    return exchange.Answer(
        point, bound if np.isfinite(bound) else np.nan, claims_optimal
    )


if __name__ == "__main__":
    clock = exchange.Clock(Path(sys.argv[3]))
    answer = solve(Problem.load(sys.argv[1]), clock)
    exchange.write(sys.argv[2], answer, clock)
