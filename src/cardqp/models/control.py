r"""Few nonzero inputs of a linear system over a horizon.

With the inputs :math:`u_0, \dots, u_{N-1}` stacked into one vector ``U``, the states
are :math:`X = \Phi x_0 + \Gamma U`, and the cost is a quadratic function of ``U`` whose
matrix does not depend on :math:`x_0`: it is formed, checked and split once.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from cardqp._keywords import did_you_mean
from cardqp._typing import ArrayLike, FloatArray
from cardqp.branch_and_bound.precompile import load_kernels, load_tree_kernels
from cardqp.exceptions import Phrase, ProblemError, Setting
from cardqp.models import _system as rule
from cardqp.models.validation import limit
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP
from cardqp.problem import validation as check
from cardqp.solution import Solution, Status
from cardqp.splitting.diagonal import (
    eigenvalue_shift,
    optimal_diagonal_shift,
)

TIME_LIMIT = 1.0
"""Seconds for each step, unless something else is asked for."""

FIRST_SHARE = 0.5
"""Share of the least eigenvalue of ``R`` that is put into the ridge to begin with."""

KEPT_SHARE = 0.999
"""Share of a diagonal that is moved: what is left of ``Q`` is then well inside the
convex ones."""


@dataclass(frozen=True, slots=True, eq=False)
class ControlStep:
    """The inputs for one state, and what is proved about them.

    Attributes
    ----------
    inputs : (horizon, n_inputs) array or None
        The best inputs found; None if none are known that meet the constraints.
    states : (horizon + 1, n_states) array or None
        The states that these inputs lead to, the given one first.
    objective : float
        Their cost over the horizon, with that of the given state.
    lower_bound : float
        No inputs that meet the constraints cost less.
    gap : float
        ``(objective - lower_bound) / |objective|``.
    status : Status
        What is known about the inputs.
    solution : Solution
        The answer in stacked inputs, with its certificate.
    seconds : float
        Time of the whole step.
    """

    inputs: FloatArray | None
    states: FloatArray | None
    objective: float
    lower_bound: float
    gap: float
    status: Status
    solution: Solution
    seconds: float

    @property
    def first(self) -> FloatArray | None:
        """The input to apply now."""
        return None if self.inputs is None else self.inputs[0]


@dataclass(frozen=True, slots=True, eq=False)
class Condensed:
    r"""The cost and the bounds of later states, in stacked inputs.

    The cost of the states after :math:`x_0` and of the inputs is
    ``U' hessian U + x0' slope' U + x0' rest x0``, and the states are within their
    bounds if ``matrix U <= limit - drift x0``.
    """

    hessian: FloatArray
    slope: FloatArray
    rest: FloatArray
    matrix: FloatArray
    drift: FloatArray
    limit: FloatArray

    @classmethod
    def of(
        cls,
        A: FloatArray,
        B: FloatArray,
        weights: Sequence[FloatArray],
        R: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
    ) -> "Condensed":
        """Eliminate the states; there is a weight for each of them."""
        N, (n, m) = len(weights), B.shape
        free, forced = np.empty((N, n, n)), np.zeros((N, n, N, m))
        power, effect = np.eye(n), B
        for t in range(N):
            for stage in range(N - t):
                forced[stage + t, :, stage] = effect
            power, effect = A @ power, A @ effect
            free[t] = power
        Phi, Gamma = free.reshape(N * n, n), forced.reshape(N * n, N * m)
        weighted = np.matmul(weights, Gamma.reshape(N, n, N * m)).reshape(N * n, N * m)
        hessian = Gamma.T @ weighted + np.kron(np.eye(N), R)
        low, high = np.tile(lower, N), np.tile(upper, N)
        below, above = np.isfinite(low), np.isfinite(high)
        return cls(
            hessian=0.5 * (hessian + hessian.T),
            slope=2.0 * weighted.T @ Phi,
            rest=Phi.T @ np.matmul(weights, free).reshape(N * n, n),
            matrix=np.vstack([Gamma[above], -Gamma[below]]),
            drift=np.vstack([Phi[above], -Phi[below]]),
            limit=np.concatenate([high[above], -low[below]]),
        )

    def problem(self, ridge: float, **settings: Any) -> SparseQP:
        """The problem at the state zero, with so much of the cost in the ridge."""
        size = len(self.hessian)
        return SparseQP(
            self.hessian - ridge * np.eye(size),
            np.zeros(size),
            eta=1.0 / ridge,
            A=self.matrix,
            b=self.limit,
            **settings,
        )


@did_you_mean
class SparseControl:
    r"""Steer a linear system with few nonzero inputs.

    .. math::
        \min_u\; \sum_{t=0}^{N-1} x_t^\top Q x_t + u_t^\top R u_t + x_N^\top P x_N
        \quad\text{s.t.}\quad x_{t+1} = A x_t + B u_t,\;
        |u|_0 \le s,\; |u_t|_0 \le k,\; \text{bounds} .

    Objective and bound are those of this cost.  The steps of a loop share one matrix,
    which is checked and split once; each starts from the inputs of the one before,
    shifted by one stage.  A step fails only in time: its inputs are then the best
    found, and its bound says how good they are.

    Parameters
    ----------
    A : (n, n) array
        How the state goes on by itself.
    B : (n, m) array
        What the inputs add.
    Q : (n, n) array
        Weight of the states, positive semidefinite.
    R : (m, m) array
        Weight of the inputs, positive definite.
    horizon : int
        How many inputs are planned ahead, ``N``.
    max_actuations : int, optional
        The largest number of nonzero inputs over the horizon, ``s``.
    max_actuations_per_stage : int, optional
        The largest number of nonzero inputs in each stage, ``k``.  Give one limit or
        both.
    terminal : (n, n) array, optional
        Weight of the last state, ``P``, positive semidefinite.  By default the solution
        of the discrete Riccati equation, the cost of going on for ever without limits;
        if it has none, ``Q``.
    input_lower, input_upper : float or (m,) arrays, optional
        Bounds of the nonzero inputs.  Where 0 is not between them, an input is zero or
        at least as large as that.
    state_lower, state_upper : float or (n,) arrays, optional
        Bounds of the states after the given one.
    names : sequence of str, optional
        Names of the ``m`` inputs; ``valve`` is called ``valve[3]`` at stage 3.

    Raises
    ------
    ProblemError
        When the data break a rule.  That no inputs meet the constraints is a status.

    Notes
    -----
    A part of the quadratic cost goes into the ridge, for that makes bounds tight: the
    mean of the best diagonals for each state alone.  The constructor computes it, and
    compiles what a step needs or loads it from disk, so that the first step takes no
    longer than others.

    Steps are deterministic as long as they end before the time limit.  A controller
    holds the last inputs and nothing that grows; it belongs to one thread.

    Examples
    --------
    >>> control = SparseControl([[1.0]], [[1.0]], [[1.0]], [[0.1]], 3, max_actuations=1)
    >>> step = control.step([2.0])
    >>> step.status.name, step.first.round(2).tolist(), step.states.shape
    ('OPTIMAL', [-1.94], (4, 1))
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        Q: ArrayLike,
        R: ArrayLike,
        horizon: int,
        *,
        max_actuations: int | None = None,
        max_actuations_per_stage: int | None = None,
        terminal: ArrayLike | None = None,
        input_lower: ArrayLike | None = None,
        input_upper: ArrayLike | None = None,
        state_lower: ArrayLike | None = None,
        state_upper: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.A, self.B = rule.linear_system(A, B)
        self.n_states, self.n_inputs = self.B.shape
        check.count("horizon", horizon)
        self.horizon = int(horizon)
        self.Q = rule.state_weight("Q", Q, self.n_states)
        self.R = rule.input_weight(R, self.n_inputs)
        if terminal is None:
            self.terminal = _riccati(self.A, self.B, self.Q, self.R)
        else:
            self.terminal = rule.state_weight("terminal", terminal, self.n_states)
        low, high = check.bounds(input_lower, input_upper, self.n_inputs, "input_")
        staged = _staged(check.names(names, self.n_inputs, "input"), self.horizon)
        limits = _limits(
            max_actuations, max_actuations_per_stage, self.horizon, self.n_inputs
        )
        self._condensed = Condensed.of(
            self.A,
            self.B,
            [self.Q] * (self.horizon - 1) + [self.terminal],
            self.R,
            *check.bounds(state_lower, state_upper, self.n_states, "state_"),
        )
        problem = self._condensed.problem(
            FIRST_SHARE * float(scipy.linalg.eigvalsh(self.R)[0]),
            lower=np.tile(low, self.horizon),
            upper=np.tile(high, self.horizon),
            names=staged,
            **limits,
        )
        moved = _diagonal(problem, self._condensed.slope)
        self._problem = problem.move_to_ridge(moved)
        self._last: FloatArray | None = None
        has_rows, has_groups = len(problem.rows) > 0, problem.groups is not None
        load_kernels(has_rows=has_rows, has_groups=has_groups)
        load_tree_kernels(
            has_rows=has_rows,
            has_groups=has_groups,
            is_unconstrained=problem.is_unconstrained,
        )

    def problem(self, x0: ArrayLike) -> SparseQP:
        """The problem in stacked inputs for a state; only vectors are computed.

        Parameters
        ----------
        x0 : (n,) array
            The state.
        """
        x0 = check.vector("x0", x0, self.n_states, "state")
        condensed = self._condensed
        return self._problem.with_linear(
            c=condensed.slope @ x0,
            b=condensed.limit - condensed.drift @ x0,
            constant=float(x0 @ condensed.rest @ x0 + x0 @ self.Q @ x0),
        )

    def step(
        self, x0: ArrayLike, *, time_limit: float | None = TIME_LIMIT, **settings: Any
    ) -> ControlStep:
        """The inputs for a state, from those of the last step as a first guess.

        Parameters
        ----------
        x0 : (n,) array
            The state.
        time_limit : float or None
            Seconds, 1 by default; after that the best inputs so far are returned with
            their bound, as soon as the branch at hand is done.
        **settings
            As for :func:`cardqp.solve`.
        """
        began = time.perf_counter()
        problem = self.problem(x0)
        settings = {"start": self._last, "optimise_split": False} | settings
        solution = solve(problem, time_limit=time_limit, **settings)
        inputs = states = self._last = None
        if solution.x is not None:
            inputs = solution.x.reshape(self.horizon, self.n_inputs)
            states = self.simulate(x0, inputs)
            self._last = np.append(solution.x[self.n_inputs :], np.zeros(self.n_inputs))
        return ControlStep(
            inputs=inputs,
            states=states,
            objective=solution.objective,
            lower_bound=solution.lower_bound,
            gap=solution.gap,
            status=solution.status,
            solution=solution,
            seconds=time.perf_counter() - began,
        )

    def simulate(self, x0: ArrayLike, inputs: ArrayLike) -> FloatArray:
        """The states that inputs lead to, the given one first.

        Parameters
        ----------
        x0 : (n,) array
            The state.
        inputs : (N, m) array
            The inputs, one row for each stage.
        """
        states = [check.vector("x0", x0, self.n_states, "state")]
        for given in check.real_array("inputs", inputs, 2):
            states.append(self.A @ states[-1] + self.B @ given)
        return np.array(states)

    def reset(self) -> None:
        """Forget the last inputs: the next state has nothing to do with them."""
        self._last = None

    def __repr__(self) -> str:
        return (
            f"SparseControl(n_states={self.n_states}, n_inputs={self.n_inputs}, "
            f"horizon={self.horizon}, max_actuations={self._problem.sparsity})"
        )


def _riccati(A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray) -> FloatArray:
    """The cost to go without limits, or ``Q`` where it is not finite."""
    try:
        P = scipy.linalg.solve_discrete_are(A, B, Q, R)
        return rule.state_weight("terminal", 0.5 * (P + P.T), len(A))
    except ValueError:  # what SciPy raises, and what the check does
        return Q


def _limits(
    total: int | None, per_stage: int | None, horizon: int, n_inputs: int
) -> dict[str, Any]:
    """Limits on the number of nonzero inputs, as keyword arguments of a problem."""
    if total is None and per_stage is None:
        raise ProblemError(
            None,
            Phrase(
                "{} or {} is missing",
                Setting("max_actuations"),
                Setting("max_actuations_per_stage"),
            ),
            remedy=(
                "give the largest number of nonzero inputs in all, in each stage, or "
                "both"
            ),
        )
    meaning = "the number of inputs there are"
    if total is not None:
        limit("max_actuations", total, 0, horizon * n_inputs, meaning)
    if per_stage is None:
        return {"sparsity": total}
    limit("max_actuations_per_stage", per_stage, 0, n_inputs, meaning)
    return {
        "sparsity": horizon * per_stage if total is None else total,
        "groups": np.repeat(np.arange(horizon), n_inputs),
        "group_sparsity": per_stage,
    }


def _staged(names: tuple[str, ...] | None, horizon: int) -> list[str] | None:
    """One name for each input at each stage."""
    if names is None:
        return None
    return [f"{name}[{stage}]" for stage in range(horizon) for name in names]


def _diagonal(problem: SparseQP, slope: FloatArray) -> FloatArray:
    """A diagonal that makes bounds tight for most states.

    The best one depends on the state.  A mean of diagonals that leave ``Q`` convex
    leaves it convex.
    """
    free = SparseQP(
        problem.quadratic, problem.c, eta=problem.eta, sparsity=problem.sparsity
    )
    found = []
    for column in slope.T:
        near = free.with_linear(c=column)
        size = near.single_gain
        if size > 0:
            found.append(optimal_diagonal_shift(near, near.root, size))
    best = [diagonal for diagonal in found if diagonal is not None]
    if best:
        return np.asarray(KEPT_SHARE * np.mean(best, axis=0))
    spare = eigenvalue_shift(problem, np.arange(problem.n))
    return np.zeros(problem.n) if spare is None else KEPT_SHARE * spare
