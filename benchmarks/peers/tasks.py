"""What a peer is given: the problem as rows of data, and hints in its favour."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.linalg

import cardqp
from cardqp import SparseQP

NOISE = 1e-14
"""Eigenvalues below this share of the largest are rounding errors of zero."""

NEIGHBOUR_LIMIT = 10.0
"""Seconds for each of the two solves that bracket the price of a nonzero."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Our answer, by which peers are judged."""

    objective: float
    lower_bound: float
    largest: float = math.nan
    """The largest entry of our point, in absolute value, for peers that need one."""


@dataclass(frozen=True, slots=True)
class Task:
    """A problem in the form that adapters read; see ``adapters/exchange.py``."""

    problem: SparseQP
    X: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, problem: SparseQP) -> "Task":
        """Rows ``X, y`` whose mean squared error is ``constant + c'x + x'Qx``.

        These are the original data up to an orthogonal change of rows, which no
        least-squares solver minds, with at most ``n + 1`` rows however many samples
        there were: a service to solvers that work on rows.  The last row is the part
        of ``y`` that no ``x`` can explain.
        """
        factor, target = _rows(problem)
        rest = np.sqrt(max(problem.constant - float(target @ target), 0.0))
        X = np.vstack([factor, np.zeros(problem.n)])
        y = np.append(target, rest)
        scale = np.sqrt(len(y))
        return cls(problem, scale * X, scale * y)

    @property
    def units(self) -> float:
        """Adapters minimise the sum of squares, which is this multiple of the mean."""
        return float(len(self.y))

    def save(
        self,
        path: Path,
        reference: Reference,
        penalty: float | None,
        tolerance: float,
        time_limit: float,
    ) -> None:
        """Write the task for an adapter."""
        np.savez(
            path,
            X=self.X,
            y=self.y,
            ridge=self.units * self.problem.ridge[0],
            sparsity=self.problem.rule.limit,
            tolerance=tolerance,
            time_limit=time_limit,
            objective=self.units * reference.objective,
            largest=reference.largest,
            penalty=np.nan if penalty is None else self.units * penalty,
        )


def _rows(problem: SparseQP) -> tuple[np.ndarray, np.ndarray]:
    """``F, t`` with ``F'F = Q`` and ``-2 F't = c``."""
    stored = problem.quadratic.array
    if stored.shape[0] < problem.n:
        return stored, -0.5 * scipy.linalg.lstsq(stored.T, problem.c)[0]
    eigenvalues, vectors = scipy.linalg.eigh(problem.Q)
    kept = eigenvalues > NOISE * eigenvalues[-1]
    roots, axes = np.sqrt(eigenvalues[kept]), vectors[:, kept].T
    return roots[:, None] * axes, -0.5 * (axes @ problem.c) / roots


def price_of_a_nonzero(problem: SparseQP, objective: float) -> float | None:
    """A price at which the penalised problem has our optimum, or None."""

    def neighbour(sparsity: int) -> float:
        near = problem.with_limits(sparsity=sparsity)
        return cardqp.solve(near, time_limit=NEIGHBOUR_LIMIT).objective

    s = problem.rule.limit
    return price_between(neighbour(s - 1), objective, neighbour(s + 1))


def price_between(fewer: float, objective: float, more: float) -> float | None:
    """The price of a nonzero from optima with ``s - 1``, ``s`` and ``s + 1`` of them.

    With ``J_k`` the optimum with ``k`` nonzeros, any price between
    ``J_s - J_{s+1}`` and ``J_{s-1} - J_s`` makes ``s`` nonzeros better than one more or
    one less; where the first exceeds the second, no price does.  The geometric mean is
    chosen: solvers are slow near either end.
    """
    least, most = objective - more, fewer - objective
    return float(np.sqrt(least * most)) if 0 < least < most else None
