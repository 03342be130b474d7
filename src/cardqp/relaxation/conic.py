"""The perspective relaxation of a node as a second-order cone program.

``x^2 <= t z`` is a rotated second-order cone (Günlük & Linderoth 2010).  An
interior-point method is slower than the first-order one of the search, and safe where
that fails: rows with coefficients far apart, variables with next to no curvature.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cardqp._typing import BoolArray, FloatArray, IntArray
from cardqp.problem import SparseQP
from cardqp.problem.rows import Rows, power_of_two
from cardqp.problem.sparsity import Subproblem
from cardqp.subproblems.interior_point import minimise


@dataclass(frozen=True, slots=True)
class RelaxedPoint:
    """The minimiser of a relaxation: point, switches, and multipliers of the rows."""

    x: FloatArray
    switches: FloatArray
    beta: FloatArray


def relax_by_cones(
    problem: SparseQP, subproblem: Subproblem, seconds: float | None = None
) -> RelaxedPoint | None:
    """Solve the relaxation of a node; None if it is empty.

    Raises ``BackendError`` if the solver gives up, as it does after ``seconds``.
    """
    return ConeProgram.of(problem, subproblem).solve(seconds)


@dataclass(frozen=True, slots=True, eq=False)
class ConeProgram:
    """The relaxation of a node as a program in ``(x, z, t)``.

    ``x`` are the variables that are not switched off, scaled to unit curvature and unit
    size; each free one has a square ``t`` and a switch ``z``, which it may share, with
    ``x^2 <= t z``.

    Attributes
    ----------
    problem, subproblem
        The problem on the variables that are left, and the node.
    live : int array
        Which these are.
    n_all : int
        How many there were.
    unit : array
        Units of the variables, without their size.
    size : float
        Their size.
    rows, row_scale
        The rows in these units, without the size, and how they were scaled.
    owners : int array
        The number of the switch of each free variable.
    """

    problem: SparseQP
    subproblem: Subproblem
    live: IntArray
    n_all: int
    unit: FloatArray
    size: float
    rows: Rows
    row_scale: FloatArray
    owners: IntArray

    @classmethod
    def of(cls, problem: SparseQP, subproblem: Subproblem) -> "ConeProgram":
        """Build the program of a node."""
        live = np.flatnonzero(~subproblem.fixed_out)
        part = problem.restrict(live)
        unit = 1.0 / power_of_two(np.sqrt(part.quadratic.diagonal + part.ridge))
        rows, row_scale = Rows(
            part.rows.matrix * unit, part.rows.rhs, part.rows.is_equality
        ).scaled()
        # The interior-point method works best where solutions are about 1 in size: as
        # large as right-hand sides, linear cost and the price of a switch suggest.
        wanted = np.abs(np.concatenate([rows.rhs, part.c * unit])).max(initial=0.0)
        size = max(float(wanted), np.sqrt(part.rule.penalty)) or 1.0
        branch = subproblem.restrict(live)
        owners = branch.switches_of(branch.undecided)
        return cls(part, branch, live, problem.n, unit, size, rows, row_scale, owners)

    @property
    def has_switch(self) -> BoolArray:
        """Which variables have a switch."""
        return self.subproblem.undecided

    def solve(self, seconds: float | None = None) -> RelaxedPoint | None:
        """Solve the program and read the answer in the problem's units."""
        problem, free, n = self.problem, self.has_switch, self.problem.n
        rows, row_scale = self.rows, self.row_scale
        # The solver wants equations first, then inequalities, then cones.
        equal_first = np.argsort(~rows.is_equality, kind="stable")
        limits, limit_rhs = self._limits()
        n_free, n_equal = int(free.sum()), int(rows.is_equality.sum())
        own = self._switches()
        matrix = [self._wide(rows.matrix[equal_first]), limits, self._cones()]
        rhs = [rows.rhs[equal_first] / self.size, limit_rhs, np.zeros(3 * n_free)]
        answer = minimise(
            self._hessian(),
            self._slope(),
            scipy.sparse.vstack(matrix),
            np.concatenate(rhs),
            n_equal=n_equal,
            n_below=len(rows) - n_equal + len(limit_rhs),
            n_cones=n_free,
            seconds=seconds,
        )
        if answer is None:
            return None
        point, multipliers = answer
        x, switches, beta = np.zeros(self.n_all), np.zeros(self.n_all), row_scale.copy()
        x[self.live] = point[:n] * self.unit * self.size
        switches[self.live[self.subproblem.fixed_in]] = 1.0
        # Interior points meet bounds up to a tolerance only.
        z = np.clip(point[n : n + own.shape[1]], 0.0, 1.0)
        switches[self.live[free]] = (own @ z)[free]
        beta[equal_first] = multipliers[: len(rows)]
        return RelaxedPoint(
            x, switches, problem.rows.project(beta * self.size / row_scale)
        )

    def _hessian(self) -> Any:
        """Twice the form, and the ridge of variables that are switched on."""
        problem, n_others = self.problem, self._n_switches + len(self.owners)
        # The ridge of a variable with a switch is linear, in t.
        ridge = np.where(self.has_switch, 0.0, problem.ridge)
        form = problem.quadratic.dense() + np.diag(ridge)
        nothing = scipy.sparse.csr_matrix((n_others, n_others))
        scaled = 2.0 * self.unit[:, None] * form * self.unit
        return scipy.sparse.block_diag([scaled, nothing])

    def _slope(self) -> FloatArray:
        problem, free = self.problem, self.has_switch
        price = np.full(self._n_switches, problem.rule.penalty / self.size / self.size)
        ridge = (problem.ridge * self.unit**2)[free]
        return np.concatenate([problem.c * self.unit / self.size, price, ridge])

    def _limits(self) -> tuple[Any, FloatArray]:
        """Bounds, which a switch scales, and the limits of switches."""
        unit, free = self.unit * self.size, self.has_switch
        x, z = scipy.sparse.eye(len(unit), format="csr"), self._switches()
        blocks, rhs = [], []
        for sign, bound in ((1.0, self.problem.upper), (-1.0, self.problem.lower)):
            for kind in (free, ~free):
                has = np.isfinite(bound) & kind
                scaled = sign * bound[has] / unit[has]
                own = scipy.sparse.diags(np.where(kind is free, -scaled, 0.0))
                blocks.append(self._wide(sign * x[has], own @ z[has]))
                rhs.append(np.zeros(len(scaled)) if kind is free else scaled)
        counted, counts = self._counted()
        for of_z in (scipy.sparse.eye(self._n_switches), counted):
            nothing = scipy.sparse.csr_matrix((of_z.shape[0], len(unit)))
            blocks.append(self._wide(nothing, of_z))
        rhs += [np.ones(self._n_switches), counts]
        return scipy.sparse.vstack(blocks), np.concatenate(rhs)

    def _counted(self) -> tuple[Any, FloatArray]:
        """Which switches are counted together, and how many may be on."""
        subproblem = self.subproblem
        remaining = np.array([float(self.subproblem.remaining)])
        everything = scipy.sparse.csr_matrix(np.ones((1, self._n_switches)))
        if subproblem.groups is None:
            return everything, remaining
        room = subproblem.groups.room(subproblem.fixed_in)
        members = subproblem.groups.labels == np.arange(len(room))[:, None]
        counted = scipy.sparse.csr_matrix(members.astype(float)) @ self._switches()
        return scipy.sparse.vstack([everything, counted]), np.append(remaining, room)

    @property
    def _n_switches(self) -> int:
        return int(self.owners.max(initial=-1)) + 1

    def _switches(self) -> Any:
        """The matrix that picks the switch of each variable, zero if it has none."""
        free = np.flatnonzero(self.has_switch)
        shape = self.problem.n, self._n_switches
        return scipy.sparse.csr_matrix((np.ones(len(free)), (free, self.owners)), shape)

    def _cones(self) -> Any:
        """``(t + z, t - z, 2 x)`` of each free variable, with the sign of rows."""
        free = np.flatnonzero(self.has_switch)
        top, n_free = 3 * np.arange(len(free)), len(free)
        z = self.problem.n + self.owners
        t = self.problem.n + self._n_switches + np.arange(n_free)
        row = np.concatenate([top, top, top + 1, top + 1, top + 2])
        column = np.concatenate([z, t, z, t, free])
        value = np.repeat([-1.0, -1.0, 1.0, -1.0, -2.0], n_free)
        shape = 3 * n_free, self.problem.n + self._n_switches + n_free
        return scipy.sparse.csr_matrix((value, (row, column)), shape)

    def _wide(self, of_x: Any, of_z: Any = None) -> Any:
        """Rows of the program from what they say of x and z."""
        height, n_free = of_x.shape[0], int(self.has_switch.sum())
        if of_z is None:
            of_z = scipy.sparse.csr_matrix((height, self._n_switches))
        nothing = scipy.sparse.csr_matrix((height, n_free))
        return scipy.sparse.hstack([scipy.sparse.csr_matrix(of_x), of_z, nothing])
