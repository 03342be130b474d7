"""Quadratic programs in 0-1 variables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray, IntArray
from cardqp.arithmetic.rounding import ZERO_ONE_UNIT, eigenvalue_margin, lowered
from cardqp.bounds.gap import relative_gap
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.solution import Solution, Status


@dataclass(frozen=True, slots=True, eq=False)
class BinarySolution:
    """A 0-1 point, and what is proved about it.

    Attributes
    ----------
    x : (n,) int array or None
        The best point found; None if none is known that meets the rows.
    chosen : tuple
        Names of the variables that are 1, or their indices if they have none.
    objective : float
        The objective at ``x``; infinite without a point.
    lower_bound : float
        No 0-1 point that meets the rows has a smaller objective.
    gap : float
        ``(objective - lower_bound) / |objective|``.
    status : Status
        What is known about the point.
    solution : Solution
        The answer to the sparse quadratic program, with its certificate.
    """

    x: IntArray | None
    chosen: tuple[str, ...] | tuple[int, ...]
    objective: float
    lower_bound: float
    gap: float
    status: Status
    solution: Solution


@did_you_mean
class BinaryQP:
    r"""A quadratic program in 0-1 variables.

    .. math::
        \min_x\; c^\top x + x^\top Q x
        \quad\text{s.t.}\quad A x \le b,\; A_{eq} x = b_{eq},\;
        x \in \{0, 1\}^n,\; \textstyle\sum_j x_j \le s .

    It is a :class:`cardqp.SparseQP` whose variables are zero or within the bounds 1 and
    1.  As :math:`x_j^2 = x_j`, any diagonal can be moved between ``Q`` and ``c``: a
    ridge is added and taken off ``c``, and a matrix that is not convex is made so by
    its least eigenvalue.  Objective and bound are those of the program as given.  The
    search fails only in time, and sooner the less convex ``Q`` is.

    Parameters
    ----------
    Q : (n, n) array
        Symmetric, convex or not.
    c : (n,) array
        Linear cost.
    A, b, A_eq, b_eq : arrays, optional
        Linear rows.
    sparsity : int, optional
        The largest number of ones, ``s``; no limit by default.
    names : sequence of str, optional
        Names of the variables.

    Raises
    ------
    ProblemError
        When the data break a rule.  An empty feasible set is a status.

    Examples
    --------
    Two of three things that do not get on with each other:

    >>> Q = [[0.0, 2.0, 1.0], [2.0, 0.0, 4.0], [1.0, 4.0, 0.0]]
    >>> program = BinaryQP(Q, [0, 0, 0], A_eq=[[1, 1, 1]], b_eq=[2], names=list("abc"))
    >>> found = program.solve()
    >>> found.chosen, found.objective, found.status.name
    (('a', 'c'), 2.0, 'OPTIMAL')
    """

    def __init__(
        self,
        Q: ArrayLike,
        c: ArrayLike,
        *,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        A_eq: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
        sparsity: int | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.Q = check.symmetric_matrix("Q", Q)
        n = len(self.Q)
        self.c = check.vector("c", c, n)
        shift = _shift(self.Q)
        ridge = np.full(n, _typical(self.Q, self.c))
        self.problem = SparseQP(
            self.Q + shift * np.eye(n),
            self.c - shift - ridge,
            eta=1.0 / ridge,
            sparsity=n if sparsity is None else sparsity,
            A=A,
            b=b,
            A_eq=A_eq,
            b_eq=b_eq,
            lower=1.0,
            upper=1.0,
            names=names,
        )
        terms = np.abs(self.c) + np.abs(self.Q.diagonal()) + 2.0 * (shift + ridge)
        self._rounding = ZERO_ONE_UNIT * float(terms.sum())

    def objective(self, x: ArrayLike) -> float:
        """The objective at ``x``.

        Parameters
        ----------
        x : (n,) array
            A point.
        """
        x = check.vector("x", x, len(self.c))
        return float(self.c @ x + x @ self.Q @ x)

    def solve(self, **settings: Any) -> BinarySolution:
        """Find a good point and prove how good it is.

        Parameters
        ----------
        **settings
            As for :func:`cardqp.solve`.
        """
        solution = solve(self.problem, **settings)
        x, objective = None, np.inf
        if solution.x is not None:
            x = solution.x.astype(np.int64)
            objective = self.objective(x)
        lower = min(lowered(solution.lower_bound, self._rounding), objective)
        ones, is_named = solution.support, self.problem.names is not None
        return BinarySolution(
            x=x,
            chosen=solution.names if is_named else tuple(int(j) for j in ones),
            objective=objective,
            lower_bound=lower,
            gap=relative_gap(self.problem, solution.x, objective, lower),
            status=solution.status,
            solution=solution,
        )

    def __repr__(self) -> str:
        return f"BinaryQP(n={self.problem.n}, rows={len(self.problem.rows)})"


def _shift(Q: FloatArray) -> float:
    """The diagonal shift that makes a form convex, with a margin for rounding."""
    eigenvalues = scipy.linalg.eigvalsh(Q, check_finite=False)
    margin = eigenvalue_margin(len(Q)) * float(np.abs(eigenvalues).max())
    least = float(eigenvalues[0])
    return margin - least if least < 0 else 0.0


def _typical(Q: FloatArray, c: FloatArray) -> float:
    """A ridge of the size of the data: any would do, but for rounding."""
    return float(np.abs(Q).max() or np.abs(c).max() or 1.0)
